"""An agent whose invoke waits in all ways that there are, in a process that kills itself at a point.

`main(url, file, point, count)` has it live to its end, and dies at the COUNT-th time that it comes to POINT (see
forks). With "nowhere" it lives, and leaves in FILE how often it came where. The time, and what is tried when, are in
files beside that.
"""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gatechart import Runtime, State, StateTransitionGraph, Step, Transition
from gatechart.graph.definition import Invoke
from gatechart.testing import VirtualClock
from gatechart.values.delays import Retry
from tests.crash.fault_points import FaultPoints

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
HOURLY = Retry(attempts=4, first_s=3600, factor=1, most_s=3600)
TRIES = [("label", 2), ("label", 3), ("label", 4), ("parcel", 4), ("parcel", 5)]
"""What is tried, and how many hours after noon. The first two labels fail, and the first parcel."""


class Services:
    """Whose tools fail until a moment."""

    def __init__(self, folder, clock):
        self.tries = folder / "tries"
        self._clock = clock

    def print_label(self):
        self._try("label", NOON + 4 * HOUR)

    def ship(self):
        self._try("parcel", NOON + 5 * HOUR)

    def _try(self, name, works_from):
        now = self._clock.now()
        with self.tries.open("a") as file:
            file.write(f"{name} {(now - NOON) // HOUR}\n")
        if now < works_from:
            raise ConnectionError("not yet")


async def ship(context, work):
    await work.sleep("cooling", "2h")
    await work.step(Step("label", retry=HOURLY), work.services.print_label)
    work.services.ship()


shipping = StateTransitionGraph(
    "shipping",
    states=[State("SHIPPING", invoke=Invoke(ship, timeout_s=60, retry=HOURLY)), "SHIPPED"],
    transitions=[Transition("SHIPPING", "done.invoke.ship", "SHIPPED")],
    entry_points=["SHIPPING"],
)


class KeptClock(VirtualClock):
    """A virtual clock that goes on where it was when its process was killed."""

    def __init__(self, folder):
        self._file = folder / "now"
        super().__init__(datetime.fromisoformat(self._file.read_text()) if self._file.exists() else NOON)

    def advance_to(self, moment):
        self._file.write_text(moment.isoformat())
        self.at = moment


async def live(url, folder):
    """Has the agent come to its end; the time goes on as soon as there is nothing but waits."""
    clock = KeptClock(folder)
    async with Runtime.open(url, graphs=[shipping], services=Services(folder, clock), clock=clock) as runtime:
        agent = await runtime.start_or_resume("shipping", at="SHIPPING", agent_id="s-1")
        async with asyncio.timeout(60):
            while agent.configuration != ("SHIPPED",):
                await asyncio.sleep(0.001)
                if clock.next_due is not None and clock.next_due >= clock.now() + HOUR:
                    clock.advance_to(clock.next_due)


def main(url, file, point, count):
    points = FaultPoints(point, int(count))
    points.install()
    asyncio.run(live(url, Path(file).parent))
    Path(file).write_text(json.dumps(points.passed))
