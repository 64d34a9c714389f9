"""`failover simulate`: a scenario in, its result out (spec/scenarios.md). Runs the real walk and the real acts on the virtual clock."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.load import load_settings
from engine.domain.acts import Clear, Compact, Pin, Reset, SelectModel, SetOff, SetOn, Unpin
from engine.domain.credentials import ApiKey, Credential, OAuth, Token
from engine.domain.errors import ConfigError, ScenarioError
from engine.domain.export import session_from_json, session_json, turn_json, usage_from_json, usage_json
from engine.domain.ids import MAIN_AGENT, AgentId, ModelRef, ProfileId, SessionKey, TurnId
from engine.domain.settings import Settings
from engine.domain.store import Stored, StoredAgent
from engine.domain.turns import RunKind, TurnRequest
from engine.domain.usage import NEVER_USED
from engine.live.memory import Memory
from engine.policy.acts import LocalAct, decide, plan_probe, resolve_model
from engine.policy.order import resolve_order, windowed_last
from engine.policy.overrides import recovery
from engine.policy.selection import is_auto
from engine.policy.windows import after_success
from engine.simulation.machine import Machine, Process
from engine.simulation.scenario import ApiKeySpec, OAuthSpec, Scenario, Step, TokenSpec, TurnSpec, epoch_ms, parse_scenario
from engine.simulation.script import Script

OPERATOR = "simulate"


def simulate(data: object) -> dict[str, object]:
    """The result of one scenario. Raises ScenarioError or ConfigError (the scenario's config is bad) before anything runs."""
    scenario = parse_scenario(data)
    try:
        settings = load_settings(scenario.config, env=scenario.env).settings
    except ConfigError as error:
        raise ScenarioError(error.title, tuple(f"config.{p}" for p in error.problems), error.next_step) from None
    return Run(scenario, settings).result()


class Run:
    """One scenario under way."""

    def __init__(self, scenario: Scenario, settings: Settings) -> None:
        self.scenario = scenario
        self.generation = 1
        self.sessions_made = 0
        start = epoch_ms(scenario.start, "start")
        self._check(scenario.steps, settings, "steps")
        self.machine = Machine(Memory(_stored(scenario)), Script(scenario.providers), settings, start, dict(scenario.env))

    def result(self) -> dict[str, object]:
        return {"steps": [self._step(step) for step in self.scenario.steps], "final": self._final()}

    # --- steps -----------------------------------------------------------------------------------------------------------

    def _step(self, step: Step) -> dict[str, object]:
        machine = self.machine
        if step.turn is not None:
            return {"turn": self._finished(self._begin(step.turn))}
        if step.parallel is not None:
            # Each begins as it starts: a turn must see what those before it claimed at the same instant.
            started = []
            for member in step.parallel:
                process = self._begin(member.turn)
                machine.start(process)
                started.append(process)
            machine.settle()
            return {"parallel": [{"turn": self._shown(process)} for process in started]}
        if step.during is not None:
            during = step.during
            process = self._begin(during.turn)
            process.on_attempt[during.attempt] = lambda: self._do(during.do)
            return {"turn": self._finished(process)}
        if step.cancel is not None:
            process = self._begin(step.cancel.turn)
            process.cancel_at = step.cancel.attempt
            return {"turn": self._finished(process)}
        return self._act_step(step)

    def _act_step(self, step: Step) -> dict[str, object]:
        machine = self.machine
        if step.advance_s is not None:
            machine.now += round(step.advance_s * 1000)
            return {"advance_s": _number(step.advance_s), "now": machine.now}
        if step.advance_to is not None:
            machine.now = max(machine.now, epoch_ms(step.advance_to, "advance_to"))
            return {"advance_to": step.advance_to, "now": machine.now}
        if step.wall_clock_s is not None:
            machine.wall_offset += round(step.wall_clock_s * 1000)
            return {"wall_clock_s": _number(step.wall_clock_s), "now": machine.now}
        if step.restart is not None:
            machine.restart()
            return {"restart": {}}
        if step.kind == "set_config":
            return {"set_config": self._set_config(step.set_config)}
        if step.probe is not None:
            return {"probe": self._probe(SessionKey(step.probe.session))}
        return {step.kind: self._act(_act(step))}

    def _do(self, steps: list[Step]) -> None:
        for step in steps:
            self._act_step(step)

    def _begin(self, spec: TurnSpec) -> Process:
        return self.machine.begin(self._request(spec))

    def _request(self, spec: TurnSpec) -> TurnRequest:
        settings = self.machine.settings
        payload = spec.payload
        listed = payload.fallbacks if payload is not None and payload.fallbacks is not None else spec.fallbacks
        return TurnRequest(
            turn=self.machine.turn_id(),
            session=SessionKey(spec.session),
            kind=RunKind(spec.kind),
            agent=AgentId(spec.agent) if spec.agent is not None else None,
            image=spec.image,
            side_effect_only=spec.side_effect_only,
            budget_ms=round(spec.budget_s * 1000) if spec.budget_s is not None else None,
            one_off=_ref(spec.model, settings),
            requested=_ref(spec.requested, settings),
            cron_model=_ref(payload.model, settings) if payload is not None else None,
            fallbacks=tuple(ref for name in listed if (ref := _ref(name, settings)) is not None) if listed is not None else None,
        )

    def _finished(self, process: Process) -> dict[str, object]:
        self.machine.start(process)
        self.machine.settle()
        return self._shown(process)

    def _shown(self, process: Process) -> dict[str, object]:
        assert process.result is not None
        return {**turn_json(process.result), "at": process.walk.ledger.started}

    # --- operator --------------------------------------------------------------------------------------------------------

    def _act(self, act: LocalAct) -> dict[str, object]:
        machine, memory = self.machine, self.machine.memory
        session = SessionKey(getattr(act, "session", ""))
        world = memory.world(session, MAIN_AGENT, machine.now, machine.now)
        self.sessions_made += 1
        decided = decide(act, machine.settings, world, by=OPERATOR, new_session_id=f"session-{self.sessions_made}")
        if decided.ok:
            memory.patch_session(session, decided.session, machine.now)
            for profile, usage in decided.usage.items():
                memory.put_usage(MAIN_AGENT, profile, usage)
            for target, off in decided.off.items():
                memory.put_off(target, off)
            if decided.order is not None:
                memory.put_order(MAIN_AGENT, *decided.order)
            if decided.drop_marks:
                memory.drop_marks(session)
        return {"ok": decided.ok, "message": decided.message}

    def _probe(self, session: SessionKey) -> dict[str, object]:
        machine, memory = self.machine, self.machine.memory
        plan = plan_probe(TurnRequest(TurnId(""), session), machine.settings, memory.world(session, MAIN_AGENT, machine.now, machine.now))
        if plan.problem is not None:
            return {"ok": False, "outcome": "not_probeable", "message": plan.problem}
        if plan.profile is not None:
            memory.stamp(MAIN_AGENT, plan.profile, machine.now)
        got = machine.probe_call(plan.ref, plan.profile)
        if got.failure is not None or got.empty:
            return {"ok": False, "outcome": "upstream_failed", "message": f"{plan.ref} did not answer; windows stay as they were"}
        if plan.profile is not None:
            memory.put_usage(MAIN_AGENT, plan.profile, after_success(memory.usage(MAIN_AGENT, plan.profile), plan.ref.model))
        record = memory.session(session)
        if is_auto(record):
            fields, _ = recovery(record, plan.ref, plan.profile)
            memory.patch_session(session, fields, machine.now)
        return {"ok": True, "outcome": "ok", "message": f"{plan.ref} answered"}

    def _set_config(self, config: object) -> dict[str, object]:
        """A bad one is refused and the last good one stays (`walk.config-generation`)."""
        try:
            if not isinstance(config, Mapping):
                raise ConfigError("The configuration is not valid", ("must be an object",))
            loaded = load_settings(config, env=self.scenario.env, generation=self.generation + 1)
        except ConfigError as error:
            return {"ok": False, "message": "; ".join(error.problems)}
        self.generation += 1
        self.machine.settings = loaded.settings
        self.machine.memory.adopt_references(loaded.settings)
        return {"ok": True, "message": f"generation {self.generation}"}

    # --- before and after ------------------------------------------------------------------------------------------------

    def _final(self) -> dict[str, object]:
        machine, memory = self.machine, self.machine.memory
        world = memory.world(SessionKey(""), MAIN_AGENT, machine.now, machine.now)
        usage = {p: usage_json(u, machine.now) for agent in memory.agents.values() for p, u in agent.usage.items() if u != NEVER_USED}
        providers = dict.fromkeys([*machine.settings.providers, *(c.provider.lower() for c in world.credentials.values())])
        order: dict[str, object] = {}
        for provider in providers:
            free, cooling = windowed_last(
                resolve_order(provider, machine.settings, world).profiles, None, machine.settings, provider, world
            )
            if free or cooling:
                order[provider] = [*free, *(p for p, _ in cooling)]
        return {
            "now": machine.now,
            "usageStats": usage,
            "sessions": {key: session_json(session) for key, session in memory.sessions.items()},
            "order": order,
        }

    def _check(self, steps: list[Step], settings: Settings, path: str) -> None:
        """Names of models in turns must be aliases or refs; said before anything runs."""
        for i, step in enumerate(steps):
            at = f"{path}[{i}]"
            specs = [(f"{at}.turn", step.turn)]
            specs += [(f"{at}.parallel[{j}].turn", t.turn) for j, t in enumerate(step.parallel or ())]
            if step.during is not None:
                specs.append((f"{at}.during.turn", step.during.turn))
                self._check(step.during.do, settings, f"{at}.during.do")
                self._refuse_turns(step.during.do, f"{at}.during.do")
            if step.cancel is not None:
                specs.append((f"{at}.cancel.turn", step.cancel.turn))
            for where, spec in specs:
                if spec is not None:
                    for name in _names(spec):
                        if resolve_model(name, settings) is None:
                            problem = f"{where}: {name!r} is no alias and no provider/model"
                            raise ScenarioError("The scenario does not fit its schema", (problem,), "write provider/model")

    def _refuse_turns(self, steps: list[Step], path: str) -> None:
        for i, step in enumerate(steps):
            if step.kind in ("turn", "parallel", "during", "cancel", "advance_s", "advance_to"):
                problem = f"{path}[{i}].{step.kind}: only acts can happen during an attempt"
                raise ScenarioError("The scenario does not fit its schema", (problem,), "make it a step of its own")


def _names(spec: TurnSpec) -> list[str]:
    payload = spec.payload
    found = [spec.model, spec.requested, payload.model if payload is not None else None]
    listed = [*(spec.fallbacks or ()), *((payload.fallbacks or ()) if payload is not None else ())]
    return [name for name in (*found, *listed) if name is not None]


def _ref(name: str | None, settings: Settings) -> ModelRef | None:
    return resolve_model(name, settings) if name is not None else None


def _act(step: Step) -> LocalAct:
    if step.model is not None:
        return SelectModel(SessionKey(step.model.session), step.model.ref)
    if step.pin is not None:
        until = int(step.pin.until) if step.pin.until is not None else None
        return Pin(SessionKey(step.pin.session), ProfileId(step.pin.profile), step.pin.reason, until)
    if step.unpin is not None:
        return Unpin(SessionKey(step.unpin.session))
    if step.reset is not None:
        return Reset(SessionKey(step.reset.session), step.reset.how)
    if step.compact is not None:
        return Compact(SessionKey(step.compact.session))
    if step.clear is not None:
        return Clear(ProfileId(step.clear.profile))
    if step.off is not None:
        return SetOff(step.off.name)
    assert step.on is not None
    return SetOn(step.on.name)


def _stored(scenario: Scenario) -> Stored:
    """What the in-memory store holds at the start."""
    try:
        usage = {profile: usage_from_json(record) for profile, record in scenario.usageStats.items()}
        sessions = {SessionKey(key): session_from_json(record) for key, record in scenario.sessions.items()}
    except (ValueError, TypeError, OverflowError) as error:
        problem = f"usageStats or sessions: {error}"
        raise ScenarioError("The scenario does not fit its schema", (problem,), "see `failover simulate --help`") from None
    credentials = {profile: _credential(spec) for profile, spec in scenario.profiles.items()}
    agent = StoredAgent(credentials, usage, {p.lower(): tuple(ids) for p, ids in scenario.order.items()})
    return Stored({MAIN_AGENT: agent}, sessions, {})


def _credential(spec: ApiKeySpec | TokenSpec | OAuthSpec) -> Credential:
    match spec:
        case ApiKeySpec():
            return ApiKey(spec.provider, spec.key)
        case TokenSpec():
            return Token(spec.provider, spec.token, spec.expires)
        case OAuthSpec():
            return OAuth(spec.provider, spec.access, spec.refresh, spec.expires, spec.email)


def _number(value: float) -> float | int:
    return int(value) if value == int(value) else value
