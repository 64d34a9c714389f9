"""Two gateways, two processes, one state directory (`serve --shared`): what one learns the other honours, and `kill -9` of one harms
neither the state nor the other."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

from tests.end_to_end.serving import Serving, serving, two_providers
from tests.end_to_end.test_kill import until
from tests.end_to_end.test_sdk import ask
from tests.fakes.provider import FakeProvider, error, ok


async def another(gateway: Serving, *options: str) -> Serving:
    """One more process on the same directory."""
    made = Serving(gateway.folder, gateway.config, gateway.environ)
    await made.start(*options)
    return made


async def test_two_gateways_share_a_directory_and_outlive_each_other(tmp_path: Path, acme: FakeProvider, zeta: FakeProvider) -> None:
    acme.on("*", error(429, "slow down, rate limit reached"))
    zeta.on("*", ok("from zeta"))
    async with serving(tmp_path, two_providers(acme, zeta)) as alone:
        refused = await alone.run("serve", "--port", "0")
        assert (refused.status, alone.url in refused.err, "--shared" in refused.err) == (1, True, True)
        await alone.stop()
        await alone.start("--shared")
        first, second = alone, await another(alone, "--shared")
        try:
            assert first.url != second.url
            assert (await second.run("status", "--json")).json["url"] == first.url
            _, headers = await ask(first.url, "auto", "desk")
            assert headers["x-failover-served"] == "zeta/std"
            await asyncio.sleep(0.35)  # "noticed within 250 ms": there is no event for it, in another process
            _, headers = await ask(second.url, "auto", "another desk")
            assert headers["x-failover-served"] == "zeta/std"
            assert len(acme.calls) == 1  # the window of the first, honoured by the second
            _, headers = await ask(second.url, "auto", "desk")
            assert "x-failover-notice" not in headers  # the session's fallback, too, was told already

            await first.stop(signal.SIGKILL)
            _, headers = await ask(second.url, "auto", "desk")
            assert headers["x-failover-served"] == "zeta/std"
            file = second.state / "gateway.json"
            await until(lambda: file.exists() and second.url in file.read_text())
            assert (await second.run("status", "--json")).json["url"] == second.url
            assert (await second.run("pin", "desk", "zeta:k1")).status == 0

            await first.start("--shared")
            await second.stop(signal.SIGKILL)
            _, headers = await ask(first.url, "auto", "desk")
            assert (headers["x-failover-served"], len(acme.calls)) == ("zeta/std", 1)
            await until(lambda: file.exists() and first.url in file.read_text())
            assert (await first.run("doctor")).status == 0
            assert await first.stop() == 0
            assert not file.exists()
        finally:
            for one in (first, second):
                if one.process is not None:
                    await one.stop(signal.SIGKILL)
