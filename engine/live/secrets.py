"""From a credential to the secret that a call sends: the literal one, or what its reference names right now (`rotate.dead-secret`).
Every secret that passes here is told to the redaction sink first. Nothing is kept longer than a moment, and nothing is logged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from engine.config.references import Resolved, resolve
from engine.domain.credentials import Credential, OAuth, Token, secrets_of
from engine.domain.ids import ProfileId
from engine.domain.redaction import Redactor

FRESH_S = 2.0
"""A file's or a keyring's secret is read again after so long: rotated keys are picked up without a restart."""


class Secrets:
    """environ: where `env:NAME` looks. monotonic: real seconds."""

    def __init__(self, environ: Mapping[str, str], redactor: Redactor, monotonic: Callable[[], float]) -> None:
        self._environ = environ
        self._redactor = redactor
        self._monotonic = monotonic
        self._read: dict[str, tuple[float, Resolved]] = {}
        self._variables: dict[str, str] = {}

    def learn(self, credential: Credential) -> None:
        """Its literal secrets are masked from now on."""
        for secret in secrets_of(credential):
            self._redactor.add(secret)

    def at_hand(self, credential: Credential) -> str | None:
        """The secret to send, if nothing has to be read for it: a literal one, or a variable. None: ask `of`."""
        literal = _literal(credential)
        if literal:
            self.learn(credential)
            return literal
        reference = None if isinstance(credential, OAuth) else credential.key_ref
        if reference is None or not reference.startswith("env:"):
            return None
        # The environment of a process does not change under it.
        known = self._variables.get(reference)
        if known is None and (found := self._learned(resolve(reference, self._environ)).secret) is not None:
            known = self._variables[reference] = found
        return known

    async def of(self, credential: Credential) -> Resolved:
        """The secret to send, or the reason why there is none."""
        self.learn(credential)
        literal = _literal(credential)
        if literal:
            return Resolved(literal)
        reference = None if isinstance(credential, OAuth) else credential.key_ref
        if reference is None:
            return Resolved(reason="no secret is stored")
        return await self.resolve(reference)

    async def resolve(self, reference: str) -> Resolved:
        """What `env:NAME`, `file:PATH` or `keyring:SERVICE/NAME` holds."""
        if reference.startswith("env:"):
            return self._learned(resolve(reference, self._environ))
        known = self._read.get(reference)
        if known is not None and self._monotonic() - known[0] < FRESH_S:
            return known[1]
        # A file may lie on a slow mount and a keyring may ask a daemon: not on the loop that serves.
        found = self._learned(await asyncio.to_thread(resolve, reference, self._environ))
        self._read[reference] = (self._monotonic(), found)
        return found

    async def dead(self, credentials: Mapping[ProfileId, Credential]) -> frozenset[ProfileId]:
        """The profiles whose reference cannot be resolved now; a login that can be refreshed is never dead."""
        found = set()
        for profile, credential in credentials.items():
            reference = None if isinstance(credential, OAuth) or _literal(credential) else credential.key_ref
            if reference and (await self.resolve(reference)).secret is None:
                found.add(profile)
        return frozenset(found)

    def _learned(self, found: Resolved) -> Resolved:
        self._redactor.add(found.secret)
        return found


def _literal(credential: Credential) -> str:
    match credential:
        case OAuth():
            return credential.access
        case Token():
            return credential.token
        case _:
            return credential.key
