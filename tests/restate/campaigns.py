"""Agents under load while something is killed, and what is wrong with them afterwards."""

import asyncio
import time
from collections import defaultdict

from gatechart.values.mail import MailStatus
from tests.restate.verdicts import Found, faults, was_spared

SETTLES_S = 300
LOOKS_S = 0.2
PATIENCE_S = 20


class Progress:
    """How much of a load was sent. Others may wait for a share of it."""

    def __init__(self, total):
        self._total = total
        self._sent = 0
        self._marks = []

    def step(self):
        """One more was sent."""
        self._sent += 1
        for share, reached in self._marks:
            if self._sent >= share * self._total:
                reached.set()

    async def reaches(self, share):
        """Returns when so much was sent. share: of 1."""
        reached = asyncio.Event()
        self._marks.append((share, reached))
        await reached.wait()


async def drive(runtime, agents, load, progress):
    """Sends each agent its numbers in order, one behind the other; every other one by post."""

    async def sent(place, agent_id):
        agent = await runtime.start("counting", at="COUNTING", agent_id=agent_id)
        for n in load.numbers:
            told = {"n": n, "rings": n % 7 == 0}
            if n in load.passed_on:
                told["neighbour"] = agents[(place + 1) % len(agents)]
            if n % 2:
                await runtime.post(agent_id, "COUNTED", told, event_id=f"n{n}")
            else:
                await agent.send("COUNTED", told, event_id=f"n{n}")
            if n % 4 == 0:
                await runtime.post(agent_id, "CHARGED")
            if n == load.poisoned:
                await runtime.post(agent_id, "POISONED")
            progress.step()

    await asyncio.gather(*(sent(place, agent_id) for place, agent_id in enumerate(agents)))


async def under_load(runtime, agents, load, script):
    """Returns when all is sent and the script was gone through. script: shares of the load, and what to do then."""
    progress = Progress(len(agents) * load.rounds)

    async def follow():
        for share, deed in script:
            await progress.reaches(share)
            await asyncio.to_thread(deed)

    async with asyncio.TaskGroup() as both:
        both.create_task(drive(runtime, agents, load, progress))
        both.create_task(follow())


def again(*victims):
    """A deed: all of them are killed at once, and begun again."""

    def deed():
        for victim in victims:
            victim.kill()
        for victim in victims:
            victim.begin()

    return deed


def amid(ledger, deed):
    """The deed, a moment after the next invocation has taken its first step, which the engine has recorded by then."""

    def meet():
        before, end = firsts(ledger), time.monotonic() + PATIENCE_S
        while firsts(ledger) == before and time.monotonic() < end:
            time.sleep(LOOKS_S / 10)
        time.sleep(LOOKS_S)
        deed()

    return meet


async def judged(runtime, ledger, agents, load, most_repeats, is_idle):
    """What is wrong with the agents, once nothing happens any more. is_idle: whether the engine has nothing to do."""
    await settled(runtime, agents, load, is_idle)
    steps, wrong = taken(ledger), []
    for place, agent_id in enumerate(agents):
        found = await found_of(runtime, agent_id, steps[agent_id])
        wrong += faults(agent_id, agents[place - 1], found, load, most_repeats)
    return wrong if any(map(was_spared, steps.values())) else [*wrong, "no kill met an invoke under way"]


async def settled(runtime, agents, load, is_idle):
    """Returns when agents have all that they were sent, or could have had it for long."""
    waiting, end = list(agents), asyncio.get_running_loop().time() + SETTLES_S
    while asyncio.get_running_loop().time() < end:
        waiting = [agent_id for agent_id in waiting if not await is_settled(runtime, agent_id, load)]
        if not waiting and await is_idle():
            return
        await asyncio.sleep(LOOKS_S)


async def is_settled(runtime, agent_id, load):
    """Whether the agent has at least what it should have in the end, and nothing waits for it."""
    agent = await runtime.resume(agent_id)
    context = agent.context
    mail = [each.status for each in await runtime.mail(agent_id)]
    return (
        agent.configuration == ("COUNTING",)
        and MailStatus.WAITING not in mail
        and MailStatus.DEAD in mail
        and len(context.seen) >= load.rounds
        and context.rings >= load.rings
        and len(context.passed) >= len(load.passed_on)
        and await runtime.lag(agent_id) == 0
    )


async def found_of(runtime, agent_id, steps):
    """What there is of the agent: its state, its history, its mail."""
    context = (await runtime.resume(agent_id)).context
    await runtime.caught_up(agent_id)
    history = [
        (entry.version, entry.event.name, entry.event.payload.get("n") if entry.event.name == "COUNTED" else None)
        for entry in await runtime.history(agent_id)
    ]
    mail = [(each.event, each.status) for each in await runtime.mail(agent_id)]
    return Found(context.seen, context.passed, context.rings, context.receipts, history, mail, steps)


def firsts(ledger):
    """How many first steps were really taken."""
    return sum(step == "first" for steps in taken(ledger).values() for _, step in steps)


def taken(ledger):
    """Of each agent, the steps that were really taken: in which invocation, and which."""
    steps = defaultdict(list)
    for line in ledger.read_text().splitlines() if ledger.exists() else ():
        agent_id, invocation, step, _ = line.split()
        steps[agent_id].append((invocation, step))
    return steps
