"""Themes: which colour a tone has. Hues are those of Okabe and Ito, which people with any colour vision tell apart; state is never
told by colour alone, so a theme can be ugly but not misleading. No rules of layout here: those are in the `.tcss` files."""

from __future__ import annotations

from textual.theme import Theme

from console.view.lines import Tone

DARK = Theme(
    name="failover-dark",
    primary="#56B4E9",
    secondary="#7FA7C9",
    warning="#E69F00",
    error="#FF7A4D",
    success="#3DC79A",
    accent="#56B4E9",
    foreground="#D6DCE4",
    background="#11151B",
    surface="#171C24",
    panel="#1E2530",
    dark=True,
    variables={
        "tone-text": "#D6DCE4",
        "tone-dim": "#8490A0",
        "tone-strong": "#F2F5F9",
        "tone-head": "#8FA3BA",
        "tone-ok": "#3DC79A",
        "tone-warn": "#F0B429",
        "tone-bad": "#FF7A4D",
        "tone-held": "#DE8FC0",
        "tone-info": "#6BBDF0",
        "tone-cursor": "#2B3B52",
        "tone-cursor-away": "#1E2733",
        "pane-border": "#3A4656",
        "pane-border-focus": "#6BBDF0",
        "bar": "#1B222D",
    },
)
LIGHT = Theme(
    name="failover-light",
    primary="#0060A8",
    secondary="#355C7D",
    warning="#8A5A00",
    error="#B03A00",
    success="#00674A",
    accent="#0060A8",
    foreground="#1B2129",
    background="#FBFBF8",
    surface="#F3F3EE",
    panel="#E8E9E4",
    dark=False,
    variables={
        "tone-text": "#1B2129",
        "tone-dim": "#5C6672",
        "tone-strong": "#000000",
        "tone-head": "#41546B",
        "tone-ok": "#00674A",
        "tone-warn": "#855400",
        "tone-bad": "#A83200",
        "tone-held": "#8C2F6B",
        "tone-info": "#00559A",
        "tone-cursor": "#CFE0F2",
        "tone-cursor-away": "#E6EBF0",
        "pane-border": "#B3BAC2",
        "pane-border-focus": "#0060A8",
        "bar": "#E4E8EC",
    },
)
_ANSI_TONES = {
    "tone-text": "ansi_default",
    "tone-dim": "ansi_default",
    "tone-strong": "ansi_default",
    "tone-head": "ansi_default",
    "tone-ok": "ansi_green",
    "tone-warn": "ansi_yellow",
    "tone-bad": "ansi_red",
    "tone-held": "ansi_magenta",
    "tone-info": "ansi_cyan",
    "tone-cursor": "ansi_default",
    "tone-cursor-away": "ansi_default",
    "pane-border": "ansi_default",
    "pane-border-focus": "ansi_cyan",
    "bar": "ansi_default",
}
ANSI = Theme(
    name="failover-ansi",
    ansi=True,
    primary="ansi_blue",
    secondary="ansi_cyan",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    accent="ansi_cyan",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables={
        **_ANSI_TONES,
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "border": "ansi_default",
        "border-blurred": "ansi_default",
        "block-cursor-foreground": "ansi_default",
        "block-cursor-background": "ansi_default",
        "input-cursor-background": "ansi_default",
        "input-cursor-foreground": "ansi_default",
        "input-cursor-text-style": "reverse",
    },
)

THEMES = (DARK, LIGHT, ANSI)
ALIASES = {"dark": DARK.name, "light": LIGHT.name, "ansi": ANSI.name, "default": DARK.name}


def tone_defaults() -> dict[str, str]:
    """Values for themes that are not ours, so that the style sheet always parses."""
    return dict(DARK.variables)


def variable(tone: Tone) -> str:
    return f"tone-{tone.value}"
