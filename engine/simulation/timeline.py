"""A scenario's result as a readable timeline, plain enough to paste into an incident report. Formats only: all facts come
from the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

_STYLE = {
    "ok": "green",
    "succeeded": "green",
    "failed": "red",
    "skipped": "yellow",
    "partial": "yellow",
    "aborted": "yellow",
    "killed": "red",
}


def print_timeline(result: Mapping[str, Any], console: Console | None = None) -> None:
    """Writes the timeline to the terminal (or `console`): a line a step, under a turn a line a candidate, attempt and notice."""
    console = console or Console(highlight=False, soft_wrap=True)
    for number, step in enumerate(result["steps"], 1):
        for line in _step(number, step):
            console.print(line)
    console.print(Text("final", style="bold"), Text(_time(result["final"]["now"])))
    for line in _final(result["final"]):
        console.print(line)


def _step(number: int, step: Mapping[str, Any]) -> Iterator[Text]:
    kind, value = next(iter(step.items()))
    head = Text(f"{number:>3}  ", style="dim")
    if kind == "turn":
        yield from _turn(head, value)
    elif kind == "parallel":
        yield head + Text(f"{len(value)} turns at the same instant")
        for member in value:
            yield from _turn(Text("     "), member["turn"])
    elif isinstance(value, Mapping) and "ok" in value:
        word = "done" if value["ok"] else "refused"
        yield (
            head
            + Text(f"{kind}: ")
            + Text(str(value.get("outcome") or word), style="green" if value["ok"] else "red")
            + Text(f"  {value.get('message', '')}")
        )
    elif "now" in step:
        yield head + Text(f"{kind} {value}  ->  {_time(step['now'])}")
    else:
        yield head + Text(kind)


def _turn(head: Text, turn: Mapping[str, Any]) -> Iterator[Text]:
    answered = f" by {turn['active']}" if turn["active"] else ""
    key = f" with {turn['profile']}" if turn["profile"] else ""
    style = _STYLE.get(turn["outcome"], "")
    yield (
        head
        + Text(f"turn of {turn['session']}: ")
        + Text(turn["outcome"], style=style)
        + Text(f"{answered}{key}  ({turn['selection']}, {turn['upstream_calls']} calls)")
    )
    attempts = list(turn["attempts"])
    for candidate in turn["candidates"]:
        outcome = candidate["outcome"]
        why = " ".join(str(candidate[name]) for name in ("rule", "reason") if candidate.get(name))
        yield (
            Text("       ")
            + Text(f"{outcome:<12}", style=_STYLE.get(outcome, "dim"))
            + Text(f"{candidate['ref']}  ")
            + Text(why, style="dim")
        )
        for attempt in [a for a in attempts if a["ref"] == candidate["ref"]]:
            attempts.remove(attempt)
            yield Text("         ") + _attempt(attempt)
    for notice in turn["notices"]:
        yield Text("       ") + Text(notice, style="bold")
    if turn["error"]:
        yield Text("       ") + Text(f"{turn['error']['type']}: {turn['error']['message']}", style="red")


def _attempt(attempt: Mapping[str, Any]) -> Text:
    status = f" HTTP {attempt['status']}" if "status" in attempt else ""
    said = f": {attempt['error']}" if "error" in attempt else ""
    reason = f" {attempt['reason']}" if "reason" in attempt else ""
    line = Text(f"+{attempt['at_ms'] / 1000:g} s  {attempt.get('profile', 'no profile')}  ")
    return line + Text(attempt["outcome"], style=_STYLE.get(attempt["outcome"], "")) + Text(f"{reason}{status}{said}")


def _final(final: Mapping[str, Any]) -> Iterator[Text]:
    for profile, usage in final["usageStats"].items():
        windows = [f"{kind} until {_time(usage[f'{kind}Until'])} ({usage.get(f'{kind}Reason')})" for kind in _kinds(usage)]
        windows += [
            f"cooldown of {model} until {_time(scoped['until'])} ({scoped['reason']}, step {scoped['errorCount']})"
            for model, scoped in usage.get("modelCooldowns", {}).items()
        ]
        yield Text(f"       {profile}: ") + Text("; ".join(windows) or "no window", style="yellow" if windows else "green")
    for key, session in final["sessions"].items():
        override = f"{session.get('providerOverride')}/{session.get('modelOverride')}" if session.get("modelOverride") else "no override"
        source = f" ({session['modelOverrideSource']})" if "modelOverrideSource" in session else ""
        pin = f", pinned to {session['authProfileOverride']}" if "authProfileOverride" in session else ""
        yield Text(f"       {key}: {override}{source}{pin}")


def _kinds(usage: Mapping[str, Any]) -> Sequence[str]:
    whole = ["cooldown"] if "cooldownUntil" in usage and "cooldownModel" not in usage else []
    return whole + [kind for kind in ("disabled", "blocked") if f"{kind}Until" in usage]


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"
