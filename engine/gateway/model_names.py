"""Which model a request means (spec/gateway.md): the names of one configuration, looked up. Pure. What a turn does with the model is
`engine.policy.selection`'s business."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from engine.domain.ids import AgentId, ModelRef, parse_ref
from engine.domain.settings import ModelPolicy, Settings

AUTO = frozenset({"", "auto", "default"})
AGENT = "agent/"
REMEMBERED = 1024
"""Names whose meaning is kept: applications ask for the same few."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """Neither: the session's own selection."""

    ref: ModelRef | None = None
    agent: AgentId | None = None


OWN_SELECTION = Meaning()


class ModelNames:
    """Of one generation of settings. refs: every configured model, the default chain first."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.chain = tuple(dict.fromkeys(_of_policy(settings.model)))
        self.refs = tuple(dict.fromkeys([*self.chain, *_configured(settings)]))
        self._known = frozenset(self.refs)
        self._by_model: dict[str, ModelRef] = {}
        for ref in self.refs:
            self._by_model.setdefault(ref.model, ref)
        self._by_api: dict[str, frozenset[ModelRef]] = {}
        self._apis = frozenset(found for ref in self.refs if (found := self.api_of(ref)) is not None)
        self._meant: dict[tuple[str, str], Meaning] = {}

    def meaning(self, name: str | None, api: str) -> Meaning | None:
        """None: no such model. api: the caller's dialect."""
        if name is None or name in AUTO:
            return OWN_SELECTION
        meant = self._meant.get((name, api))
        if meant is None:
            meant = self._look_up(name, api)
            if meant is not None and len(self._meant) < REMEMBERED:
                self._meant[name, api] = meant
        return meant

    def _look_up(self, name: str, api: str) -> Meaning | None:
        target = self.settings.gateway.models.get(name)
        if target is not None:
            return self._target(target)
        if name.startswith(AGENT):
            agent = AgentId(name.removeprefix(AGENT))
            return Meaning(agent=agent) if agent in self.settings.agents else None
        ref = self.settings.aliases.get(name) or self._ref(name) or self._by_model.get(name) or self._bare(name, api)
        return Meaning(ref=ref) if ref is not None else None

    def ref_of(self, name: str) -> ModelRef | None:
        """A ref or an alias as a list of fallbacks may hold it: explicit ones are never filtered."""
        return self.settings.aliases.get(name) or parse_ref(name)

    def listed(self) -> Iterator[tuple[str, str]]:
        """(id, owner) of what can be asked for."""
        yield "auto", "failover"
        yield from ((f"{AGENT}{agent}", "failover") for agent in self.settings.agents)
        yield from ((name, "failover") for name in self.settings.gateway.models if name not in AUTO)
        yield from ((str(ref), ref.provider) for ref in self.refs)

    def apis_beside(self, api: str) -> frozenset[str]:
        """The other APIs that configured models are spoken to by."""
        return self._apis - {api}

    def of_api(self, api: str) -> frozenset[ModelRef]:
        """The configured models whose provider speaks it."""
        found = self._by_api.get(api)
        if found is None:
            found = self._by_api[api] = frozenset(ref for ref in self.refs if self.api_of(ref) == api)
        return found

    def api_of(self, ref: ModelRef) -> str | None:
        """None for an unknown provider: that has a reason of its own."""
        provider = self.settings.providers.get(ref.provider)
        return provider.api if provider is not None else None

    def _target(self, target: str) -> Meaning | None:
        if target in AUTO:
            return OWN_SELECTION
        if target.startswith(AGENT):
            return Meaning(agent=AgentId(target.removeprefix(AGENT)))
        ref = self.ref_of(target)
        return Meaning(ref=ref) if ref is not None else None

    def _ref(self, name: str) -> ModelRef | None:
        ref = parse_ref(name)
        if ref is None:
            return None
        return ref if ref in self._known or self._takes_any(ref.provider) else None

    def _bare(self, name: str, api: str) -> ModelRef | None:
        if "/" in name and parse_ref(name) is not None:
            return None  # a ref of a provider that is not there
        providers = (ref.provider for ref in self.chain)
        provider = next((p for p in providers if self._takes_any(p) and self.settings.providers[p].api == api), None)
        return ModelRef(provider, name) if provider is not None else None

    def _takes_any(self, provider: str) -> bool:
        """While nothing is on the allow-list, a provider that lists no models may have any."""
        found = self.settings.providers.get(provider)
        return found is not None and not found.models and not self.settings.models


def _configured(settings: Settings) -> Iterator[ModelRef]:
    for agent in settings.agents.values():
        yield from _of_policy(agent.model)
    if settings.heartbeat_model is not None:
        yield settings.heartbeat_model
    yield from settings.models
    yield from settings.aliases.values()
    for provider in settings.providers.values():
        yield from (ModelRef(provider.id, model) for model in provider.models)
    yield from _of_policy(settings.image_model)


def _of_policy(policy: ModelPolicy | None) -> Iterable[ModelRef]:
    if policy is None:
        return ()
    return (*((policy.primary,) if policy.primary is not None else ()), *(policy.fallbacks or ()))
