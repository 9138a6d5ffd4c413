"""Agents that use everything a runtime offers, what is asked of them, and what they leave behind for the checks.

A journal, a file of lines to which is only ever added, tells what cannot be read from the database: what was tried and
acknowledged, and which steps ran and were recorded, in the order in which it happened.
"""

import asyncio
import os
import random
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pydantic import Field
from sqlalchemy import text

from gatechart import ANY, AgentContext, Runtime, State, StateTransitionGraph, Step, Transition
from gatechart.errors import ActionFailedError, UnknownAgentError
from gatechart.graph.definition import Invoke
from gatechart.hosting.limits import Limits
from gatechart.values.delays import Retry
from tests.crash.havoc import until_done
from tests.insides import store_of

NOBODY = "nobody-yet"  # an agent that is never started
FAR_S = 3600.0  # timers that nobody lives to see
LIMITS = Limits(mail_retry=Retry(attempts=2, first_s=0.01, factor=1.0), timers=8, resident=4, invokes=8)
WORK = text("""
SELECT 1 FROM invokes
UNION ALL
SELECT 1 FROM mail JOIN agents ON agents.id = mail.recipient  -- other mail waits for an agent that is yet to start
WHERE mail.status = 'waiting' AND (mail.due_us IS NULL OR mail.due_us < :soon_us)
LIMIT 1
""")
EVENTS = ("NOTED", "FORWARDED", "SET", "UNSET", "RESTED", "WORKED", "LEFT", "FLAKY", "FAILING", "NONSENSE")


class Crew(AgentContext):
    seen: list[str] = Field(default_factory=list)  # marks of what was applied
    told: dict[str, list[int]] = Field(default_factory=dict)  # what came from each agent, by its sender's count
    sent: dict[str, int] = Field(default_factory=dict)  # how much went to each
    job: str = ""
    reports: int = 0


class Journal:
    """Lines that outlive the process as soon as they are written."""

    def __init__(self, path):
        self.path = Path(path)
        self.flaky = set()  # marks that have failed in this process
        self._file = None

    def write(self, word, mark):
        if self._file is None:
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(self._file, f"{word} {mark}\n".encode())

    @property
    def size(self):
        return self.path.stat().st_size if self.path.exists() else 0

    def lines(self):
        if not self.path.exists():
            return []
        return [tuple(line.split(" ", 1)) for line in self.path.read_text().splitlines()]

    def marks(self, word):
        return {mark for other, mark in self.lines() if other == word}


def note(context, event):
    context.seen.append(event.payload["mark"])


def forward(context, event, turn):
    note(context, event)
    for to in event.payload["to"]:
        context.sent[to] = context.sent.get(to, 0) + 1
        turn.send(to, "TOLD", {"n": context.sent[to]})


def hear(context, event):
    context.told.setdefault(event.sender, []).append(event.payload["n"])


def set_timer(context, event, turn):
    note(context, event)
    wanted = event.payload
    turn.after(wanted["delay_s"], "RANG", {"set_by": wanted["mark"], "key": wanted["key"]}, key=wanted["key"])


def unset_timer(context, event, turn):
    note(context, event)
    turn.cancel(event.payload["key"])


def ring(context, event):
    context.seen.append(f"rang {event.payload['set_by']}")


def take_job(context, event):
    note(context, event)
    context.job = event.payload["mark"]


def stumble(context, event, turn):
    note(context, event)
    if event.payload["mark"] not in turn.services.flaky:
        turn.services.flaky.add(event.payload["mark"])
        raise RuntimeError("it stumbles the first time in every life")


def fall(context, event):
    note(context, event)
    raise RuntimeError("it never works")


def count_report(context, event):
    context.reports += 1


async def labour(context, work):
    """Three steps, the second of which fails at first; each is written down when it runs and when it is recorded."""
    for name in ("first", "second", "third"):
        key = work.idempotency_key(name)

        async def do(name=name, key=key):
            work.services.write("ran", key)
            await asyncio.sleep(0.003)
            if name == "second" and key not in work.services.flaky:
                work.services.flaky.add(key)
                raise RuntimeError("the second step fails at first")
            return f"{context.job} {name}"

        retry = Retry(attempts=1_000, first_s=0.001, factor=1)  # each process fails once, and tries are counted on
        assert await work.step(Step(name, retry=retry), do) == f"{context.job} {name}"
        work.services.write("recorded", key)
        if name == "first":
            await work.progress({"job": context.job})
    return context.job


async def keep_watch(context, work):
    """Ends at once, while the state goes on."""
    return "all is well"


async def break_down(context, work):
    """Fails for good."""
    raise RuntimeError("it broke")


async def wait_on(context, work):
    """Waits for longer than its state lasts."""
    await asyncio.sleep(FAR_S)


crew = StateTransitionGraph(
    "crew",
    context=Crew,
    states=[
        "IDLE",
        State("RESTING", after={0.02: "IDLE"}, invoke=Invoke(wait_on)),
        State("WORKING", invoke=[Invoke(labour), Invoke(keep_watch), Invoke(break_down)]),
        State("HOME", final=True),
    ],
    transitions=[
        Transition("IDLE", "RESTED", "RESTING", actions=note),
        Transition("IDLE", "WORKED", "WORKING", actions=take_job),
        Transition("WORKING", "done.invoke.labour", "IDLE"),
        Transition("WORKING", "error.invoke.labour", "LOST"),
        Transition(ANY, "LEFT", "IDLE", actions=note),
        Transition(ANY, "progress.invoke.labour", actions=count_report),
        Transition(ANY, "done.invoke.keep_watch", actions=count_report),
        Transition(ANY, "error.invoke.break_down", actions=count_report),
        Transition(ANY, "NOTED", actions=note),
        Transition(ANY, "FORWARDED", actions=forward),
        Transition(ANY, "TOLD", actions=hear),
        Transition(ANY, "SET", actions=set_timer),
        Transition(ANY, "UNSET", actions=unset_timer),
        Transition(ANY, "RANG", actions=ring),
        Transition(ANY, "FLAKY", actions=stumble),
        Transition(ANY, "FAILING", actions=fall),
        Transition(ANY, "ENDED", "HOME", actions=note),
    ],
    entry_points=["IDLE"],
)


@dataclass(frozen=True)
class Errand:
    """One thing that is asked of an agent; its mark is unique."""

    agent_id: str
    event: str
    mark: str
    is_post: bool
    has_id: bool
    due_s: float | None = None
    more: dict = field(default_factory=dict)

    @property
    def payload(self):
        return {"mark": self.mark, **self.more}


def agents_of(count):
    return [f"agent-{n}" for n in range(count)]


def errands(seed, agents, count):
    """So many errands for each of so many agents; the same for the same seed. Every third agent ends."""
    chance = random.Random(seed)
    names = agents_of(agents)
    weights = [6, 4, 3, 1, 3, 6, 1, 1, 1, 1]
    for place, agent_id in enumerate(names):
        for n in range(count):
            event = "ENDED" if n == count - 2 and place % 3 == 2 else chance.choices(EVENTS, weights)[0]
            is_post = chance.random() < 0.7
            due_s = chance.choice([None, None, None, 0.0, 0.02]) if is_post else None
            yield Errand(
                agent_id, event, f"{agent_id}/{n}", is_post, chance.random() < 0.7, due_s, _more(chance, event, names)
            )


def _more(chance, event, names):
    if event == "FORWARDED":
        return {"to": chance.choices([*names, NOBODY], k=3)}
    if event in ("SET", "UNSET"):
        return {"key": chance.choice(["a", "b"]), "delay_s": chance.choice([0.0, 0.01, 0.03, FAR_S])}
    return {}


async def work_off(runtime, journal, wanted, bears=()):
    """Starts or resumes the agents and does what is asked of each, in order, but for what was acknowledged before.

    bears: errors upon which what has an id is asked again, and nobody knows what became of what has none.
    """
    by_agent = {}
    for errand in wanted:
        by_agent.setdefault(errand.agent_id, []).append(errand)
    tried, acknowledged = journal.marks("try"), journal.marks("ack")
    await asyncio.gather(
        *(
            _work_alone(runtime, journal, agent_id, _left(mine, tried, acknowledged), bears)
            for agent_id, mine in by_agent.items()
        )
    )


def _left(mine, tried, acknowledged):
    return [each for each in mine if each.mark not in acknowledged and (each.has_id or each.mark not in tried)]


async def _work_alone(runtime, journal, agent_id, todo, bears):
    if not todo:
        return
    agent = await until_done(lambda: _there(runtime, agent_id), bears)
    for errand in todo:
        try:
            is_accepted = await until_done(
                lambda errand=errand: _asked(runtime, journal, agent, errand), bears if errand.has_id else ()
            )
        except bears:
            continue
        if not is_accepted:
            journal.write("no", errand.mark)  # it had no effect; first, for it may die in between
        journal.write("ack", errand.mark)


async def _there(runtime, agent_id):
    """The agent, which is started unless it is there."""
    try:
        return await runtime.resume(agent_id)
    except UnknownAgentError:
        return await runtime.start("crew", at="IDLE", agent_id=agent_id)


async def _asked(runtime, journal, agent, errand):
    """Whether it was accepted."""
    journal.write("try", errand.mark)
    event_id = errand.mark if errand.has_id else None
    if errand.is_post:
        due = None if errand.due_s is None else datetime.now(UTC) + timedelta(seconds=errand.due_s)
        await runtime.post(agent.id, errand.event, errand.payload, event_id=event_id, due=due)
        return True
    try:
        return (await agent.send(errand.event, errand.payload, event_id=event_id)).applied
    except ActionFailedError:
        return False


async def settled(runtime, bears=(), most_s=60.0):
    """Returns when nothing is under way but what is due much later. Raises TimeoutError where that never comes."""
    async with asyncio.timeout(most_s):
        while await until_done(lambda: _has_work(runtime), bears):  # noqa: ASYNC110  the store tells nobody
            await asyncio.sleep(0.01)


async def _has_work(runtime):
    """Whether an agent has mail before it that is not due much later, or something under way, seen at one moment."""
    soon_us = time.time_ns() // 1000 + 60_000_000
    return await store_of(runtime).read(lambda connection: bool(connection.execute(WORK, {"soon_us": soon_us}).all()))


async def main(url, journal, wanted, limits=LIMITS, bears=()):
    """Lets the crew finish what it has begun, then does all that is asked of it, and waits until it has settled.

    bears: errors of the outside in spite of which it goes on, and begins again where it could not.
    """

    async def live():
        async with Runtime.open(url, graphs=[crew], services=journal, limits=limits) as runtime:
            await settled(runtime, bears)
            if wanted:
                await work_off(runtime, journal, wanted, bears)
                await settled(runtime, bears)

    await until_done(live, bears)
