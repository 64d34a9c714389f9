"""The nouns, frozen, and the protocols between rooms. Imports nothing of this project outside `engine.domain`."""
