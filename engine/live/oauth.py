"""Refreshing a login (`oauth.refresh-once`): one refresh in flight per profile, across the tasks of this process and, by a claim written
with one compare-and-set, across processes; who comes later adopts the result. Whether a refresh is due and what a failed one means is
decided by the rules; the request to the token endpoint and the safe keeping of its answer are here."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import httpx

from engine.domain.clock import Clock
from engine.domain.credentials import OAuth
from engine.domain.errors import StoreError
from engine.domain.failure import Failure
from engine.domain.ids import AgentId, ProfileId
from engine.domain.settings import OAuthSettings, Settings
from engine.domain.store import PutCredential
from engine.live.memory import Memory
from engine.live.secrets import Secrets
from engine.live.writer import SETTLE_S, Writer
from engine.policy.oauth import must_refresh

CLAIM = "refreshClaim"
CLAIM_MS = 30_000
"""A claim of a process that died is void after so long."""

LOOK_S = 0.25
REQUEST_S = 30.0
MAX_ANSWER = 65_536


class TokenRefresher:
    """merge: takes over what another process wrote, if anything."""

    def __init__(
        self,
        memory: Memory,
        writer: Writer,
        secrets: Secrets,
        clock: Clock,
        merge: Callable[[], Awaitable[None]],
        client: Callable[[], httpx.AsyncClient] | None = None,
    ) -> None:
        self._memory = memory
        self._writer = writer
        self._secrets = secrets
        self._clock = clock
        self._merge = merge
        self._make_client = client or _client
        self._client: httpx.AsyncClient | None = None
        self._in_flight: dict[tuple[AgentId, ProfileId], asyncio.Task[Failure | None]] = {}
        self._instance = uuid4().hex[:12]

    async def refresh(self, agent: AgentId, profile: ProfileId, settings: Settings, *, used: str | None = None) -> Failure | None:
        """None: the stored login is fresh now. used: the access token that was just refused; None: refresh only what is about to end.
        Giving up waiting does not stop a refresh that others wait for."""
        owner = self._memory.owner(agent, profile)
        credential = self._memory.agents[owner].credentials.get(profile)
        if not isinstance(credential, OAuth):
            return Failure(message=f"{profile} is no login that can be refreshed")
        if self._is_fresh(credential, used):
            return None
        key = (owner, profile)
        task = self._in_flight.get(key)
        if task is None:
            task = asyncio.create_task(self._refresh(owner, profile, settings, used), name=f"failover-refresh-{profile}")
            self._in_flight[key] = task
            task.add_done_callback(lambda _: self._in_flight.pop(key, None))
        return await asyncio.shield(task)

    async def aclose(self) -> None:
        """Lets refreshes in flight end: a token family whose new member is lost is dead."""
        if self._in_flight:
            await asyncio.wait(list(self._in_flight.values()), timeout=REQUEST_S)
        if self._client is not None:
            await self._client.aclose()

    def _is_fresh(self, credential: OAuth, used: str | None) -> bool:
        if used is not None:
            return bool(credential.access) and credential.access != used
        return bool(credential.access) and not must_refresh(credential, self._clock.wall_ms())

    async def _refresh(self, owner: AgentId, profile: ProfileId, settings: Settings, used: str | None) -> Failure | None:
        while True:
            credential = self._memory.agents[owner].credentials.get(profile)
            if not isinstance(credential, OAuth):
                return Failure(message=f"{profile} was removed")
            if self._is_fresh(credential, used):
                return None
            if not credential.refresh:
                return Failure(message=f"{profile} has no refresh token: sign in again")
            provider = settings.providers.get(credential.provider)
            if provider is None or provider.oauth is None:
                return Failure(message=f"no token endpoint is configured: models.providers.{credential.provider}.oauth")
            if not self._claimed_elsewhere(credential):
                claimed = await self._claim(owner, profile, credential)
                if claimed is not None:
                    return await self._ask_and_keep(owner, profile, credential, claimed, provider.oauth)
            # Another process is at it: what it writes is seen within 250 ms.
            await asyncio.sleep(LOOK_S)
            await self._merge()

    def _claimed_elsewhere(self, credential: OAuth) -> bool:
        by, _, until = str(credential.extra.get(CLAIM) or "").partition(":")
        return by not in ("", self._instance) and until.isdecimal() and int(until) > self._clock.wall_ms()

    async def _claim(self, owner: AgentId, profile: ProfileId, credential: OAuth) -> OAuth | None:
        """The login as it stands in the store under our claim; None: the stored one is no longer the one that we know."""
        marked = _claim(credential, f"{self._instance}:{self._clock.wall_ms() + CLAIM_MS}")
        writing = asyncio.ensure_future(self._writer.commit([PutCredential(owner, profile, marked, expect=credential)]))
        done, _ = await asyncio.wait({writing}, timeout=SETTLE_S)
        if not done:
            # A stalled store must not keep a session signed out; it will apply the claim before the token, in this order.
            writing.add_done_callback(lambda task: task.cancelled() or task.exception())
            return marked
        try:
            return marked if writing.result()[0] else None
        except StoreError:
            return credential

    async def _ask_and_keep(
        self, owner: AgentId, profile: ProfileId, credential: OAuth, claimed: OAuth, oauth: OAuthSettings
    ) -> Failure | None:
        answer = await self._ask(credential, oauth)
        given_up = _claim(credential, "")
        fresh = given_up if isinstance(answer, Failure) else replace(given_up, **answer)
        self._secrets.learn(fresh)
        self._keep(owner, profile, fresh, credential, claimed)
        if isinstance(answer, Failure):
            self._writer.put([PutCredential(owner, profile, fresh, expect=claimed)])
            return answer
        change = PutCredential(owner, profile, fresh, expect=claimed)
        writing = asyncio.ensure_future(self._writer.commit([change]))
        done, _ = await asyncio.wait({writing}, timeout=SETTLE_S)
        if not done:
            writing.add_done_callback(lambda task: task.cancelled() or task.exception())
            return None
        try:
            if writing.result()[0]:
                # A merge that fell between the first keeping and the write has brought the former login back.
                self._keep(owner, profile, fresh, credential, claimed)
            else:
                await self._merge()
        except StoreError:
            self._writer.put([change])
        return None

    def _keep(self, owner: AgentId, profile: ProfileId, fresh: OAuth, *former: OAuth) -> None:
        """In memory, in the place of the login that was refreshed: with our claim too, as a merge meanwhile has read it from the store."""
        credentials = self._memory.agents[owner].credentials
        if credentials.get(profile) in former:
            credentials[profile] = fresh

    async def _ask(self, credential: OAuth, oauth: OAuthSettings) -> dict[str, Any] | Failure:
        """The fields that change, or what went wrong, as the classifier reads it."""
        form = {"grant_type": "refresh_token", "refresh_token": credential.refresh, "client_id": oauth.client_id}
        if oauth.scopes:
            form["scope"] = " ".join(oauth.scopes)
        if oauth.client_secret_ref is not None:
            secret = await self._secrets.resolve(oauth.client_secret_ref)
            if secret.secret is None:
                return Failure(message=f"the client secret cannot be read: {secret.reason}")
            form["client_secret"] = secret.secret
        if self._client is None:
            self._client = self._make_client()
        asked_at = self._clock.wall_ms()
        try:
            response = await self._client.post(oauth.token_url, data=form, headers={"accept": "application/json"})
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            return Failure(message=str(error) or type(error).__name__, code="ECONNREFUSED", connected=False)
        except httpx.HTTPError as error:
            return Failure(message=f"the token endpoint did not answer: {error or type(error).__name__}", code="ETIMEDOUT")
        body = response.text[:MAX_ANSWER]
        if response.status_code != 200:
            return Failure(status=response.status_code, body=body, headers=dict(response.headers))
        return _granted(body, credential, asked_at)


def _claim(credential: OAuth, claim: str) -> OAuth:
    # Given up is empty, not absent: a store keeps the fields of a login that a write does not name.
    return replace(credential, extra={**credential.extra, CLAIM: claim})


def _granted(body: str, credential: OAuth, asked_at: int) -> dict[str, object] | Failure:
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    access = answer.get("access_token") if isinstance(answer, dict) else None
    if not isinstance(access, str) or not access:
        return Failure(status=200, body=body, message="the token endpoint's answer holds no access_token")
    granted: dict[str, object] = {"access": access}
    refresh = answer.get("refresh_token")
    if isinstance(refresh, str) and refresh:
        granted["refresh"] = refresh
    try:
        lifetime = float(answer.get("expires_in"))
    except (TypeError, ValueError):
        lifetime = math.nan
    # Without a stated end the token is taken for an hour's, as RFC 6749 leaves it to us: `absent` would refresh at every use.
    seconds = lifetime if math.isfinite(lifetime) and lifetime > 0 else 3600.0
    granted["expires"] = asked_at + int(min(seconds, 10 * 366 * 86_400) * 1000)
    return granted


def _client() -> httpx.AsyncClient:
    return httpx.AsyncClient(timeout=httpx.Timeout(REQUEST_S, connect=10.0), follow_redirects=False)
