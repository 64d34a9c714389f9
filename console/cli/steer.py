"""The acts of an operator as commands: the same acts and the same words as the console's keys. Each command only names an act;
the engine decides whether it may happen and says what became of it."""

from __future__ import annotations

from collections.abc import Callable

import click

from console.cli.identity import operator
from console.cli.options import Target, as_json, target
from console.cli.output import hint, safe, say, say_error, say_json
from console.cli.reach import Reached, ask
from console.cli.seen import NoSuchSession, unseen
from console.view.moments import moment
from console.view.text import literal
from engine.domain.acts import Act, ActResult, Clear, Pin, Probe, Reload, Reset, SelectModel, SetOff, SetOn, SetOrder, Undo, Unpin
from engine.domain.errors import ActRefused
from engine.domain.ids import AgentId, ProfileId, SessionKey


def perform(target: Target, act: Act | Callable[[int], Act], as_json: bool, *, only_running: bool = False, may_be_new: bool = False) -> int:
    """Does the act and prints what came of it. act: or how to make it from the engine's now (epoch ms). A session that nobody has seen is
    taken for a typing mistake, unless it `may_be_new`. The exit status: 0, or 1 when it was refused or failed."""

    async def question(found: Reached) -> tuple[ActResult, NoSuchSession | None]:
        snapshot = await found.operations.snapshot()
        made = act(snapshot.now) if callable(act) else act
        session = getattr(made, "session", None)
        doubt = unseen(session, snapshot) if session is not None else None
        if doubt is not None and not may_be_new:
            raise doubt
        return await found.operations.act(made, operator()), doubt

    try:
        result, doubt = ask(target, question, only_running=only_running)
    except (ActRefused, NoSuchSession) as refused:
        if not as_json:
            raise
        result, doubt = ActResult(False, str(refused)), None
    if doubt is not None and result.ok:
        hint(safe(f"{doubt.happened}: this holds from its first request on; {doubt.next_step}"))
    if as_json:
        say_json(
            {"ok": result.ok, "message": result.message, "outcome": result.outcome, "act_id": result.act_id, "details": result.details}
        )
    elif result.ok:
        say(literal(result.message, 2_000))
    else:
        say_error(ActRefused(result.message))
    return 0 if result.ok else 1


def until_moment(ctx: click.Context, param: click.Parameter, value: str | None) -> Callable[[int], int] | None:
    """`30m` from now, a time of day that is still to come, or an ISO date and time: as a function of now (epoch ms)."""
    text = (value or "").strip()
    if not text:
        return None
    try:
        moment(text, 0)
    except ValueError as wrong:
        raise click.BadParameter(str(wrong), ctx, param) from None
    return lambda now: moment(text, now)


@click.command("pin")
@click.argument("session")
@click.argument("profile")
@click.option("--reason", help="Why; shown to everyone who looks.")
@click.option("--until", callback=until_moment, help="When the pin ends by itself: 30m, 2h, 14:30, or an ISO time.")
@target
@as_json
def pin_command(session: str, profile: str, reason: str | None, until: Callable[[int], int] | None, target: Target, as_json: bool) -> int:
    """Tie SESSION to one credential: only PROFILE is used for its provider, cooling or not.

    \b
    Example:
      failover pin support-bot anthropic:backup --reason "me is being audited" --until 2h
    """

    def made(now: int) -> Act:
        return Pin(SessionKey(session), ProfileId(profile), reason, until(now) if until else None)

    return perform(target, made, as_json, may_be_new=True)


@click.command("unpin")
@click.argument("session")
@target
@as_json
def unpin_command(session: str, target: Target, as_json: bool) -> int:
    """Take SESSION's pin away."""
    return perform(target, Unpin(SessionKey(session)), as_json)


@click.command("model")
@click.argument("session")
@click.argument("ref")
@target
@as_json
def model_command(session: str, ref: str, target: Target, as_json: bool) -> int:
    """Select a model for SESSION, as /model does: strict, until `default` takes it back.

    \b
    REF is provider/model, an alias, either with @profile, or `default`.
    Examples:
      failover model main openai/gpt-5.5
      failover model main default
    """
    return perform(target, SelectModel(SessionKey(session), ref), as_json, may_be_new=True)


@click.command("probe")
@click.argument("session")
@target
@as_json
def probe_command(session: str, target: Target, as_json: bool) -> int:
    """Try SESSION's primary now, whatever windows say. Costs one real request; brings the session back if it works."""
    return perform(target, Probe(SessionKey(session)), as_json)


@click.command("reset")
@click.argument("session")
@target
@as_json
def reset_command(session: str, target: Target, as_json: bool) -> int:
    """Start SESSION anew: no override, no pin, no notice state. A model that a user selected stays. There is no undo."""
    return perform(target, Reset(SessionKey(session)), as_json)


@click.command("undo")
@target
@as_json
def undo_command(target: Target, as_json: bool) -> int:
    """Take your last act back, while its fields still hold what it wrote. Only on a running gateway: it alone remembers acts."""
    return perform(target, Undo(), as_json, only_running=True)


@click.command("clear")
@click.argument("profile")
@click.option("--verify", is_flag=True, help="With one real call; the windows come back if it fails.")
@target
@as_json
def clear_command(profile: str, verify: bool, target: Target, as_json: bool) -> int:
    """Clear PROFILE's windows and counters."""
    return perform(target, Clear(ProfileId(profile), verify), as_json)


@click.command("off")
@click.argument("what")
@click.option("--reason", help="Why; shown to everyone who looks.")
@target
@as_json
def off_command(what: str, reason: str | None, target: Target, as_json: bool) -> int:
    """Take a profile, a provider or a model (provider/model) out of service, for all sessions."""
    return perform(target, SetOff(what, reason), as_json)


@click.command("on")
@click.argument("what")
@target
@as_json
def on_command(what: str, target: Target, as_json: bool) -> int:
    """Put a profile, a provider or a model back in service."""
    return perform(target, SetOn(what), as_json)


@click.command("order")
@click.argument("provider")
@click.argument("profiles", nargs=-1)
@click.option("--clear", is_flag=True, help="Go back to the order of the configuration.")
@click.option("--agent", help="Only for this agent.")
@target
@as_json
def order_command(provider: str, profiles: tuple[str, ...], clear: bool, agent: str | None, target: Target, as_json: bool) -> int:
    """Set the order of PROVIDER's profiles; those left out are not used.

    \b
    Examples:
      failover order anthropic anthropic:backup anthropic:me
      failover order anthropic --clear
    """
    if bool(profiles) == clear:
        raise click.UsageError("Name the profiles in their order, or give --clear")
    order = None if clear else tuple(ProfileId(profile) for profile in profiles)
    return perform(target, SetOrder(provider, order, AgentId(agent) if agent else None), as_json)


@click.command("reload")
@target
@as_json
def reload_command(target: Target, as_json: bool) -> int:
    """Let the running gateway read its configuration file again. One with mistakes is refused, and the last good one stays."""
    return perform(target, Reload(), as_json, only_running=True)
