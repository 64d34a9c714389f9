"""Drives one walk by hand and writes down what passes, so that a test reads as a transcript: `>> ...` is what the walk is told,
`<< ...` what it asks for. `World.run` answers by a table instead, for tests about what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.config.load import load_settings
from engine.domain.credentials import ApiKey, Credential, OAuth, Token
from engine.domain.failure import Failure
from engine.domain.ids import MAIN_AGENT, ModelRef, ProfileId, SessionKey, TurnId
from engine.domain.sessions import Session
from engine.domain.store import Stored, StoredAgent
from engine.domain.turns import CandidateOutcome, TurnRequest, TurnResult
from engine.domain.usage import UsageStats
from engine.live.memory import Memory
from engine.policy.acts import Decided, LocalAct, decide
from engine.policy.commands import (
    AwaitTrial,
    Broken,
    CallProvider,
    Cancelled,
    Command,
    Completed,
    Content,
    Deliver,
    Done,
    Failed,
    Outcome,
    Refreshed,
    RefreshFailed,
    RefreshToken,
    Saved,
    SaveOverride,
    Sleep,
    Slept,
    TrialEnded,
    WriteSession,
)
from engine.policy.walk import Walk
from engine.policy.world import World as WorldView

T0 = 1_767_603_600_000
MAIN = SessionKey("main")


class World:
    """A configuration, its memory and a clock that the test moves."""

    def __init__(
        self,
        primary: str = "acme/big",
        fallbacks: tuple[str, ...] = ("zeta/std",),
        profiles: tuple[str, ...] = ("acme:k1", "zeta:k1"),
        usage: dict[str, UsageStats] | None = None,
        session: Session | None = None,
        cooldowns: dict[str, object] | None = None,
        env: dict[str, str] | None = None,
        *,
        credentials: Mapping[str, Credential] | None = None,
        order: Mapping[str, tuple[str, ...]] | None = None,
        configured: Mapping[str, Any] | None = None,
        defaults: Mapping[str, Any] | None = None,
        agents: Mapping[str, Any] | None = None,
        auth: Mapping[str, Any] | None = None,
        exempt: tuple[str, ...] = (),
        sessions: Mapping[str, Session] | None = None,
    ) -> None:
        """profiles: API keys by id. credentials: other ones, behind them. order: an operator's. configured: `models.providers` members
        by provider. defaults: further members of `agents.defaults`. agents: id -> model. auth: further members of `auth`."""
        providers = {name: {"baseUrl": f"http://{name}.test/v1", "api": "openai-completions"} for name in ("acme", "zeta", "nova")}
        providers["kilo"] = {"baseUrl": "http://kilo.test/v1", "api": "openai-completions", "auth": "none"}
        for name, more in {**{key: {"cooldowns": False} for key in exempt}, **(configured or {})}.items():
            providers[name] = {**providers[name], **more}
        self.config: dict[str, Any] = {
            "agents": {
                "defaults": {"model": {"primary": primary, "fallbacks": list(fallbacks)}, **(defaults or {})},
                "list": [{"id": name, "model": model} for name, model in (agents or {}).items()],
            },
            "models": {"providers": providers},
            "auth": {"cooldowns": cooldowns or {}, **(auth or {})},
        }
        self.env = env or {}
        self.settings = load_settings(self.config, env=self.env).settings
        stored: dict[ProfileId, Credential] = {ProfileId(p): key_of(p) for p in profiles}
        stored.update({ProfileId(p): c for p, c in (credentials or {}).items()})
        orders = {provider: tuple(ProfileId(p) for p in ids) for provider, ids in (order or {}).items()}
        agent = StoredAgent(stored, {ProfileId(p): u for p, u in (usage or {}).items()}, orders)
        known = {SessionKey(key): record for key, record in (sessions or {}).items()}
        if session is not None:
            known[MAIN] = session
        self.memory = Memory(Stored({MAIN_AGENT: agent}, known, {}))
        self.memory.adopt_references(self.settings)
        self.now = T0
        self._turns = 0
        self._acts = 0

    @property
    def session(self) -> Session:
        return self.memory.session(MAIN)

    def usage(self, profile: str) -> UsageStats:
        return self.memory.usage(MAIN_AGENT, ProfileId(profile))

    def look(self, session: str = "main") -> WorldView:
        return self.memory.world(SessionKey(session), MAIN_AGENT, self.now, self.now)

    def turn(self, session: str = "main", **fields: Any) -> Transcript:
        """A turn at its first wait. fields: of the request; models as text."""
        self._turns += 1
        for name in ("one_off", "requested", "cron_model"):
            if isinstance(fields.get(name), str):
                fields[name] = ref(fields[name])
        if fields.get("fallbacks") is not None:
            fields["fallbacks"] = tuple(ref(f) if isinstance(f, str) else f for f in fields["fallbacks"])
        return Transcript(self, TurnRequest(TurnId(f"turn-{self._turns}"), SessionKey(session), **fields))

    def run(self, answers: Mapping[str, object] | None = None, session: str = "main", **fields: Any) -> Transcript:
        """A whole turn. answers: `ref@profile`, `ref` or `*` -> a status, (status, text), a Failure, `ok`, `empty`, `drops`, or a list of
        these, used up one a call. What is not named answers `ok`; a refresh of a token works unless `refresh:<profile>` says otherwise."""
        turn = self.turn(session, **fields)
        given = {key: list(value) if isinstance(value, list) else [value] for key, value in (answers or {}).items()}
        for _ in range(500):
            if turn.result is not None:
                return turn
            turn.answer(given)
        raise AssertionError("the turn does not end")

    def act(self, what: LocalAct) -> Decided:
        """An operator's act, applied as every driver applies it."""
        self._acts += 1
        key = SessionKey(getattr(what, "session", MAIN))
        decided = decide(what, self.settings, self.look(key), by="tester", new_session_id=f"session-{self._acts}")
        self.memory.patch_session(key, decided.session, self.now)
        for profile, usage in decided.usage.items():
            self.memory.put_usage(MAIN_AGENT, profile, usage)
        for target, off in decided.off.items():
            self.memory.put_off(target, off)
        if decided.order is not None:
            self.memory.put_order(MAIN_AGENT, *decided.order)
        if decided.drop_marks:
            self.memory.drop_marks(key)
        return decided

    def restart(self) -> None:
        """The process-local memory is gone, the store stays."""
        self.memory.forget_process_local()

    def reconfigure(self, *path: str, value: object) -> None:
        """Another generation of the configuration, with that member changed."""
        place = self.config
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value
        self.settings = load_settings(self.config, env=self.env, generation=self.settings.generation + 1).settings


class Transcript:
    """`lines`: what passed. Each `>>` method answers the wait that the walk is in and runs on to the next one."""

    def __init__(self, world: World, request: TurnRequest) -> None:
        self._world = world
        self.request = request
        self.walk = Walk(request, world.settings, self._look())
        self._steps = self.walk.run()
        self.lines: list[str] = []
        self.effects: list[Command] = []
        self.result: TurnResult | None = None
        self.waiting: Command | None = None
        self._drops = False
        self._run(next(self._steps))

    def _look(self) -> WorldView:
        world = self._world
        return world.memory.world(self.request.session, self.request.owner, world.now, world.now)

    def _run(self, command: Command) -> None:
        while True:
            said = _said(command)
            if isinstance(command, SaveOverride):
                # A driver sets the fields in memory before it waits for the store.
                self._apply(WriteSession(command.fields))
            if said is not None:
                self.lines.append(f"<< {said}")
                self.waiting = command
                return
            self.effects.append(command)
            self._apply(command)
            try:
                command = self._steps.send((Done(), self._look()))
            except StopIteration as ended:
                self._end(ended.value)
                return

    def _apply(self, effect: Command) -> None:
        request = self.request
        self._world.memory.apply(effect, request.turn, request.session, request.owner, self._world.now)  # type: ignore[arg-type]

    def _end(self, result: TurnResult) -> None:
        self.result = result
        self.lines.append(f"<< {result.outcome}" + (f" by {result.active}" if result.active else ""))

    def _tell(self, said: str, outcome: Outcome) -> Transcript:
        self.lines.append(f">> {said}")
        try:
            command = self._steps.send((outcome, self._look()))
        except StopIteration as ended:
            self._end(ended.value)
            return self
        self._run(command)
        return self

    def answers(self, status: int, message: str = "no") -> Transcript:
        body = f'{{"error": {{"message": "{message}"}}}}'
        return self._tell(f"{status} {message}", Failed(Failure(status=status, body=body)))

    def raises(self, name: str, *, connected: bool = True) -> Transcript:
        return self._tell(name, Failed(Failure(error_type=name, connected=connected)))

    def has_content(self) -> Transcript:
        return self._tell("content", Content())

    def completes(self) -> Transcript:
        return self._tell("completed", Completed())

    def breaks(self) -> Transcript:
        return self._tell("broke off", Broken(Failure(error_type="ReadError")))

    def is_cancelled(self) -> Transcript:
        return self._tell("the caller went away", Cancelled(calls=1))

    def saved(self) -> Transcript:
        return self._tell("saved", Saved())

    def slept(self) -> Transcript:
        return self._tell("slept", Slept())

    def trial_ended(self) -> Transcript:
        return self._tell("trial ended", TrialEnded())

    @property
    def calls(self) -> list[str]:
        """`acme/big@acme:k1`, in order; a keyless provider without the `@`."""
        said = [line.removeprefix("<< call ") for line in self.lines if line.startswith("<< call ")]
        return [text.replace(" with ", "@") for text in said]

    @property
    def ended(self) -> TurnResult:
        assert self.result is not None, "the turn waits"
        return self.result

    @property
    def outcomes(self) -> dict[str, str]:
        """Candidate -> its outcome, of a skip with rule and reason."""
        return {
            str(c.ref): f"skipped {c.rule} {c.reason}" if c.outcome is CandidateOutcome.SKIPPED else str(c.outcome)
            for c in self.ended.candidates
        }

    def answer(self, given: dict[str, list[object]]) -> None:
        """Answers the wait that the walk is in, by the table of `World.run`."""
        match self.waiting:
            case CallProvider(called, profile):
                keys = (f"{called}@{profile}", str(called), "*")
                said = next((_next(given[key]) for key in keys if key in given), "ok")
                self._drops = said == "drops"
                if said in ("ok", "empty", "drops"):
                    self._tell(str(said), Content(empty=said == "empty"))
                elif isinstance(said, Failure):
                    self._tell("failed", Failed(said))
                else:
                    status, text = said if isinstance(said, tuple) else (said, "no")
                    assert isinstance(status, int)
                    self.answers(status, str(text))
            case Deliver():
                if self._drops:
                    self.breaks()
                else:
                    self.completes()
            case SaveOverride():
                self.saved()
            case Sleep():
                self.slept()
            case RefreshToken(profile):
                said = _next(given[f"refresh:{profile}"]) if f"refresh:{profile}" in given else "ok"
                self.refreshed(said if isinstance(said, Failure) else None)
            case waiting:
                raise AssertionError(f"nobody will end {waiting}")

    def refreshed(self, failure: Failure | None = None) -> Transcript:
        waiting = self.waiting
        assert isinstance(waiting, RefreshToken)
        logins = self._world.memory.agents[MAIN_AGENT].credentials
        login = logins[waiting.profile]
        if failure is not None:
            return self._tell("refresh failed", RefreshFailed(failure))
        assert isinstance(login, OAuth)
        logins[waiting.profile] = replace(login, access=f"{login.access}+", expires=self._world.now + 3_600_000)
        return self._tell("refreshed", Refreshed())


def _next(answers: list[object]) -> object:
    return answers.pop(0) if len(answers) > 1 else answers[0]


def key_of(profile: str) -> ApiKey:
    return ApiKey(profile.partition(":")[0], key=f"made-up-{profile}")


def login_of(profile: str, expires_in_ms: int | None = 3_600_000, refresh: str = "made-up") -> OAuth:
    return OAuth(
        profile.partition(":")[0], access="made-up", refresh=refresh, expires=None if expires_in_ms is None else T0 + expires_in_ms
    )


def token_of(profile: str, expires: object = None) -> Token:
    return Token(profile.partition(":")[0], token="made-up", expires=expires)


def _said(command: Command) -> str | None:
    match command:
        case CallProvider(ref, profile):
            return f"call {ref}" + (f" with {profile}" if profile else "")
        case SaveOverride(fields):
            return f"save {fields['provider_override']}/{fields['model_override']}"
        case Deliver(ref):
            return f"deliver {ref}"
        case Sleep(ms):
            return f"sleep {ms}"
        case RefreshToken(profile, force):
            return f"refresh {profile}" + (" at once" if force else "")
        case AwaitTrial(trials):
            return "await " + ", ".join(f"{profile} for {model}" for profile, model in trials)
        case _:
            return None


def ref(text: str) -> ModelRef:
    provider, _, model = text.partition("/")
    return ModelRef(provider, model)
