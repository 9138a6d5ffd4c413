"""Agents with a recurring timer, a schedule and deferred mail, in a process that kills itself at a point.

`main(url, file, point, count)` has them live through some days, and dies at the COUNT-th time that it comes to POINT
(see forks). With "nowhere" it lives, and leaves in FILE how often it came where.
"""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import Field

from gatechart import AgentContext, Runtime, State, StateTransitionGraph, Transition
from gatechart.testing import VirtualClock
from tests.crash.fault_points import FaultPoints

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
DAYS = (1, 2, 3)
MOMENTS = tuple(NOON + timedelta(days=day) for day in DAYS)


class Diary(AgentContext):
    notes: list[str] = Field(default_factory=list)


def note(context, event):
    context.notes.append(event.payload.get("text") or event.payload.get("due") or event.name)


daily = StateTransitionGraph(
    "daily", context=Diary, states=[State("WAITING", every={"1d": note})], entry_points=["WAITING"]
)
talk = StateTransitionGraph(
    "talk",
    context=Diary,
    states=[State("THINKING", defer="ASKED"), "IDLE"],
    transitions=[
        Transition("IDLE", "ASKED", "THINKING", actions=note),
        Transition("THINKING", "ANSWERED", "IDLE", actions=note),
    ],
    entry_points=["THINKING"],
)
report = StateTransitionGraph("report", states=[State("SENT", final=True)], entry_points=["SENT"])
GRAPHS = [daily, talk, report]


async def live(url):
    """Has each come as far as it can; what was done before is not done again. The clock begins anew."""
    clock = VirtualClock(NOON)
    async with Runtime.open(url, graphs=GRAPHS, clock=clock) as runtime:
        await runtime.start_or_resume("daily", at="WAITING", agent_id="daily")
        await runtime.start_or_resume("talk", at="THINKING", agent_id="talk")
        await runtime.schedule("nightly", "report", at="SENT", every="1d", overlap="start", missed="each")
        for day, moment in zip(DAYS, MOMENTS, strict=True):
            clock.at = moment
            await _talk(runtime, day)
            await _until(runtime, day)
        for number in range(len(DAYS)):
            await runtime.send("talk", "ANSWERED", event_id=f"last-{number}")
        await _settled(runtime)


async def _talk(runtime, day):
    """One question is sent and one is posted, both to be deferred; an answer then brings the oldest of all."""
    await runtime.send("talk", "ASKED", {"text": f"{day}a"}, event_id=f"{day}a")
    await runtime.post("talk", "ASKED", {"text": f"{day}b"}, event_id=f"{day}b")
    await runtime.send("talk", "ANSWERED", event_id=f"answer-{day}")


async def _until(runtime, day):
    async with asyncio.timeout(60):
        while len((await runtime.resume("daily")).context.notes) < day:  # noqa: ASYNC110  the store tells nobody
            await asyncio.sleep(0.001)
        while len((await runtime.schedules())[0].started) < day:  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def _settled(runtime):
    async with asyncio.timeout(60):
        while await runtime.mail("talk"):  # noqa: ASYNC110
            await asyncio.sleep(0.001)


def main(url, file, point, count):
    points = FaultPoints(point, int(count))
    points.install()
    asyncio.run(live(url))
    Path(file).write_text(json.dumps(points.passed))
