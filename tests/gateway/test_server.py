"""Sockets before anything else: what is refused, and with which words (StartError)."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from engine.domain.errors import StartError
from engine.domain.settings import GatewaySettings
from engine.gateway.server import bind


def bound(token: str | None = None, **gateway: Any) -> list[socket.socket]:
    return bind(GatewaySettings(**{"port": 0, **gateway}), token)


def close(sockets: list[socket.socket]) -> None:
    for one in sockets:
        one.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.2"])
def test_loopback_needs_no_token(host: str):
    close(bound(host=host))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "gateway.example"])
@pytest.mark.parametrize("token", [None, ""])
def test_another_address_without_a_token_is_refused(host: str, token: str | None):
    """L04"""
    with pytest.raises(StartError, match="needs a token") as refused:
        bound(token, host=host)
    assert "gateway.token" in refused.value.next_step


def test_another_address_with_a_token_is_bound():
    close(bound("t0ken", host="0.0.0.0"))


def test_a_port_in_use_is_named():
    first = bound()
    port = first[0].getsockname()[1]
    with pytest.raises(StartError, match=f"port {port} is in use") as refused:
        bound(port=port)
    assert "gateway.port" in refused.value.next_step
    close(first)


def test_a_port_that_is_not_permitted_is_named(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(StartError, match="port 80 is not permitted"):
        bound(port=80)


@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid"])
def test_an_address_that_is_not_ours_is_named(host: str):
    with pytest.raises(StartError, match="cannot listen"):
        bound("t0ken", host=host)


def test_localhost_is_one_port_on_every_stack():
    sockets = bound(host="localhost")
    assert len({one.getsockname()[1] for one in sockets}) == 1
    close(sockets)
