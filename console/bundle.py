"""An incident as a folder to hand on: `incident.json` (snapshot, previews, decisions, feed), `timeline.md`, and `screen.svg` if a
screen made it. Everything is masked, files are for their owner only. `BundleOperations` shows one, read-only. Nothing here draws."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from console.view.text import literal
from engine.domain.acts import Act, ActResult
from engine.domain.decisions import EVERY, Matching
from engine.domain.errors import FailoverError, UsageError
from engine.domain.foresight import Assumption, Moves, SessionDetail, Taken, WhatIf
from engine.domain.ids import SessionKey
from engine.domain.operations import Event, Operations
from engine.domain.redaction import SINK
from engine.domain.snapshot import Preview, Snapshot
from engine.gateway.wire import dump, load

FORMAT = 1
MAX_PREVIEWS = 200
MAX_DECISIONS = 1_000
MAX_BYTES = 256 * 1024 * 1024
JSON_NAME, TIMELINE_NAME, PICTURE_NAME = "incident.json", "timeline.md", "screen.svg"
MODE = "BUNDLE"


@dataclass(frozen=True, slots=True)
class Bundle:
    """What is in `incident.json`. at: when it was made, epoch ms of the engine's clock; by: who made it."""

    snapshot: Snapshot
    previews: Mapping[str, Preview] = field(default_factory=dict)
    details: Mapping[str, SessionDetail] = field(default_factory=dict)
    decisions: Sequence[Mapping[str, object]] = ()
    by: str = ""


async def gather(operations: Operations, by: str) -> Bundle:
    """Everything worth keeping of what the engine shows now; previews and details of the sessions in trouble first."""
    snapshot = await operations.snapshot()
    ranked = sorted(snapshot.sessions, key=lambda s: (not s.on_fallback, s.last_outcome != "failed", -(s.last_activity or 0)))
    previews: dict[str, Preview] = {}
    details: dict[str, SessionDetail] = {}
    for session in ranked[:MAX_PREVIEWS]:
        previews[session.key] = await operations.preview(session.key)
        details[session.key] = await operations.detail(session.key)
    return Bundle(snapshot, previews, details, await operations.decisions(limit=MAX_DECISIONS), by)


def write(bundle: Bundle, folder: Path, picture: str | None = None) -> Path:
    """A new folder under `folder` (0700, files 0600), named by the instant. Raises OSError."""
    stamp = datetime.fromtimestamp(bundle.snapshot.now / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in range(100):
        place = folder / (f"incident-{stamp}" + (f"-{number}" if number else ""))
        try:
            place.mkdir(mode=0o700)
        except FileExistsError:
            continue
        break
    else:
        raise FileExistsError(f"{folder} has too many bundles of {stamp}")
    _put(place / JSON_NAME, json.dumps(_as_json(bundle), ensure_ascii=False, indent=1))
    _put(place / TIMELINE_NAME, timeline(bundle))
    if picture is not None:
        _put(place / PICTURE_NAME, SINK.mask(picture))
    return place


def _put(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)


def _as_json(bundle: Bundle) -> object:
    return SINK.mask_json(
        {
            "format": FORMAT,
            "by": bundle.by,
            "snapshot": json.loads(dump(bundle.snapshot)),
            "previews": {key: json.loads(dump(one)) for key, one in bundle.previews.items()},
            "details": {key: json.loads(dump(one)) for key, one in bundle.details.items()},
            "decisions": [dict(record) for record in bundle.decisions],
        }
    )


def timeline(bundle: Bundle) -> str:
    """For people: what stands now, and what happened, oldest first, in Markdown. Foreign text cannot become markup."""
    snapshot = bundle.snapshot
    lines = [
        f"# Incident, {_time(snapshot.now)}",
        "",
        f"Gateway {_code(snapshot.address)}, version {_code(snapshot.version)}, configuration generation {snapshot.config_generation}."
        f" Exported by {_code(bundle.by)}. Times are UTC.",
        "",
        "## Sessions that are not on their model, or failed",
        "",
    ]
    rows = [s for s in snapshot.sessions if s.on_fallback or s.last_outcome == "failed"]
    if rows:
        lines += ["| session | selected | active | reason | since | last |", "|---|---|---|---|---|---|"]
        lines += [_row(s.key, s.selected, s.active, s.reason, _time(s.since) if s.since else None, s.last_outcome) for s in rows]
    else:
        lines.append("None.")
    lines += ["", "## Profiles that are out", ""]
    out = [p for p in snapshot.profiles if p.state.value != "ready"]
    if out:
        lines += ["| profile | state | reason | model | until |", "|---|---|---|---|---|"]
        for profile in out:
            windows = profile.windows or ((profile.window,) if profile.window else ())
            lines += [_row(profile.profile, w.state.value, w.reason, w.model or "all", _time(w.until)) for w in windows] or [
                _row(profile.profile, profile.state.value, profile.detail, None, None)
            ]
    else:
        lines.append("None.")
    lines += ["", "## Timeline", ""]
    lines += [
        f"- {_time(entry.at)} **{_plain(entry.severity)}** {_code(entry.session) + ': ' if entry.session else ''}{_code(entry.text)}"
        for entry in snapshot.feed
    ]
    return SINK.mask("\n".join(lines) + "\n")


def _row(*cells: str | None) -> str:
    return "| " + " | ".join(_code(cell).replace("|", "\\|") if cell else "-" for cell in cells) + " |"


def _plain(text: str) -> str:
    return "".join(char for char in literal(text, 40) if char.isalnum() or char in "_- ")


def _code(text: str | None) -> str:
    return "`" + literal(text or "", 2_000).replace("`", "'") + "`"


def _time(at: int | None) -> str:
    if at is None:
        return "-"
    try:
        return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return "?"


def read(path: Path) -> Bundle:
    """A bundle's folder, or its `incident.json`. Raises UsageError."""
    place = path / JSON_NAME if path.is_dir() else path
    try:
        if place.stat().st_size > MAX_BYTES:
            raise UsageError("That is no incident bundle", f"{place} is larger than any bundle")
        found = json.loads(place.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise UsageError("That bundle is of another version", f"{place}: format {found['format']!r}", f"this version reads {FORMAT}")
        return Bundle(
            load(Snapshot, json.dumps(found["snapshot"]).encode()),
            {str(key): load(Preview, json.dumps(one).encode()) for key, one in found["previews"].items()},
            {str(key): load(SessionDetail, json.dumps(one).encode()) for key, one in found["details"].items()},
            [record for record in found["decisions"] if isinstance(record, dict)],
            str(found["by"]),
        )
    except OSError as error:
        raise UsageError("The bundle cannot be read", f"{place}: {error.strerror}", "give the folder that the export named") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError("That is no incident bundle", f"{place} does not hold one", "give the folder that the export named") from None


class BundleOperations:
    """`Operations` on a bundle: what it holds, and nothing happens any more. Every act is refused; what-if needs an engine."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        # speed 0: the clock of an incident stands still.
        self._snapshot = replace(bundle.snapshot, mode=MODE, read_only=True, speed=0.0, undo=None, draining=False)

    async def snapshot(self) -> Snapshot:
        return self._snapshot

    async def events(self, after: int | None = None) -> AsyncGenerator[Event]:
        await asyncio.Event().wait()
        yield Event(0, {})

    async def preview(self, session: SessionKey) -> Preview:
        found = self._bundle.previews.get(session)
        if found is None:
            raise FailoverError("The bundle has no preview of this session", f"it has those of {len(self._bundle.previews)} sessions")
        return found

    async def what_if(self, session: SessionKey, assumptions: Sequence[Assumption]) -> WhatIf:
        raise FailoverError("A bundle cannot be asked what if", "there is no engine behind it", "ask the gateway itself")

    async def moves(self, assumptions: Sequence[Assumption]) -> Moves:
        return Moves((Taken("there is no engine behind a bundle", held=False),), 0, 0, 0, 0, ())

    async def detail(self, session: SessionKey) -> SessionDetail:
        return self._bundle.details.get(session, SessionDetail(session))

    async def act(self, act: Act, by: str) -> ActResult:
        return ActResult(False, "this is a bundle: nothing in it can be changed")

    async def decisions(
        self, *, session: SessionKey | None = None, turn: str | None = None, limit: int = 100, matching: Matching = EVERY
    ) -> Sequence[Mapping[str, object]]:
        found = [
            record
            for record in self._bundle.decisions
            if session in (None, record.get("session")) and turn in (None, record.get("turn")) and matching.admits(record)
        ]
        return found[:limit]
