"""Agents in all states that there are, begun in one home, and what they do in the next.

`python -m tests.restate.travellers URL` fills a database, which then has no owner.
"""

import asyncio
import json
from collections import Counter
from datetime import UTC, datetime, timedelta

from pydantic import Field

from gatechart import ANY, AgentContext, Invoke, Limits, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import UnknownAgentError
from gatechart.values.delays import Retry
from gatechart.values.homes import Role
from gatechart.values.mail import MailStatus
from tests.restate.engines import eventually
from tests.runtime.handovers import ALL, crowded, desk, first, second

SOON_S = 0.5
QUICK = Retry(attempts=2, first_s=0.01)


class Diary(AgentContext):
    notes: list[str] = Field(default_factory=list)


class Tools:
    """What invokes call, and how often they have."""

    def __init__(self):
        self.calls = Counter()
        self.is_up = False

    def call(self, name):
        self.calls[name] += 1
        return name

    async def wait(self, name):
        """Has no answer until it is up."""
        self.calls[name] += 1
        while not self.is_up:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        return name


def note(context, event):
    told = event.payload.get("result", event.payload.get("n", ""))
    context.notes.append(f"{event.name} {json.dumps(told)}")


def set_timers(context, event, turn):
    turn.after(timedelta(seconds=event.payload["soon"]), "RANG", {"n": "soon"}, key="soon")
    turn.after("100d", "RANG", {"n": "late"}, key="late")


def stumble(context, event):
    raise LookupError("it is not there")


async def look_up(context, work):
    found = await work.step("first", work.services.call, "first")
    return [found, await work.step("second", work.services.wait, "second")]


def travelling(version="1", migrations=()):
    """The graph of travellers, in a version."""
    return StateTransitionGraph(
        "traveller",
        version=version,
        migrations=migrations,
        context=Diary,
        states=[
            State("RESTING", after={"200d": "TIRED"}),
            State("READING", invoke=Invoke(look_up)),
            State("AWAY", after={f"{SOON_S}s": "BACK"}),
            State("STRANDED", final=True, failed=True),
        ],
        transitions=[
            Transition(ANY, "NOTED", actions=note),
            Transition(ANY, "SET", actions=set_timers),
            Transition(ANY, "RANG", actions=note),
            Transition(ANY, "STUMBLED", actions=stumble),
            Transition("RESTING", "OPENED", "READING"),
            Transition("RESTING", "LEFT", "AWAY"),
            Transition("READING", "done.invoke.look_up", "RESTING", actions=note),
            Transition("RESTING", "ARRIVED", "STRANDED"),
        ],
        entry_points=["RESTING"],
    )


traveller = travelling()
graphs = [traveller, *ALL]
LIMITS = Limits(mail_retry=QUICK, close_s=0.2)


async def fill(url, copies=1, soon_s=SOON_S):
    """Leaves agents in the database that have something before them. copies: of each."""
    tools = Tools()
    async with Runtime.open(url, graphs=graphs, services=tools, limits=LIMITS) as runtime:
        for n in range(copies):
            await _live(runtime, f"{n}", soon_s)
        await eventually(lambda: _is_still(runtime, tools, copies))
    async with Runtime.open(url, graphs=graphs, services=tools, limits=LIMITS, role=Role.VISITOR) as runtime:
        for n in range(copies):
            await _leave(runtime, f"{n}")
    return tools


async def _live(runtime, n, soon_s):
    plain = await runtime.start("traveller", at="RESTING", agent_id=f"plain-{n}")
    for each in range(5):
        await plain.send("NOTED", {"n": each}, event_id=f"event-{each}")
    timed = await runtime.start("traveller", at="RESTING", agent_id=f"timed-{n}")
    await timed.send("SET", {"soon": soon_s})
    away = await runtime.start("traveller", at="RESTING", agent_id=f"away-{n}")
    await away.send("LEFT")
    stumbled = await runtime.start("traveller", at="RESTING", agent_id=f"stumbled-{n}")
    await runtime.post(stumbled.id, "STUMBLED", event_id="stumble")
    await runtime.post(stumbled.id, "ARRIVED")
    await runtime.post(stumbled.id, "NOTED", {"n": "too late"})
    reader = await runtime.start("traveller", at="RESTING", agent_id=f"reader-{n}")
    await reader.send("OPENED")
    await runtime.start("traveller", at="RESTING", agent_id=f"stopped-{n}")
    await runtime.stop(f"stopped-{n}")
    await runtime.post(f"plain-{n}", "NOTED", {"n": "delayed"}, due=datetime.now(UTC) + timedelta(seconds=soon_s))
    await runtime.post(f"nobody-{n}", "NOTED", {"n": "anybody?"})
    await _hand_on(runtime, n)


async def _hand_on(runtime, n):
    """Handoffs that were taken: one given away, one delegated, one that holds a place."""
    for name, mode in (("giver", "transfer"), ("boss", "delegate"), ("guest", "delegate")):
        if name == "guest" and n != "0":  # there is one place
            continue
        to = "crowded" if name == "guest" else "second"
        agent = await runtime.start("first", at="TALKING", agent_id=f"{name}-{n}")
        await agent.send("ASK", {"to": to, "mode": mode, "stays": True})


async def _is_still(runtime, tools, copies):
    waiting = await runtime.mail(status=MailStatus.WAITING, limit=10_000)
    return tools.calls["second"] == copies and all(each.due or each.recipient.startswith("nobody") for each in waiting)


async def _leave(runtime, n):
    """What only a host would do: mail, and offers to a new agent and to a living one."""
    for each in range(3):
        await runtime.post(f"timed-{n}", "NOTED", {"n": each}, event_id=f"posted-{each}")
    asker = await runtime.start("first", at="TALKING", agent_id=f"asker-{n}")
    await asker.send("ASK", {"to": "second", "mode": "delegate"})
    await runtime.start("desk", at="RESTING", agent_id=f"helper-{n}")
    caller = await runtime.start("first", at="TALKING", agent_id=f"caller-{n}")
    await caller.send("ASK", {"to": "desk", "agent": f"helper-{n}", "mode": "delegate"})


async def finish(runtime, tools, copies=1, without=()):
    """Has them all do what is before them, and answers what they came to. without: those that are not there."""
    tools.is_up = True
    for n in range(copies):
        await eventually(lambda n=n: _has(runtime, f"reader-{n}", "done.invoke.look_up"))
        await eventually(lambda n=n: _has(runtime, f"timed-{n}", "soon"))
        await eventually(lambda n=n: _has(runtime, f"plain-{n}", "delayed"))
        await eventually(lambda n=n: _is_in(runtime, f"away-{n}", "BACK"))
        for name in ("asker", "caller", "boss", *["guest"] * (n == 0)):
            target = await _target(runtime, f"{name}-{n}")
            await eventually(lambda target=target: _is_in(runtime, target, "WORKING"))
            await (await runtime.resume(target)).send("SOLVED", {"answer": name})
            await eventually(lambda name=name, n=n: _has(runtime, f"{name}-{n}", "handoff.completed"))
    return await look(runtime, copies, without)


NAMES = ("plain", "timed", "away", "stumbled", "reader", "stopped", "giver", "boss", "asker", "caller", "helper")


async def look(runtime, copies=1, without=()):
    """Where they are and what they know, and the mail that is left."""
    ids = ["guest-0", *(f"{name}-{n}" for n in range(copies) for name in NAMES if name not in without)]
    handed_on = ["guest-0", *(f"{name}-{n}" for n in range(copies) for name in ("giver", "boss", "asker"))]
    ids += [await _target(runtime, each) for each in handed_on]
    seen = {}
    for agent_id in ids:
        snapshot = (await runtime.resume(agent_id)).snapshot
        mail = [(each.event, each.payload, each.id, each.status) for each in await runtime.mail(agent_id)]
        seen[agent_id] = (snapshot.configuration, told(snapshot), snapshot.status, snapshot.version, mail)
    return seen


def told(snapshot):
    """The context without the moments in it, in which two lives differ."""

    def timeless(value):
        if isinstance(value, dict):
            return {name: timeless(each) for name, each in value.items() if name not in ("at", "time", "timestamp")}
        return [timeless(each) for each in value] if isinstance(value, list) else value

    return timeless(snapshot.context)


async def _has(runtime, agent_id, text):
    return text in (await runtime.resume(agent_id)).snapshot.context_text


async def _is_in(runtime, agent_id, state):
    try:
        return state in (await runtime.resume(agent_id)).configuration
    except UnknownAgentError:
        return False


async def _target(runtime, agent_id):
    """Whom the agent last handed something on to."""
    return (await runtime.handoffs(source=agent_id))[-1].target


__all__ = ["Tools", "crowded", "desk", "fill", "finish", "first", "graphs", "look", "second"]
