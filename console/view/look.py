"""How the operator wants to see things: time zone, glyph set, motion. Carried by every frame; holds no state of the engine."""

from __future__ import annotations

from dataclasses import dataclass

from console.view.text import BLOCK_LIMIT, CELL_LIMIT, block, literal


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Every non-letter that the console draws. Each is one cell wide in terminals that know it."""

    cursor: str
    arrow: str
    ellipsis: str
    dot: str
    times: str
    ready: str
    cooldown: str
    disabled: str
    blocked: str
    expired: str
    missing: str
    off: str
    fallback: str
    open: str
    committed: str
    full: str
    empty: str
    down: str
    up: str
    alarm: str
    skip: str
    bar: str


UNICODE = Glyphs(
    cursor="▸", arrow="→", ellipsis="…", dot="·", times="×",
    ready="●", cooldown="◔", disabled="✗", blocked="■", expired="◇", missing="?", off="○",
    fallback="◆", open="▷", committed="▶", full="▰", empty="▱", down="▼", up="▲", alarm="▲", skip="–", bar="│",
)  # fmt: skip
ASCII = Glyphs(
    cursor=">", arrow="->", ellipsis="~", dot="-", times="x",
    ready="+", cooldown="*", disabled="x", blocked="#", expired="!", missing="?", off="o",
    fallback="&", open=")", committed=">", full="#", empty="-", down="v", up="^", alarm="!", skip="-", bar="|",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Look:
    """utc: clock times in UTC, else local. reduced_motion: countdowns above a minute move once a minute."""

    utc: bool = False
    ascii_only: bool = False
    reduced_motion: bool = False

    @property
    def glyphs(self) -> Glyphs:
        return ASCII if self.ascii_only else UNICODE

    def safe(self, text: str | None, limit: int = CELL_LIMIT) -> str:
        """Foreign text, harmless and in the glyph set."""
        return literal(text, limit, self.ascii_only) if text else ""

    def block(self, text: str, limit: int = BLOCK_LIMIT) -> tuple[str, ...]:
        return block(text, limit, self.ascii_only)
