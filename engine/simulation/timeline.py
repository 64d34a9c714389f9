"""A scenario's result as a readable timeline, plain enough to paste into an incident report: each line says when, what, with which
profile and by which rule. Formats only: all facts come from the result, whose texts must have been made harmless for a terminal."""

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
_MARGIN = " " * 6


def print_timeline(result: Mapping[str, Any], console: Console | None = None) -> None:
    """Writes the timeline to the terminal (or `console`): a line a step, under a turn a line an attempt, skip and notice. Times are UTC;
    a date stands where it changes."""
    console = console or Console(highlight=False, soft_wrap=True)
    for line in timeline(result):
        console.print(line)


def timeline(result: Mapping[str, Any]) -> Iterator[Text]:
    """The lines, styled; their plain text alone says everything."""
    date = ""
    for number, step in enumerate(result["steps"], 1):
        kind, value = next(iter(step.items()))
        for at, line in _step(kind, value, step):
            if at is not None and (day := _time(at)[:10]) != date:
                date = day
                yield Text(f"{date} (UTC)", style="bold")
            # What belongs to a step stands under it.
            yield line if line.plain.startswith(_MARGIN) else Text(f"{number:>3}  ", style="dim") + line
    yield Text("at the end, ", style="bold") + Text(_time(result["final"]["now"]), style="bold")
    yield from _final(result["final"])


def _step(kind: str, value: Any, step: Mapping[str, Any]) -> Iterator[tuple[int | None, Text]]:
    """(when it began, if it is a new entry; a line)"""
    if kind == "turn":
        yield from _turn(value)
    elif kind == "parallel":
        yield None, Text(f"{len(value)} turns at the same instant:")
        for member in value:
            yield from _turn(member["turn"])
    elif isinstance(value, Mapping) and "ok" in value:
        word = str(value.get("outcome") or ("done" if value["ok"] else "refused"))
        yield None, Text(f"{kind}: ") + Text(word, style="green" if value["ok"] else "red") + Text(f"  {value.get('message', '')}")
    elif kind == "advance_s":
        yield step["now"], Text(f"{_clock(step['now'])}  {_span(round(value * 1000))} later")
    elif "now" in step:
        yield step["now"], Text(f"{_clock(step['now'])}  {kind} {value}")
    else:
        yield None, Text(kind)


def _turn(turn: Mapping[str, Any]) -> Iterator[tuple[int | None, Text]]:
    began = turn["at"]
    answered = f" by {turn['active']}" if turn["active"] else ""
    instead = f" instead of {turn['selected']}" if turn["active"] and turn["active"] != turn["selected"] else ""
    calls = "1 call" if turn["upstream_calls"] == 1 else f"{turn['upstream_calls']} calls"
    yield (
        began,
        Text(f"{_clock(began)}  turn of {turn['session']}: ")
        + Text(turn["outcome"], style=_STYLE.get(turn["outcome"], ""))
        + Text(f"{answered}{instead}  ({turn['selection']}, {calls})"),
    )
    records = turn.get("decisions", ())
    attempts = list(turn["attempts"])
    width = max((len(candidate["ref"]) for candidate in turn["candidates"]), default=0)
    not_reached: list[str] = []
    for candidate in turn["candidates"]:
        ref, outcome = candidate["ref"], candidate["outcome"]
        mine = [record for record in records if f"{record.get('candidateProvider')}/{record.get('candidateModel')}" == ref]
        tried = [attempt for attempt in attempts if attempt["ref"] == ref]
        rule = f"  [{candidate['rule']}]" if candidate.get("rule") else ""
        for attempt in tried:
            yield None, _line(began + attempt["at_ms"], ref, width, attempt["outcome"], _attempt(attempt), rule)
            rule = ""
        if outcome == "not_reached":
            not_reached.append(ref)
        elif not tried:
            until = next((record["until"] for record in mine if "until" in record), None)
            why = str(candidate.get("reason") or "") + (f" until {_clock(until)}" if until is not None else "")
            yield None, _line(None, ref, width, outcome, why, rule)
        for detail in dict.fromkeys(record["detail"] for record in mine if record.get("detail")):
            yield None, _line(None, ref, width, "", detail, "")
    if not_reached:
        yield None, Text(f"{_MARGIN}not reached: {', '.join(not_reached)}", style="dim")
    for notice in turn["notices"]:
        yield None, Text(_MARGIN) + Text(f"told: {notice}", style="bold")
    if turn["error"]:
        error = turn["error"]
        again = f"; free again at {_clock(error['soonestCooldownExpiry'])}" if error.get("soonestCooldownExpiry") else ""
        yield None, Text(_MARGIN) + Text(f"{error['type']}, {error['reason']}{again}", style="red")
        yield None, Text(f"{_MARGIN}{error['text']}")


def _line(at: int | None, ref: str, width: int, outcome: str, said: str, rule: str) -> Text:
    when = _clock(at) if at is not None else " " * 12
    word = Text(f"{outcome:<10}", style=_STYLE.get(outcome, ""))
    return Text(f"{_MARGIN}{when}  {ref:<{width}}  ") + word + Text(said) + Text(rule, style="dim")


def _attempt(attempt: Mapping[str, Any]) -> str:
    status = f", HTTP {attempt['status']}" if "status" in attempt else ""
    reason = f": {attempt['reason']}{status}" if "reason" in attempt else ""
    said = f', "{attempt["error"]}"' if "error" in attempt else ""
    return f"{attempt.get('profile') or 'no profile'}{reason}{said}"


def _final(final: Mapping[str, Any]) -> Iterator[Text]:
    for profile, usage in final["usageStats"].items():
        windows = [f"{kind} until {_time(usage[f'{kind}Until'])} ({usage.get(f'{kind}Reason')})" for kind in _kinds(usage)]
        windows += [
            f"cooldown of {model} until {_time(scoped['until'])} ({scoped['reason']}, step {scoped['errorCount']})"
            for model, scoped in usage.get("modelCooldowns", {}).items()
        ]
        yield Text(f"{_MARGIN}{profile}: ") + Text("; ".join(windows) or "free", style="yellow" if windows else "green")
    for key, session in final["sessions"].items():
        override = f"{session.get('providerOverride')}/{session.get('modelOverride')}" if session.get("modelOverride") else "its own model"
        source = f" ({session['modelOverrideSource']})" if "modelOverrideSource" in session else ""
        pinned, source_of_pin = session.get("authProfileOverride"), session.get("authProfileOverrideSource", "user")
        pin = f", {source_of_pin} pin {pinned}" if pinned else ""
        told = session.get("fallbackNoticeReason")
        why = f", since {_time(session['fallbackNoticeSince'])} because of {told}" if told and "fallbackNoticeSince" in session else ""
        yield Text(f"{_MARGIN}{key}: on {override}{source}{why}{pin}")


def _kinds(usage: Mapping[str, Any]) -> Sequence[str]:
    whole = ["cooldown"] if "cooldownUntil" in usage and "cooldownModel" not in usage else []
    return whole + [kind for kind in ("disabled", "blocked") if f"{kind}Until" in usage]


def _span(ms: int) -> str:
    """`90 s`, `5 min`, `2 h 30 min`: exact, whatever it is."""
    if ms % 1000 or ms < 120_000:
        return f"{ms / 1000:g} s"
    minutes, seconds = divmod(ms // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    return " ".join(f"{n} {unit}" for n, unit in ((hours, "h"), (minutes, "min"), (seconds, "s")) if n)


def _clock(ms: int) -> str:
    return _time(ms)[11:-1] or _time(ms)


def _time(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z"
    except (ValueError, OverflowError):
        return f"{ms} ms"  # beyond the calendar
