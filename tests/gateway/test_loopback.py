"""Which hosts the gateway may listen on without a token."""

from __future__ import annotations

import pytest

from engine.domain.loopback import is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost", "LOCALHOST", "localhost.", "::ffff:127.0.0.1"])
def test_only_this_machine_reaches_loopback(host: str):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.1", "box.test", "::ffff:10.0.0.1", "localhost.test", "box.localhost", "*"])
def test_others_reach_the_rest(host: str):
    assert not is_loopback(host)
