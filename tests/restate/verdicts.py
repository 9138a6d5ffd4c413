"""What must be true of agents after whatever was killed, as a function from what was found to what is wrong with it."""

import re
from collections import Counter
from dataclasses import dataclass

from gatechart.values.mail import MailStatus


@dataclass(frozen=True)
class Load:
    """What each agent is sent: the numbers from 1 on, and with some of them something else."""

    rounds: int

    @property
    def numbers(self):
        return list(range(1, self.rounds + 1))

    @property
    def passed_on(self):
        """Those that the agent passes on to its neighbour."""
        return [n for n in self.numbers if n % 3 == 0]

    @property
    def rings(self):
        """How many timers it sets."""
        return len([n for n in self.numbers if n % 7 == 0])

    @property
    def charges(self):
        """How often it is asked to charge, so that it does all the time. It refuses while it does."""
        return len([n for n in self.numbers if n % 4 == 0])

    @property
    def poisoned(self):
        """With which number comes what no action can digest."""
        return self.rounds // 2


@dataclass
class Found:
    """What there is of one agent, when nothing happens any more."""

    seen: list[int]  # numbers, in the order taken
    passed: list[list]  # what its neighbour passed on: by whom, and which
    rings: int
    receipts: list[str]  # results of invokes
    history: list[tuple[int, str, int | None]]  # version, event, number
    mail: list[tuple[str, str]]  # event, status
    steps: list[tuple[str, str]]  # invocation, and that it was begun or which step was really taken


def faults(agent_id, before, found, load, most_repeats):
    """What is wrong with the agent, in words; nothing where all is as it must be.

    before: the agent that passes numbers on to this one. most_repeats: how often a step may be taken again because a
    process died before its result was recorded.
    """
    wrong = [*of_numbers(found, before, load), *of_history(found, load)]
    wrong += [*of_mail(found, load), *of_steps(found, most_repeats)]
    return [f"{agent_id}: {each}" for each in wrong]


def of_numbers(found, before, load):
    """Whether events, others' mail and timers took effect: each, once, in order."""
    yield from differs("numbers", found.seen, load.numbers)
    yield from differs(f"numbers of {before}", found.passed, [[before, n] for n in load.passed_on])
    if found.rings != load.rings:
        yield f"{found.rings} of {load.rings} timers rang"


def differs(what, found, expected):
    """In which way a sequence is not the one expected."""
    times = Counter(map(str, found))
    lost = [each for each in expected if str(each) not in times]
    doubled = [each for each in expected if times[str(each)] > 1]
    if lost:
        yield f"{what} lost: {lost}"
    if doubled:
        yield f"{what} doubled: {doubled}"
    if found != expected and not lost and not doubled:
        yield f"{what} out of order: {found}"


def of_history(found, load):
    """Whether the projection has each turn once, in order."""
    versions = [version for version, _, _ in found.history]
    yield from differs("versions in the history", versions, list(range(1, max(versions, default=0) + 1)))
    told = [n for _, event, n in found.history if event == "COUNTED"]
    yield from differs("numbers in the history", told, load.numbers)


def of_mail(found, load):
    """Whether what failed is parked, what was refused is noted, and nothing waits."""
    kinds = Counter(found.mail)
    if kinds.pop(("POISONED", MailStatus.DEAD), 0) != 1:
        yield f"the poison is not parked, once: {found.mail}"
    refused = kinds.pop(("CHARGED", MailStatus.REFUSED), 0)
    if kinds:
        yield f"mail is left: {dict(kinds)}"
    charged = len([event for _, event, _ in found.history if event == "CHARGED"])
    if charged + refused != load.charges:
        yield f"{charged} charges and {refused} refused are not {load.charges}"
    if charged != len(found.receipts):
        yield f"{charged} charges, {len(found.receipts)} receipts"


def of_steps(found, most_repeats):
    """Whether each invocation took its steps, and none again once its result was recorded."""
    if set(found.receipts) - {"first second"}:
        yield f"receipts are not right: {found.receipts}"
    ways = ways_of(found.steps)
    if len(ways) != len(found.receipts):
        yield f"{len(ways)} invocations took steps, {len(found.receipts)} receipts"
    for invocation, way in ways.items():
        steps = way.replace("b", "")
        if not re.fullmatch("f+s+", steps):  # the second is taken once the first is recorded
            yield f"a recorded step was run again in {invocation}: {way}"
        elif len(steps) > 2 + most_repeats:
            yield f"steps were run too often in {invocation}: {way}"


def ways_of(steps):
    """The letters of what was done in each invocation, in order: it was begun, took its first step, its second."""
    ways = {}
    for invocation, step in steps:
        ways[invocation] = ways.get(invocation, "") + step[0]
    return ways


def was_spared(steps):
    """Whether an invocation was begun again behind its first step, and did not take that again."""
    return any(re.search("fb+s", way) for way in ways_of(steps).values())
