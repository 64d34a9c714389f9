"""From an HTTP request to a `TurnRequest`: the model, the session and the `x-failover-*` headers put together. Pure; whether the model
can answer is the walk's business."""

from __future__ import annotations

import math
from collections.abc import Mapping

from engine.domain.exchange import ANSWER, COUNT_TOKENS
from engine.domain.ids import MAIN_AGENT, AgentId, ModelRef, TurnId
from engine.domain.turns import RunKind, TurnRequest
from engine.gateway.dialects.dialect import Dialect
from engine.gateway.model_names import OWN_SELECTION, Meaning, ModelNames
from engine.gateway.reply import Refused
from engine.gateway.session_key import Conversation
from engine.providers.conversion.expressible import why_inexpressible

MAX_NAME = 300
MAX_FALLBACKS = 50


def turn_request(
    turn: TurnId,
    headers: Mapping[str, str],
    body: Mapping[str, object],
    dialect: Dialect,
    names: ModelNames,
    conversation: Conversation,
    task: str = ANSWER,
) -> TurnRequest:
    """task: of the payload. Raises Refused 400 for a header that cannot be understood, 404 for a model that is not configured."""
    meaning = _meaning(body.get("model"), dialect, names)
    kind = _kind(headers)
    ref = meaning.ref
    fallbacks = _fallbacks(headers, names)
    by_turn = kind is not RunKind.CHAT
    if fallbacks is None and ref is not None and not by_turn and names.settings.gateway.requested == "strict":
        fallbacks = ()
    named = ref if not by_turn else None
    counting = task == COUNT_TOKENS
    return TurnRequest(
        turn=turn,
        session=conversation.of_model(named),
        kind=kind,
        agent=meaning.agent or _agent(headers, names),
        image=names.settings.image_model is not None and not counting and dialect.shows_images(body),
        side_effect_only=_side_effects_only(headers),
        budget_ms=_budget_ms(headers),
        requested=named,
        cron_model=ref if by_turn else None,
        fallbacks=fallbacks,
        per_run=counting,
        silent=counting,
        inexpressible=_inexpressible(body, dialect, names, task, [r for r in (ref, *(fallbacks or ())) if r is not None]),
    )


def what_cannot_be_said(body: Mapping[str, object], dialect: Dialect, names: ModelNames, task: str) -> str:
    """Why candidates of other dialects were left out, for the caller."""
    reasons = (why_inexpressible(dialect.api, body, api, task) for api in sorted(names.apis_beside(dialect.api)))
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason is not None))


def _inexpressible(
    body: Mapping[str, object], dialect: Dialect, names: ModelNames, task: str, named: list[ModelRef]
) -> frozenset[ModelRef]:
    """The models, configured or named by the request, in whose dialect it cannot be expressed."""
    own = dialect.api
    apis = names.apis_beside(own) | {api for ref in named if (api := names.api_of(ref)) is not None and api != own}
    unable = {api for api in apis if why_inexpressible(own, body, api, task) is not None}
    found: frozenset[ModelRef] = frozenset()
    for api in unable:
        found |= names.of_api(api)
    return found.union(ref for ref in named if names.api_of(ref) in unable) if unable else found


def is_name(text: str) -> bool:
    """Could be a model's: short, and nothing that a header or a log would choke on."""
    return len(text) <= MAX_NAME and text.isprintable()


def unknown_model(name: str, names: ModelNames) -> Refused:
    there = ", ".join(listed for listed, _ in names.listed())
    if len(there) > 2000:
        there = there[:2000] + "..."
    text = f"The model {name[:100]!r} is not configured. There are: {there}. Ask for one of them, or add a name under gateway.models."
    return Refused(404, "model_not_found", text)


def _meaning(name: object, dialect: Dialect, names: ModelNames) -> Meaning:
    if name is not None and not isinstance(name, str):
        raise Refused(400, "invalid_request", "`model` must be a string. Send a model's name, or `auto`.")
    if name is not None and not is_name(name):
        raise Refused(400, "invalid_request", f"`model` must be at most {MAX_NAME} printable characters.")
    meaning = names.meaning(name, dialect.api)
    if meaning is not None:
        return meaning
    if names.settings.gateway.unknown_model == "auto":
        return OWN_SELECTION
    raise unknown_model(name or "", names)


def _kind(headers: Mapping[str, str]) -> RunKind:
    value = headers.get("x-failover-kind")
    if value is None:
        return RunKind.CHAT
    try:
        return RunKind(value.strip().lower())
    except ValueError:
        raise Refused(400, "invalid_header", "x-failover-kind must be chat, heartbeat or cron.") from None


def _agent(headers: Mapping[str, str], names: ModelNames) -> AgentId | None:
    value = headers.get("x-failover-agent", "").strip()
    if not value:
        return None
    agent = AgentId(value)
    if agent not in names.settings.agents and agent != MAIN_AGENT:
        there = ", ".join(names.settings.agents) or "none"
        raise Refused(400, "unknown_agent", f"x-failover-agent names no configured agent. There are: {there}.")
    return agent


def _fallbacks(headers: Mapping[str, str], names: ModelNames) -> tuple[ModelRef, ...] | None:
    """None: not given. Empty: strict."""
    value = headers.get("x-failover-fallbacks")
    if value is None:
        return None
    given = [part.strip() for part in value.split(",") if part.strip()]
    refs = [names.ref_of(part) for part in given]
    wrong = [part for part, ref in zip(given, refs, strict=True) if ref is None or not part.isprintable()]
    if wrong or len(given) > MAX_FALLBACKS:
        rule = f"a comma-separated list of at most {MAX_FALLBACKS} provider/model (or empty, for no fallback)"
        found = f"; wrong: {', '.join(wrong)[:200]}" if wrong else ""
        raise Refused(400, "invalid_header", f"x-failover-fallbacks must be {rule}{found}.")
    return tuple(ref for ref in refs if ref is not None)


def _budget_ms(headers: Mapping[str, str]) -> int | None:
    value = headers.get("x-failover-timeout")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < 10_000_000:
        raise Refused(400, "invalid_header", "x-failover-timeout must be a number of seconds above 0.")
    return max(1, round(seconds * 1000))


def _side_effects_only(headers: Mapping[str, str]) -> bool:
    value = headers.get("x-failover-side-effects")
    if value is None:
        return False
    if value.strip().lower() != "only":
        raise Refused(400, "invalid_header", "x-failover-side-effects must be `only`, or left out.")
    return True
