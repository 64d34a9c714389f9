"""Has the file changed (K01), without reading, waiting or a clock."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from engine.config.reload import changed, needs_restart, stamp
from tests.config.making import load, with_value


def test_a_file_that_stays_as_it_is_has_not_changed(tmp_path: Path):
    path = tmp_path / "c"
    path.write_text("a")
    assert changed(path, stamp(path)) is None


def test_a_new_content_is_seen_once(tmp_path: Path):
    path = tmp_path / "c"
    path.write_text("a")
    first = stamp(path)
    path.write_text("ab")
    second = changed(path, first)
    assert second is not None
    assert second != first
    assert changed(path, second) is None


def test_a_file_put_in_its_place_is_seen_even_with_the_same_size_and_time(tmp_path: Path):
    path, other = tmp_path / "c", tmp_path / "d"
    path.write_text("a")
    other.write_text("b")
    for file in (path, other):
        os.utime(file, ns=(1, 1))
    first = stamp(path)
    other.replace(path)
    assert changed(path, first) is not None


def test_a_link_that_points_elsewhere_is_seen(tmp_path: Path):
    # A ConfigMap is mounted that way.
    for name in ("v1", "v2"):
        (tmp_path / name).write_text("same")
    link = tmp_path / "c"
    link.symlink_to(tmp_path / "v1")
    first = stamp(link)
    link.unlink()
    link.symlink_to(tmp_path / "v2")
    assert changed(link, first) is not None


def test_a_file_that_is_gone_is_no_change_and_its_return_is_one(tmp_path: Path):
    path = tmp_path / "c"
    path.write_text("a")
    first = stamp(path)
    path.unlink()
    assert stamp(path) is None
    assert changed(path, first) is None
    path.write_text("ab")
    assert changed(path, first) is not None


def test_a_file_that_appears_is_a_change(tmp_path: Path):
    path = tmp_path / "c"
    assert changed(path, None) is None
    path.write_text("a")
    assert changed(path, None) == stamp(path)


def test_what_was_bound_or_opened_needs_a_new_start():
    before = load().settings
    config = with_value("::1", "gateway", "host")
    config |= {"log": {"file": "/x"}, "gateway": {"host": "::1", "port": 1, "token": "env:T"}}
    assert needs_restart(before, load(config).settings) == ("gateway.host", "gateway.port", "log.file")


def test_the_rules_never_need_a_new_start():
    # K03
    before = load().settings
    after = load(with_value(1, "auth", "cooldowns", "billingBackoffHours")).settings
    assert after.cooldowns != before.cooldowns
    assert needs_restart(before, replace(after, generation=2)) == ()
