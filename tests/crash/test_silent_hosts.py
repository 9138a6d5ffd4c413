"""A host that is killed leaves its last sign of life, by which a reader and the standby that takes over find it."""

import asyncio

from gatechart import Limits, Runtime
from gatechart.watchdog import Watchdog, WatchdogTerms
from tests.crash.silent_hosts import idle

QUICK = Watchdog("1m", terms=WatchdogTerms(silent_s=0.3, learns=False))


async def test_the_silence_of_a_killed_host_is_found_by_whoever_takes_over(forks, crash_url, tmp_path):
    named = tmp_path / "pid"
    with forks.begin("silent_hosts", crash_url, named) as process:
        async with asyncio.timeout(30):
            while not (named.exists() and named.read_text()):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        process.kill()
        process.wait()
    killed = int(named.read_text())
    given = {"graphs": [idle], "watchdog": QUICK, "limits": Limits(beat_s=0.05)}
    async with Runtime.open(crash_url, role="standby", **given) as runtime:
        async with asyncio.timeout(30):
            while not (silent := await silence_of(killed, runtime)):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            while not any(each.id != silent.subject for each in await runtime.hosts()):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    async with Runtime.open(crash_url, role="reader", **given) as reader:
        assert [each.id for each in await reader.hosts()] == [silent.subject]  # the other one left as it should
        assert [each.key for each in await reader.findings()] == [f"silent:{silent.subject}"]


async def silence_of(pid, home):
    """What was found of the host with this process, or None. A busy host that looks may be silent, too."""
    found = await home.findings(about="silent")
    return next((each for each in found if each.evidence["pid"] == pid), None)
