"""Reading refs and aliases: every model that the file names goes through here once, at load, and is a (provider, model) pair after.

An alias matches whole and exactly and beats a ref that is spelled the same. Whether a provider exists is not asked here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine.config.problems import Loc, Problem, did_you_mean, quoted
from engine.config.schema import ModelEntry, ModelObject
from engine.domain.ids import ModelRef, parse_ref
from engine.domain.settings import ModelPolicy


class Refs:
    """Refs read so far with the place of each, the aliases, and what was wrong."""

    def __init__(self, allow_list: Mapping[str, ModelEntry], problems: list[Problem]) -> None:
        self.aliases: dict[str, ModelRef] = {}
        self.allowed: list[ModelRef] = []
        self.seen: list[tuple[Loc, ModelRef]] = []
        self._bare: list[tuple[Loc, str]] = []
        self._problems = problems
        for text, entry in allow_list.items():
            self._allow(text, entry)

    def _allow(self, text: str, entry: ModelEntry) -> None:
        loc: Loc = ("agents", "defaults", "models", text)
        ref = parse_ref(text)
        if ref is None:
            self._bare.append((loc, text))
            return
        self.seen.append((loc, ref))
        if ref not in self.allowed:
            self.allowed.append(ref)
        if entry.alias is None:
            return
        taken = self.aliases.setdefault(entry.alias, ref)
        if taken != ref:
            self._problems.append(Problem((*loc, "alias"), f"alias {quoted(entry.alias)} is already that of {taken}"))

    def read(self, text: str, loc: Loc) -> ModelRef | None:
        """The pair that `text` names. None if it names none; that is then a problem at `loc`."""
        ref = self.aliases.get(text) or parse_ref(text)
        if ref is None:
            self._bare.append((loc, text))
        else:
            self.seen.append((loc, ref))
        return ref

    def policy(self, choice: str | ModelObject | None, loc: Loc) -> ModelPolicy | None:
        """A model in either form of writing. Absent fallbacks stay absent, an empty list stays empty."""
        if choice is None:
            return None
        if isinstance(choice, str):
            return ModelPolicy(self.read(choice, loc))
        primary = self.read(choice.primary, (*loc, "primary")) if choice.primary is not None else None
        if choice.fallbacks is None:
            return ModelPolicy(primary)
        read = (self.read(text, (*loc, "fallbacks", place)) for place, text in enumerate(choice.fallbacks))
        return ModelPolicy(primary, tuple(ref for ref in read if ref))

    def report_bare(self, served: Iterable[ModelRef]) -> None:
        """To be called when all is read: a suggestion may come from any place of the file. served: what providers list."""
        known = [*(ref for _, ref in self.seen), *served]
        self._problems += [Problem(loc, f"{quoted(text)} has no provider{self._suggestion(text, known)}") for loc, text in self._bare]

    def _suggestion(self, text: str, known: Iterable[ModelRef]) -> str:
        same_model = [ref for ref in known if ref.model == text]
        if same_model:
            return f"; did you mean `{same_model[0]}`?"
        return did_you_mean(text, self.aliases) or "; write it as `provider/model`"
