"""What each rule means, in one plain sentence, for those who do not know the slugs. Data only: `why`, the chain and `failover explain` show
it beside the slug; the rules themselves are `engine/policy`."""

from __future__ import annotations

from collections.abc import Mapping

MEANINGS: Mapping[str, str] = {
    "selection.configured-default": "nothing was chosen for this session: it starts from the configured primary",
    "selection.requested": "the application asked for this model; the configured fallbacks follow it",
    "selection.agent-primary": "the agent has a model of its own and no fallbacks: no other model is tried",
    "selection.agent-fallbacks": "the agent has a model and a list of fallbacks of its own",
    "selection.auto": "an earlier failure moved the session here; it stays until its own model answers again",
    "selection.user": "somebody selected this model for the session: no other model is tried",
    "selection.legacy": "an old record selects this model: treated like a user's choice, no other model is tried",
    "selection.one-off": "this model was given for this run only: no other model is tried",
    "selection.cron-model": "the cron job names this model",
    "selection.cron-default": "the cron job names no model: the configured one",
    "selection.heartbeat": "heartbeats have a model of their own, for this run only",
    "selection.per-run": "a run that leaves the session's model, pin and notices as they are",
    "selection.stale-origin": "the fallback belonged to another primary than today's: it was cleared",
    "selection.half-entry": "half a model was stored (provider or name is missing): ignored and repaired",
    "selection.heartbeat-clears-stale": "a heartbeat cleared a fallback that belonged to another primary",
    "order.stored": "in the order that an operator set",
    "order.config": "in the order of the config file (auth.order)",
    "order.configured-profiles": "in the order in which the config file lists the profiles",
    "order.stored-profiles": "no order is configured: every stored profile of the provider",
    "pin.user": "a user pinned this profile: no other of its provider is tried",
    "pin.missing": "the pinned profile is gone: the candidate is skipped until the pin is removed",
    "rotate.dead-secret": "its secret is not to be had: no call is made with it, the next profile is tried",
    "attempt.success": "it answered",
    "attempt.committed": "content had gone out already: from there nothing can fail over",
    "attempt.budget": "the turn's time was used up",
    "gate.billing-throttle": "out of credit: skipped; as first candidate it is tried once in 5 minutes",
    "gate.user-explicit": "chosen by a user: tried through its window once in 30 s, to show the real error",
    "gate.unknown-provider": "the provider is not configured",
    "gate.dialect-unsupported": "this provider cannot express the request",
    "gate.operator-off": "an operator took it out of service",
    "gate.no-credentials": "the provider has no usable profile",
    "gate.skip-cache": "its credentials were refused a moment ago in this session: not asked again yet",
    "gate.open": "a profile of it is free: it is tried",
    "gate.auth-skip": "its credentials are refused: skipped until their window ends",
    "gate.primary-probe": "every profile is in a window: the first candidate is tried when the window ends soon, at most every 30 s",
    "gate.sibling-probe": "every profile is in a window, which may not hold for this model: tried once in 30 s",
    "gate.other-provider-probe": "every profile is in a window: tried when the window ends soon, at most every 30 s",
    "gate.one-probe-per-provider": "this turn has tried the provider through a window already: once is enough",
    "gate.single-flight": "another turn is trying just this profile and model: one at a time",
    "walk.stop": "another model would not help, or none may be tried: the failure is reported as it is",
    "walk.live-switch": "somebody selected another model while the turn was under way",
    "override.persist-first": "the change of model is stored before the fallback is tried",
    "override.rollback": "the fallback did not answer: the stored change of model was taken back",
    "override.probe": "5 minutes since the primary was last tried: this turn starts from it again",
    "override.forced-probe": "an operator asked for one real call to the primary",
}


def meaning(rule: str | None) -> str:
    """The sentence for a slug; empty for what is no rule of this version."""
    return MEANINGS.get(rule or "", "")


def worded(rule: str) -> str:
    """`gate.open: a profile of it is free: it is tried`."""
    sentence = meaning(rule)
    return f"{rule}: {sentence}" if sentence else rule
