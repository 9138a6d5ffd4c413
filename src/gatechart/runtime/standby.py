"""The work of a standby for the owner of a database: give signs of life, and watch the hosts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from gatechart.alerts.sinks import Alerts
from gatechart.errors.root import GatechartError
from gatechart.ports import SignsOfLife, Store
from gatechart.stores.opening import open_signs_of_life
from gatechart.tasks import start_task
from gatechart.values.alerts import AlertMessage
from gatechart.values.findings import HealthFinding
from gatechart.values.homes import Role
from gatechart.watchdog.home import Watchdog
from gatechart.watchdog.rules import found_hosts
from gatechart.watchdog.signs_of_life import Heart

logger = logging.getLogger(__name__)


@asynccontextmanager
async def standing_by(
    store: str | Store, role: Role, heart: Heart, watchdog: Watchdog | None, alerts: Alerts
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Give signs of life as a standby, and watch the other hosts, until the yielded function is awaited.

    Any other role does nothing.
    """
    if role is not Role.STANDBY or not isinstance(store, str):
        yield _nothing
        return
    standby = start_task(_stand_by(store, heart, watchdog, alerts))

    async def relieved() -> None:
        standby.cancel()
        await asyncio.wait((standby,))

    try:
        yield relieved
    finally:
        await relieved()


async def _nothing() -> None:
    """Do nothing."""


async def _stand_by(url: str, heart: Heart, watchdog: Watchdog | None, alerts: Alerts) -> None:
    while True:
        try:
            async with open_signs_of_life(url) as signs, asyncio.TaskGroup() as group:
                group.create_task(heart.beat_on(signs, Role.STANDBY))
                if watchdog is not None:
                    group.create_task(_watch(signs, watchdog, alerts))
        except* GatechartError:
            logger.debug("a standby cannot reach the database; retrying", exc_info=True)
        await asyncio.sleep(heart.beat_s)


async def _watch(signs: SignsOfLife, watchdog: Watchdog, alerts: Alerts) -> None:
    """Watch the hosts, and report each host without a sign of life once.

    A standby cannot write, so it alerts the sinks directly: the owner, who could write, may be the silent host.
    """
    reported: set[str] = set()
    while True:
        findings = list(found_hosts(await signs.hosts(), watchdog.terms, datetime.now(UTC)))
        for finding in findings:
            if finding.key not in reported:
                logger.warning("a standby found that %s", finding.text, extra=finding.document())
                await _alert(finding, watchdog, alerts)
        reported = {finding.key for finding in findings}
        await asyncio.sleep(watchdog.every_s)


async def _alert(finding: HealthFinding, watchdog: Watchdog, alerts: Alerts) -> None:
    at = datetime.now(UTC)
    alert = AlertMessage(
        f"standby:{finding.key}", finding.kind.value, finding.text, at, finding.severity, details=finding.document()
    )
    for name in watchdog.sinks:
        sink = alerts.sink(name)
        if sink is not None:
            try:
                await sink.deliver(alert)
            except Exception:  # any exception of a sink
                logger.warning("a standby could not alert sink %s", name, exc_info=True)
