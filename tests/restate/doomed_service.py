"""A service of agents that loop, in a process that kills itself at a point.

`main(port, ingress, file, point, count)` serves at the port, for the engine with this ingress, and dies at the
COUNT-th time that it comes to POINT (see journal_points). With "nowhere" it lives until it is told to end, and leaves
in FILE how often it came where. What the agents' model and tools did is in files beside that.
"""

import asyncio
import json
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

from gatechart import ToolBox
from gatechart.alerts import Alerts
from gatechart.restate import Terms, serving
from gatechart.testing.scripted_model import scripted_model
from tests.crash import choosing_agents, noticing_agents, talking_agents
from tests.crash.escaping_agents import WAYS_OUT, Shop, Sink, desk, graph_of
from tests.crash.fault_points import FaultPoints
from tests.crash.undoing_agents import bank
from tests.restate import handing_agents
from tests.restate.journal_points import install

ESCAPING = {f"escaping_{name.replace(' ', '_')}": way for name, way in WAYS_OUT.items()}

GRAPHS = {
    "talking": talking_agents.talking(),
    "choosing": choosing_agents.choosing,
    "noticing": noticing_agents.noticing,
    "handing": handing_agents.handing,
    **{name: graph_of(way, name) for name, way in ESCAPING.items()},
}
PROJECTED = ("first", "handing", "escaping")
"""Beginnings of the names of folders with a projection; the engine learns in the first that there is one."""


class Services:
    """What all graphs need."""

    def __init__(self, folder, url, points):
        talk = talking_agents.services(folder, url)
        self.model, self.tools = talk.model, ToolBox([*talk.tools, noticing_agents.find])
        self.note = partial(noticing_agents.note, folder)
        self.pass_by = points.pass_by


async def serve(port, ingress, folder, points):
    async with scripted_model(talking_agents.script(folder)) as server, AsyncExitStack() as stack:
        graphs = [*GRAPHS.values(), *handing_agents.helpers, desk]
        given = {"graphs": graphs, "services": Services(folder, server.url, points), "terms": Terms(idle_s=5)}
        if folder.name.startswith(PROJECTED):
            given["projection"] = handing_agents.projection_in(folder)
        if folder.name.startswith(tuple(ESCAPING)):
            way = ESCAPING[folder.name.partition(" ")[0]]
            given["services"] = Shop(folder, stack.enter_context(bank(folder)))
            given |= {"ingress": ingress, "alerts": Alerts({"ops": Sink(folder)}), "watchdog": way.watchdog}
        handing_agents.Place.folder = folder
        async with serving(f"127.0.0.1:{port}", **given, stops_on_sigterm=True, grace_s=0.1) as stop:
            await stop.wait()


def main(port, ingress, file, point, count):
    points = FaultPoints(point, int(count))
    install(points)
    asyncio.run(serve(port, ingress, Path(file).parent, points))
    Path(file).write_text(json.dumps(points.passed))
