"""Drives one walk by hand and writes down what passes, so that a test reads as a transcript: `>> ...` is what the walk is told,
`<< ...` what it asks for."""

from __future__ import annotations

from engine.config.load import load_settings
from engine.domain.credentials import ApiKey
from engine.domain.failure import Failure
from engine.domain.ids import MAIN_AGENT, ModelRef, ProfileId, SessionKey, TurnId
from engine.domain.sessions import Session
from engine.domain.store import Stored, StoredAgent
from engine.domain.turns import TurnRequest, TurnResult
from engine.domain.usage import UsageStats
from engine.live.memory import Memory
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
    ) -> None:
        providers = {name: {"baseUrl": f"http://{name}.test/v1", "api": "openai-completions"} for name in ("acme", "zeta", "nova")}
        config = {
            "agents": {"defaults": {"model": {"primary": primary, "fallbacks": list(fallbacks)}}},
            "models": {"providers": {**providers, "kilo": {"baseUrl": "http://kilo.test/v1", "api": "openai-completions", "auth": "none"}}},
            "auth": {"cooldowns": cooldowns or {}},
        }
        self.settings = load_settings(config, env=env or {}).settings
        credentials = {ProfileId(p): ApiKey(p.partition(":")[0], key=f"made-up-{p}") for p in profiles}
        agent = StoredAgent(credentials, {ProfileId(p): u for p, u in (usage or {}).items()})
        self.memory = Memory(Stored({MAIN_AGENT: agent}, {MAIN: session} if session is not None else {}, {}))
        self.now = T0
        self._turns = 0

    @property
    def session(self) -> Session:
        return self.memory.session(MAIN)

    def turn(self, session: str = "main", **fields: object) -> Transcript:
        self._turns += 1
        request = TurnRequest(TurnId(f"turn-{self._turns}"), SessionKey(session), **fields)  # type: ignore[arg-type]
        return Transcript(self, request)


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
        case AwaitTrial(trials):
            return "await " + ", ".join(f"{profile} for {model}" for profile, model in trials)
        case _:
            return None


def ref(text: str) -> ModelRef:
    provider, _, model = text.partition("/")
    return ModelRef(provider, model)
