"""`failover explain SESSION --what-if ...`: the prediction of the running gateway, or of the state itself, as text or JSON. The words are
those of the screen's what-if; nothing is called and nothing changed."""

from __future__ import annotations

import json

from console.cli.options import Target
from console.cli.output import hint, safe, say, say_json
from console.cli.reach import Reached, ask
from console.cli.seen import unseen
from console.view import whatif
from console.view.assumptions import Place, parse
from console.view.frame import Frame
from console.view.lines import plain
from engine.domain.errors import UsageError
from engine.domain.foresight import WhatIf
from engine.domain.ids import SessionKey
from engine.domain.snapshot import Snapshot
from engine.gateway.wire import dump

_CELLS = 100


def foretell(target: Target, session: SessionKey, text: str, as_json: bool) -> None:
    """Prints what the session's next turn would do if that were so. Raises UsageError for words that are not understood."""

    async def question(found: Reached) -> tuple[WhatIf, Snapshot]:
        snapshot = await found.operations.snapshot()
        try:
            assumed = parse(text, Place(session, snapshot.now))
        except ValueError as wrong:
            raise UsageError("That is not understood", str(wrong), "see `failover explain --help` for more") from None
        return await found.operations.what_if(session, assumed), snapshot

    answer, snapshot = ask(target, question)
    doubt = unseen(session, snapshot)
    if doubt is not None:
        hint(safe(f"{doubt.happened}: this is what its first request would do; {doubt.next_step}"))
    if as_json:
        say_json(json.loads(dump(answer)))
        return
    for line in whatif.draw(answer, Frame(snapshot, snapshot.now), _CELLS):
        say(plain(line).rstrip())
