"""Why: the cause first in plain words, then the records; turns in which nothing happened are one line together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from console.view import cause, rules, why
from console.view.frame import Frame
from console.view.lines import plain
from console.view.look import Look
from engine.domain.snapshot import Preview
from tests.console.fake import DECISIONS, NOW, SESSIONS, SNAPSHOT, preview, session
from tests.console.screenplay import on_stage
from tests.spec import table

FRAME = Frame(SNAPSHOT, NOW, Look(utc=True))
FALLEN = SESSIONS[0]
MINUTE = 60_000


def record(turn: str, at: int, decision: str, ref: str = "openai/gpt-5.5", **fields: object) -> dict[str, object]:
    provider, _, model = ref.partition("/")
    named: dict[str, object] = {} if decision == "turn_finished" else {"candidateProvider": provider, "candidateModel": model}
    return {
        "turn": turn,
        "session": "support-bot",
        "at": at,
        "decision": decision,
        "requestedProvider": provider,
        "requestedModel": model,
        **named,
        **fields,
    }


def plain_turn(turn: str, at: int) -> list[dict[str, object]]:
    """Newest first, as the engine gives records."""
    answered = record(turn, at - 10, "candidate_succeeded", rule="gate.open", attempt=1, total=3, profile="openai:work")
    return [record(turn, at, "turn_finished", outcome="ok", upstreamCalls=1), answered]


def told(found: Sequence[Mapping[str, object]] | None, view: object = FALLEN, ahead: Preview | None = None) -> str:
    return "\n".join(plain(line) for line in cause.draw(view, found, FRAME, ahead))  # type: ignore[arg-type]


def test_why_leads_with_the_cause_and_what_comes_next():
    text = told(DECISIONS, ahead=preview(FALLEN))
    for words in (
        "support-bot runs on openai/gpt-5.5 instead of anthropic/claude-opus-4-8 since 14:00:43 (1m ago)",
        "because anthropic/claude-opus-4-8 with anthropic:me failed with 429 rate_limit in turn t-81e0 at 14:00:43",
        "40,000 input tokens",
        "anthropic:me is cooldown until 14:03:12 (00:41 left)",
        "Next turn: openai/gpt-5.5 with openai:work",
        "Its own model is tried again with the first turn in 03:12 or later",
    ):
        assert words in text


def test_the_cause_is_the_turn_that_led_there_and_not_the_latest_one_that_failed():
    later = [
        record("t-late", NOW - 5_000, "turn_finished", outcome="ok"),
        record("t-late", NOW - 6_000, "candidate_succeeded", rule="gate.open", attempt=2, total=3),
        record(
            "t-late", NOW - 7_000, "candidate_failed", "anthropic/claude-opus-4-8", rule="override.probe", reason="overloaded", attempt=1
        ),
    ]
    text = told([*later, *DECISIONS])
    assert "turn t-81e0" in text
    assert "overloaded" not in text


def test_a_turn_that_ended_before_the_fallback_began_is_not_its_cause():
    """The records on the screen may be older than the row."""
    view = replace(FALLEN, since=NOW - 20_000)
    text = told(DECISIONS, view)
    assert "t-81e0" not in text
    assert "rate_limit. The turn that led there has not ended yet, or its records have not come." in text


async def test_the_records_of_an_open_why_come_anew_when_the_session_has_moved_on():
    async with on_stage(keys=("j", "j", "e")) as stage:
        assert stage.text().count("turn t-81e0") == 2
        stage.operations.decided = [*plain_turn("t-new", NOW), *DECISIONS]
        await stage.news()
        assert "turn t-new" not in stage.text()
        stage.operations.change_session("support-bot", in_flight=())
        await stage.news()
        assert "1 turn ok" in stage.text()


def test_a_cause_that_is_not_kept_is_said_to_be_not_kept_and_none_is_made_up():
    text = told(plain_turn("t-1", NOW))
    assert "rate_limit. The turn that led there is not kept." in text


def test_a_session_that_its_turn_in_flight_has_just_moved_says_that_nothing_has_answered_yet():
    view = replace(FALLEN, since=None, reason=None)
    assert "its turn in flight has just been moved there, and has not been answered yet" in told(DECISIONS, view)
    assert "not recorded" not in told(DECISIONS, view)


def test_while_the_records_are_asked_for_nothing_is_said_about_a_cause():
    assert "because" not in told(None)
    assert "not kept" not in told(None)


def test_a_failed_turn_is_told_with_its_failure():
    failed = [
        record("t-9", NOW - 1_000, "turn_finished", outcome="failed"),
        record(
            "t-9",
            NOW - 2_000,
            "candidate_failed",
            rule="gate.open",
            status=503,
            reason="timeout",
            error="upstream gone",
            profile="openai:work",
        ),
    ]
    text = told(failed, session("night-batch", last_outcome="failed"))
    assert "The last turn of night-batch failed: openai/gpt-5.5 with openai:work failed with 503 timeout" in text
    assert '"upstream gone"' in text


def test_without_a_fallback_the_sentence_says_why_this_model():
    view = session("main")
    assert "main runs on anthropic/claude-opus-4-8: nothing was chosen for this session" in told((), view, preview(view))


def test_when_nothing_can_be_tried_the_next_turn_says_until_when():
    ahead = replace(preview(FALLEN), next_ref=None)
    assert "every candidate would be skipped; the first is free again at 14:03:12 (00:41 left)" in told(DECISIONS, ahead=ahead)


def test_turns_in_which_nothing_happened_are_one_line():
    quiet = [one for n in range(12) for one in plain_turn(f"t-{n}", NOW - n * MINUTE)]
    lines = [plain(line) for line in why.draw([*quiet, *DECISIONS], FRAME)]
    assert lines[0] == "12 turns ok  13:51:31 to 14:02:31  openai/gpt-5.5  openai:work  at the first attempt"
    assert any(line.startswith("turn t-81e0") and "started from anthropic/claude-opus-4-8" in line for line in lines)


def test_an_eventful_turn_between_quiet_ones_keeps_its_place():
    lines = [plain(line) for line in why.draw([*plain_turn("t-2", NOW), *DECISIONS, *plain_turn("t-1", NOW - 10 * MINUTE)], FRAME)]
    heads = [line for line in lines if line.startswith(("1 turn ok", "turn t-81e0"))]
    assert [line.split("  ")[0] for line in heads] == ["1 turn ok", "turn t-81e0", "1 turn ok"]


def test_a_rule_stands_with_its_meaning():
    text = "\n".join(plain(line) for line in why.draw(DECISIONS, FRAME))
    assert f"rule gate.open: {rules.meaning('gate.open')}" in text


def test_every_rule_that_the_engine_can_name_has_a_meaning_and_no_other_has():
    decisions = {slug.slug for slug in table.slugs() if slug.kind == "decision"}
    assert decisions - set(rules.MEANINGS) == set()
    assert set(rules.MEANINGS) - {slug.slug for slug in table.slugs()} == set()
    assert all(len(sentence) < 110 and not sentence.endswith(".") for sentence in rules.MEANINGS.values())
