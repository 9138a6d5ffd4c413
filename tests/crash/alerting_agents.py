"""An agent that alerts a sink by the effects of its turns, in a process that kills itself at a point.

`main(url, file, point, count)` has it alert to its end, and dies at the COUNT-th time that it comes to POINT (see
fault_points). What the sink got is in a file beside FILE, in the order got; it takes nothing at the first attempt.
"""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

from gatechart import Runtime, State, StateTransitionGraph
from gatechart.alerts import Alerts
from gatechart.alerts.graph import SinkContext
from gatechart.hosting.own_agents import own_agents_of
from gatechart.turn.alerts import alert_payload, sink_agent
from gatechart.values.alerts import ALERT, AlertMessage
from tests.crash.fault_points import FaultPoints

IDS = ("a-1", "a-2", "a-3")
idle = StateTransitionGraph("idle", states=[State("HERE")], entry_points=["HERE"])


class Sink:
    """Writes down what it gets; the first attempt at each alert fails, in every process."""

    def __init__(self, folder):
        self.folder = folder
        self.tried = set()

    async def deliver(self, alert):
        if alert.id not in self.tried:
            self.tried.add(alert.id)
            raise ConnectionError("nobody at home")
        with (self.folder / "got").open("a") as file:
            file.write(f"{alert.id}\n")


async def live(url, folder):
    alerts = Alerts({"ops": Sink(folder)}, first_wait="10ms")
    async with Runtime.open(url, graphs=[idle], alerts=alerts) as runtime:
        for each in IDS:
            alert = AlertMessage(each, "stuck", "it stands still", datetime(2030, 1, 1, tzinfo=UTC))
            await own_agents_of(runtime).post(sink_agent("ops"), ALERT, alert_payload(alert), event_id=each)
        async with asyncio.timeout(60):
            while (await kept(runtime)).delivered < len(IDS):  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def kept(runtime):
    return SinkContext.model_validate((await runtime.read(sink_agent("ops"))).context)


def main(url, file, point, count):
    points = FaultPoints(point, int(count))
    points.install()
    asyncio.run(live(url, Path(file).parent))
    Path(file).write_text(json.dumps(points.passed))
