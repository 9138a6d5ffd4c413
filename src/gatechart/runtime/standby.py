"""What a process does while it stands by for the owner of a database: it gives signs of life, and watches the hosts."""

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
    """Give signs of life as a standby, and look at the other hosts, until the function that it yields is awaited.

    In any other role nothing happens.
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
            logger.debug("a standby cannot reach the database; it tries again", exc_info=True)
        await asyncio.sleep(heart.beat_s)


async def _watch(signs: SignsOfLife, watchdog: Watchdog, alerts: Alerts) -> None:
    """Look at the hosts again and again, and tell of those that give no sign of life, each once.

    A standby cannot write, so the sinks are told directly: the owner, who could, may be who is silent.
    """
    told: set[str] = set()
    while True:
        found = list(found_hosts(await signs.hosts(), watchdog.terms, datetime.now(UTC)))
        for each in found:
            if each.key not in told:
                logger.warning("a standby found that %s", each.text, extra=each.document())
                await _alert(each, watchdog, alerts)
        told = {each.key for each in found}
        await asyncio.sleep(watchdog.every_s)


async def _alert(found: HealthFinding, watchdog: Watchdog, alerts: Alerts) -> None:
    at = datetime.now(UTC)
    alert = AlertMessage(
        f"standby:{found.key}", found.kind.value, found.text, at, found.severity, details=found.document()
    )
    for name in watchdog.sinks:
        sink = alerts.sink(name)
        if sink is not None:
            try:
                await sink.deliver(alert)
            except Exception:  # of a sink, whatever it is
                logger.warning("a standby could not tell sink %s", name, exc_info=True)
