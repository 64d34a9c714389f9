"""Whether a session that somebody typed is one that the engine has seen, and what may have been meant. What is done about it is the
command's business: most refuse; a pin, or a prediction, may come before its session."""

from __future__ import annotations

from difflib import get_close_matches

from engine.domain.errors import FailoverError
from engine.domain.ids import SessionKey
from engine.domain.snapshot import Snapshot
from engine.live.records import DERIVED


class NoSuchSession(FailoverError):
    """A command was about a session that nobody has seen; nothing was done."""


def unseen(key: SessionKey, snapshot: Snapshot) -> NoSuchSession | None:
    """What to say of a session that is not there; None when it is, or a record of it for one model."""
    keys = [view.key for view in snapshot.sessions]
    # One derived session of many of its caller has no row: only the engine knows whether it is still there.
    if key in keys or key.startswith(DERIVED) or any(known.startswith(f"{key}#") for known in keys):
        return None
    near = get_close_matches(key, keys, 3, 0.5)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return NoSuchSession("No such session", f"no session {key} has been seen yet", f"{meant}`failover sessions` lists them")
