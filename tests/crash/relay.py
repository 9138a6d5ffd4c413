"""One handoff from its first offer to its end, in a process that dies on the way; asked again, it goes on.

`main(url, points, mode, target, ending, point, count)` dies at the COUNT-th time that it comes to POINT (see forks).
With "nowhere" it lives, and leaves in the file POINTS how often it came where.
"""

import asyncio
import json
from itertools import product
from pathlib import Path

from gatechart import Runtime
from gatechart.errors import UnknownAgentError
from gatechart.graph.handoff import Fallbacks, OtherGraph
from gatechart.selection.explaining import explanation_of
from gatechart.values.agents import Status
from gatechart.values.handoffs import HandoffQuery, HandoffStatus, Mode
from tests.crash.fault_points import FaultPoints
from tests.runtime import handovers
from tests.runtime.handovers import ALL, CHOOSING, PENDING

ROUTES = [
    ("transfer", "new", "done"),
    ("transfer", "living", "done"),
    *product(["delegate"], ["new", "living"], ["done", "left", "cancelled"]),
    ("transfer", "best", "done"),
    *product(["delegate"], ["best"], ["done", "left", "cancelled"]),
]

handovers.FALLBACKS |= {
    "new": Fallbacks(OtherGraph("crowded", at="WORKING")),
    "living": Fallbacks(OtherGraph("crowded", at="WORKING", agent="target")),
}


async def run(url, mode, target, ending):
    """Goes all the way, from wherever it was left: asked of one that rejects, then of one that takes it and ends it.

    The target "best" is chosen: first the one that rejects, who is of the highest tier, then the next.
    """
    async with Runtime.open(url, graphs=ALL) as runtime:
        if target == "living":
            await _agent(runtime, "target", "crowded", "RESTING")
        source = await _agent(runtime, "source", "first", "TALKING")
        to = {"to": "the best"} if target == "best" else {"to": "picky", "fallbacks": target}
        await source.send("ASK", {**to, "mode": mode, "say": "a fridge"}, event_id="ask")
        await _until(runtime, lambda rows, mail: len(rows) == 2 and rows[1].status not in (CHOOSING, PENDING))
        await _until(runtime, lambda rows, mail: not mail)
        row = (await runtime.handoffs())[1]
        if ending == "left":
            await source.send("LEAVE", event_id="end")
        elif ending == "cancelled":
            if row.status is HandoffStatus.ACCEPTED:
                await runtime.cancel_handoff(row.id, reason="enough")
        else:
            await (await runtime.resume(row.target)).send("SOLVED" if target == "living" else "DONE", event_id="end")
        await _until(runtime, lambda rows, mail: rows[1].status is not HandoffStatus.ACCEPTED and not mail)


async def _agent(runtime, agent_id, graph, at):
    try:
        return await runtime.resume(agent_id)
    except UnknownAgentError:
        return await runtime.start(graph, at=at, agent_id=agent_id)


async def _until(runtime, holds):
    async with asyncio.timeout(60):
        while not holds(await runtime.handoffs(), await runtime.mail()):  # noqa: ASYNC110  the store tells nobody
            await asyncio.sleep(0.001)


async def check_end(store, mode, target, ending):
    """Each is where it should be, and nothing was done twice."""
    tried, taken = await store.handoffs(HandoffQuery())
    over = HandoffStatus.COMPLETED if ending == "done" else HandoffStatus.CANCELLED
    begun = [CHOOSING, PENDING] if target == "best" else [PENDING]
    assert [each.status for each in tried.changes] == [*begun, HandoffStatus.REJECTED]
    assert [each.status for each in taken.changes] == [*begun, HandoffStatus.ACCEPTED, over]
    source, worker = await store.load("source"), await store.load(taken.target)
    assert source.handoffs == worker.handoffs == ()
    work = handovers.Talk.model_validate_json(worker.context_text)
    assert work.entered == 1
    if target != "living":
        assert [message.content for message in work.messages] == ["a fridge"]
        assert worker.status is (Status.DONE if ending == "done" else Status.STOPPED)
    else:
        assert worker.configuration == ("RESTING",)
        assert [each["name"] for each in work.told] == ([] if ending == "done" else ["handoff.cancelled"])
    told = [each["name"] for each in handovers.Talk.model_validate_json(source.context_text).told]
    if mode == Mode.TRANSFER:
        assert (source.status, told) == (Status.DONE, [])
    else:
        more = {"done": ["handoff.completed"], "left": [], "cancelled": ["handoff.failed"]}[ending]
        assert told == ["handoff.accepted", *more]
        assert source.configuration == (("FAILED",) if ending == "cancelled" else ("TALKING",))
    if target == "best":
        await _check_choices(store, tried, taken)
    for agent in (source, worker):
        history = await store.history(agent.agent_id)
        assert [entry.version for entry in history] == list(range(1, agent.version + 1))


async def _check_choices(store, tried, taken):
    """Each handoff has one choice, which is that of its target, and the same whenever it was made."""
    for row, best, others in ((tried, "picky", ["crowded", "second"]), (taken, "crowded", ["second"])):
        why = explanation_of(row.choice)
        assert (row.target_graph, row.packet["recipient"], why.seed) == (best, f"{best}.WORKING", row.id)
        stayed = [each.id for each in why.judged if not each.fell]
        assert stayed == [f"{graph}.WORKING" for graph in (best, *others)]
        assert row.changes[1].details == why.details
    chosen = [entry.event.id for entry in await store.history("source") if entry.event.name == "handoff.choosing"]
    assert chosen == [tried.id, taken.id]


def main(url, file, mode, target, ending, point, count):
    points = FaultPoints(point, int(count))
    points.install()
    asyncio.run(run(url, mode, target, ending))
    Path(file).write_text(json.dumps(points.passed))
