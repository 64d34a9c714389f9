"""One event as one line of words, for `watch --plain`: for screen readers, logs and pipes. Pure; names and shapes are those of
spec/scenarios.md ("Events"), and an event that is not known here is still told."""

from __future__ import annotations

from collections.abc import Mapping

from console.view.text import literal
from console.view.times import clock

_TOLD = ("event", "at", "session", "caller", "turn", "provider", "model", "profile")
_LONG = 300


def event_line(data: Mapping[str, object]) -> str:
    """`14:02:31 support-bot attempt_finished acme/big acme:k1: failed, rate_limit, HTTP 429, 812 ms`."""
    at = data.get("at")
    head = [clock(at if isinstance(at, int) else None), _text(data.get("caller") or data.get("session")), _text(data.get("event"))]
    provider, model = data.get("provider"), data.get("model")
    head.append(f"{_text(provider)}/{_text(model)}" if provider and model else _text(provider))
    head.append(_text(data.get("profile")))
    rest = _what(data)
    return " ".join(part for part in head if part) + (f": {rest}" if rest else "")


def _what(data: Mapping[str, object]) -> str:
    match data.get("event"):
        case "attempt_finished":
            return _join(
                data.get("outcome"), data.get("reason"), _numbered("HTTP {}", data.get("status")), _numbered("{} ms", data.get("ms"))
            )
        case "turn_finished":
            return _turn(data)
        case "notice" | "alarm" | "alarm_cleared":
            return _text(data.get("text") or data.get("message"))
        case "operator_act":
            return _join(data.get("act"), _numbered("by {}", data.get("by")), data.get("message"))
        case "window_opened" | "window_closed":
            until = data.get("until")
            ends = f"until {clock(until)}" if isinstance(until, int) else None
            return _join(data.get("state") or data.get("kind"), data.get("reason"), _numbered("step {}", data.get("step")), ends)
        case _:
            return ", ".join(f"{_text(name)} {_text(value)}" for name, value in data.items() if name not in _TOLD and _plain(value))


def _turn(data: Mapping[str, object]) -> str:
    """A turn's result, which may stand under `result` or flat."""
    inner = data.get("result")
    result = inner if isinstance(inner, Mapping) else data
    selected, active = result.get("selected"), result.get("active")
    served = _numbered("served by {}", active) if active and active != selected else None
    error = result.get("error")
    said = error.get("text") or error.get("message") if isinstance(error, Mapping) else None
    return _join(result.get("outcome"), served, said)


def _numbered(form: str, value: object) -> str | None:
    return None if value is None else form.format(_text(value))


def _join(*parts: object) -> str:
    return ", ".join(_text(part) for part in parts if part is not None and part != "")


def _plain(value: object) -> bool:
    return value is not None and not isinstance(value, Mapping | list | tuple)


def _text(value: object) -> str:
    return "" if value is None else literal(str(value), _LONG)
