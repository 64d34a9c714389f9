"""One real, small call that an operator forces (`override.forced-probe`, clear-and-verify): it goes through the same upstream as
traffic, past windows and throttles. What its outcome means for sessions and windows is decided by the rules and `engine.live.operate`."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from engine.domain.exchange import AttemptFailed, Payload
from engine.domain.ids import AgentId, ModelRef, ProfileId
from engine.domain.reasons import FailoverReason
from engine.domain.settings import ProviderSettings, Settings
from engine.live.effects import NO_SESSION, apply_effect
from engine.live.parts import Parts
from engine.policy.commands import StampUsed
from engine.policy.failures import judge
from engine.policy.oauth import must_refresh, still_valid

log = logging.getLogger("failover.live")

LIMIT_MS = 60_000
MAX_TOKENS = 256
"""Small, but not so small that a model which thinks first has nothing left to say: an answer without content is a failed probe."""

OK = "ok"
UPSTREAM_FAILED = "upstream_failed"
NOT_PROBEABLE = "not_probeable"
INTERNAL_ERROR = "internal_error"


@dataclass(frozen=True, slots=True)
class ProbeOutcome:
    """outcome: `ok`, `upstream_failed`, `not_probeable` or `internal_error`; detail: what was said, for a person."""

    outcome: str
    detail: str = ""
    reason: str | None = None


async def force_probe(parts: Parts, settings: Settings, agent: AgentId, ref: ModelRef, profile: ProfileId | None) -> ProbeOutcome:
    """Stamps `lastUsed`, calls once, changes nothing else. `ok` is what counts as a success of a turn, too: usable content."""
    try:
        return await _probe(parts, settings, agent, ref, profile)
    except Exception as error:
        log.exception("internal error in a forced probe of %s", ref)
        return ProbeOutcome(INTERNAL_ERROR, f"internal error: {type(error).__name__}")


async def _probe(parts: Parts, settings: Settings, agent: AgentId, ref: ModelRef, profile: ProfileId | None) -> ProbeOutcome:
    provider = settings.providers.get(ref.provider)
    if provider is None:
        return ProbeOutcome(NOT_PROBEABLE, f"{ref.provider} is not configured")
    secret: str | None = None
    if profile is not None:
        memory = parts.memory
        owner = memory.owner(agent, profile)
        if must_refresh(memory.agents[owner].credentials.get(profile), parts.wall()):
            failed = await parts.tokens.refresh(agent, profile, settings)
            if failed is not None and not still_valid(memory.agents[owner].credentials.get(profile), parts.wall()):
                return ProbeOutcome(UPSTREAM_FAILED, f"the login could not be refreshed: {failed.message or failed.status}")
        credential = memory.agents[owner].credentials.get(profile)
        if credential is None:
            return ProbeOutcome(NOT_PROBEABLE, f"{profile} is gone")
        found = await parts.secrets.of(credential)
        if found.secret is None:
            return ProbeOutcome(NOT_PROBEABLE, f"the secret of {profile} cannot be resolved: {found.reason}")
        secret = found.secret
        parts.writer.put(apply_effect(parts, StampUsed(profile), NO_SESSION, agent))
    got = await parts.upstream.attempt(
        provider, ref, secret, probe_payload(provider, ref), limit_ms=LIMIT_MS, retry_max_wait_ms=settings.retry_max_wait_ms
    )
    if isinstance(got, AttemptFailed):
        judged = judge(got.failure, ref, profile, "override.forced-probe")
        entry = judged.entry
        said = entry.error or (f"HTTP {entry.status}" if entry.status is not None else entry.reason)
        return ProbeOutcome(UPSTREAM_FAILED, f"{entry.reason}: {said}", entry.reason)
    await got.aclose()
    if got.empty:
        return ProbeOutcome(UPSTREAM_FAILED, str(FailoverReason.EMPTY_RESPONSE), str(FailoverReason.EMPTY_RESPONSE))
    return ProbeOutcome(OK)


def probe_payload(provider: ProviderSettings, ref: ModelRef) -> Payload:
    """The smallest request of the provider's own dialect, so that nothing is converted."""
    body: Mapping[str, object]
    said = [{"role": "user", "content": "ping"}]
    match provider.api:
        case "openai-responses":
            body = {"model": ref.model, "input": "ping", "max_output_tokens": MAX_TOKENS}
        case "anthropic-messages":
            body = {"model": ref.model, "messages": said, "max_tokens": MAX_TOKENS}
        case "google-generative-ai":
            contents = [{"role": "user", "parts": [{"text": "ping"}]}]
            body = {"contents": contents, "generationConfig": {"maxOutputTokens": MAX_TOKENS}}
        case _:
            # OpenAI's newer models refuse `max_tokens`; the servers that imitate it know nothing else.
            limit = "max_completion_tokens" if provider.id in ("openai", "azure-openai") else "max_tokens"
            body = {"model": ref.model, "messages": said, limit: MAX_TOKENS}
    return Payload(provider.api, body, json.dumps(body).encode(), stream=False)
