"""Screens: the live one, and what opens over it (dialogs, pickers, texts). They turn keys into requests to the app."""
