"""The two variables that change the rules: strict, clamped, and a malformed one is named (K04, A16, `attempt.retry-after`)."""

from __future__ import annotations

import pytest

from engine.config.environment import read_environment
from tests.config.making import load

SKIP, WAIT = "OPENCLAW_FALLBACK_SKIP_TTL_MS", "OPENCLAW_SDK_RETRY_MAX_WAIT_SECONDS"


@pytest.mark.parametrize(
    ("text", "ttl_ms"),
    [
        ("0", None),
        ("000", None),
        ("1", 1_000),
        ("500", 1_000),
        ("60000", 60_000),
        ("060000", 60_000),
        ("600001", 600_000),
        ("9999999", 600_000),
        ("9" * 5000, 600_000),
    ],
)
def test_a_whole_number_of_milliseconds_is_clamped_and_zero_is_off(text: str, ttl_ms: int | None):
    read = read_environment({SKIP: text})
    assert read.skip_ttl_ms == ttl_ms
    assert read.warnings == ()


@pytest.mark.parametrize("text", ["1000ms", "-5", "", "1e3", "+5", " 60000", "60000\n", "1.0", "0x10", "٣٠٠٠", "1_000", "true"])
def test_a_malformed_skip_time_is_off_with_one_warning_that_names_the_variable(text: str):
    read = read_environment({SKIP: text})
    assert read.skip_ttl_ms is None
    assert len(read.warnings) == 1
    assert read.warnings[0].startswith(SKIP)


@pytest.mark.parametrize(("text", "wait_ms"), [("5", 5_000), ("0.5", 500), (".25", 250), ("120.", 120_000), ("0.0001", 1)])
def test_a_positive_decimal_is_the_cap(text: str, wait_ms: int):
    assert read_environment({WAIT: text}).retry_max_wait_ms == wait_ms


@pytest.mark.parametrize("text", ["0", "false", "off", "none", "disabled", "OFF", " off "])
def test_some_words_remove_the_cap(text: str):
    read = read_environment({WAIT: text})
    assert read.retry_max_wait_ms is None
    assert read.warnings == ()


@pytest.mark.parametrize("text", ["soon", "", "-1", "1e3", "5s", "nan", "inf", "Infinity", "0.0", "٥", "true"])
def test_anything_else_means_sixty_seconds_with_a_warning(text: str):
    read = read_environment({WAIT: text})
    assert read.retry_max_wait_ms == 60_000
    assert len(read.warnings) == 1
    assert read.warnings[0].startswith(WAIT)


def test_a_number_beyond_all_measure_is_still_a_number():
    assert read_environment({WAIT: "9" * 400}).retry_max_wait_ms == 366 * 86_400_000


def test_absent_means_the_defaults():
    read = read_environment({})
    assert (read.skip_ttl_ms, read.retry_max_wait_ms, read.warnings) == (None, 60_000, ())


def test_the_settings_carry_them():
    loaded = load(OPENCLAW_FALLBACK_SKIP_TTL_MS="60000", OPENCLAW_SDK_RETRY_MAX_WAIT_SECONDS="soon")
    assert (loaded.settings.skip_ttl_ms, loaded.settings.retry_max_wait_ms) == (60_000, 60_000)
    assert loaded.warnings[0].startswith(WAIT)
