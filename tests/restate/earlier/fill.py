"""Fills an engine with agents in all conditions that there are, and keeps its folder as an archive.

`python -m tests.restate.earlier.fill ARCHIVE`, in a checkout of the release whose agents are to be kept. The archive
has the data of the engine and, beside it, the projection and the ledger of the steps taken.
"""

import asyncio
import sys
import tarfile
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.ports import free_ports
from tests.restate.earlier.agents import FIRST, LAST, NAMESPACE
from tests.restate.earlier.home import SMALL, Service, opened
from tests.restate.engines import Engine, eventually

KEPT = ("data", "projection.db", "projection.db-wal", "ledger")
LARGE = 200_000
SENDS = "SELECT id FROM sys_invocation WHERE target LIKE '%.Agent/{}/send' AND status <> 'completed'"
WAITS = "SELECT key FROM state WHERE service_key = '{}' AND key = 'wait'"
UNDER_WAY = {
    ("Agent/stumbler/deliver", "running"),  # waits for another attempt at mail
    ("Agent/stumbler/deliver", "pending"),
    ("Agent/stumbler/send", "pending"),
    ("Agent/busy/deliver", "pending"),  # an offer
    ("Agent/hoard/deliver", "scheduled"),  # postponed
    ("Capacity/booth/reserve", "running"),  # held, and the agent that asks for a place with it
    ("Invokes/run", "running"),
    ("Projection/plain/project", "running"),  # held, as all that would be projected
}


async def fill(archive):
    """Writes the archive. It replaces one of before."""
    with TemporaryDirectory() as name:
        folder, (port,) = Path(name), free_ports(1)
        engine = Engine(folder, config=SMALL)
        try:
            engine.begin()
            await _filled(engine, folder, port)
            engine.stop()
        finally:
            engine.kill()
        with tarfile.open(archive, "w:xz", preset=9) as packed:
            for each in KEPT:
                if (folder / each).exists():
                    packed.add(folder / each, each, filter=_is_kept)


async def _filled(engine, folder, port):
    service = Service(folder, port, FIRST)
    try:
        await service.registered(engine)
        async with opened(engine, FIRST, folder) as runtime:
            await _live(runtime)
        service.end()
        service = Service(folder, port, LAST)
        await service.registered(engine)
        async with opened(engine, LAST, folder) as runtime:
            await _leave(runtime, engine, folder)
            plain = await runtime.resume("plain")
            service.kill()
            await _write_to_nobody(runtime, plain, engine)
    finally:
        service.kill()


def _is_kept(each):
    """The file without who made it and when; not the logs of the engine's databases."""
    if each.name.rpartition("/")[2] in ("LOG", "LOCK") or "/LOG.old" in each.name:
        return None
    each.uid = each.gid = each.mtime = 0
    each.uname = each.gname = ""
    return each


async def _live(runtime):
    """What has come to its end, and what rests."""
    plain = await runtime.start("notes", at="RESTING", id="plain", once="begun")
    for n in range(3):
        await plain.send("NOTED", {"n": n}, id=f"event-{n}")
    for agent_id, event in (("timed", "SET"), ("away", "LEFT"), ("ended", "ENDED"), ("failed", "FAILED")):
        await (await runtime.start("notes", at="RESTING", id=agent_id)).send(event)
    for graph in ("rare", "parcel", "letter"):
        await (await runtime.start(graph, at="RESTING", id=graph)).send("NOTED", {"n": 0})
    await runtime.post("failed", "NOTED", {"n": "too late"}, id="refused")
    await runtime.start("notes", at="RESTING", id="stopped")
    await runtime.stop("stopped")
    await runtime.start("notes", at="RESTING", id="died")
    await runtime.post("died", "STUMBLED", {"n": "dead"}, id="dead")
    large = await runtime.start("notes", at="RESTING", id="large")
    await large.send("FILLED", {"size": LARGE})
    for n in range(3):
        await runtime.post("unborn", "NOTED", {"n": n}, id=f"posted-{n}")
    await _hand_on(runtime)
    await eventually(lambda: _is_dead(runtime, "died"))
    for agent_id in ("plain", "large", "boss", "guest"):
        await runtime.caught_up(agent_id)


async def _hand_on(runtime):
    """A handoff in each condition, the asking agent named by it."""
    for agent_id, wanted, then in (
        ("giver", {}, None),
        ("boss", {"mode": "delegate"}, None),
        ("completed", {"mode": "delegate"}, "SOLVED"),
        ("failing", {"mode": "delegate"}, "GAVE_UP"),
        ("refused", {"agent": "plain"}, None),
        ("overdue", {"mode": "delegate", "deadline": 1}, None),
        ("cancelled", {"mode": "delegate"}, "LEAVE"),
        ("guest", {"to": "booth", "mode": "delegate"}, None),
        ("patient", {"to": "booth", "mode": "delegate", "ladder": "again"}, None),
    ):
        asker = await runtime.start("clerk", at="TALKING", id=agent_id)
        await asker.send("ASK", {"to": "helper", **wanted})
        if agent_id == "patient":  # whose offer found no place, and is made again later
            await eventually(lambda: _is_asked_again(runtime))
            continue
        await eventually(lambda agent_id=agent_id: _has_heard(runtime, agent_id, 1))
        if then is not None:
            await runtime.caught_up(agent_id)
            receiver = agent_id if then == "LEAVE" else (await runtime.handoffs(source=agent_id))[-1].target
            await (await runtime.resume(receiver)).send(then)
    for agent_id, times in (("completed", 2), ("failing", 2), ("overdue", 2)):
        await eventually(lambda agent_id=agent_id, times=times: _has_heard(runtime, agent_id, times))


async def _leave(runtime, engine, folder):
    """What is under way, up to the last moment."""
    await (await runtime.start("letter", at="PATIENT", id="letter-2")).send("NOTED", {"n": 0})
    await (await runtime.resume("plain")).send("NOTED", {"n": "unprojected"}, id="unprojected")
    for agent_id, event in (("reader", "OPENED"), ("trier", "TRIED")):
        await (await runtime.start("notes", at="RESTING", id=agent_id)).send(event)
    for agent_id, graph, at in (("stumbler", "notes", "RESTING"), ("busy", "helper", "TALKING")):
        await runtime.start(graph, at=at, id=agent_id)
        await runtime.post(agent_id, "STUMBLED", {"n": "stumbled"}, id="stumbled")
        await eventually(lambda agent_id=agent_id: _has(engine, WAITS.format(agent_id)))
    await runtime.post("stumbler", "NOTED", {"n": "behind"}, id="behind")
    await _abandoned(await runtime.resume("stumbler"), "sent behind", engine)
    for agent_id, wanted in (
        ("hasty", {"to": "helper", "agent": "busy", "deadline": 1}),
        ("caller", {"to": "helper", "agent": "busy"}),
        ("queuer", {"to": "booth"}),
    ):
        asker = await runtime.start("clerk", at="TALKING", id=agent_id)
        await asker.send("ASK", {"mode": "delegate", **wanted})
    await runtime.post("rare", "NOTED", {"n": 1}, id="left")
    teller = await runtime.start("notes", at="RESTING", id="teller")
    await teller.send("TOLD", {"to": "hoard", "times": 3, "size": LARGE})
    await eventually(lambda: _is_under_way(engine, folder))


async def _write_to_nobody(runtime, plain, engine):
    """What comes while no service runs."""
    for n in range(2):
        await runtime.post("plain", "NOTED", {"n": f"posted {n}"}, id=f"away-{n}")
        await runtime.post("parcel", "NOTED", {"n": f"posted {n}"}, id=f"away-{n}")
    await _abandoned(plain, "sent", engine)


async def _abandoned(agent, n, engine):
    """Sends what the engine has accepted when its caller goes away."""
    sending = asyncio.create_task(agent.send("NOTED", {"n": n}, id=n))
    await eventually(lambda: _has(engine, SENDS.format(agent.id)))
    sending.cancel()
    await asyncio.wait((sending,))


async def _has(engine, question, count=1):
    return len(await engine.ask(question)) == count


async def _is_dead(runtime, agent_id):
    return [each.status.value for each in await runtime.mail(agent_id)] == ["waiting", "dead"]


async def _has_heard(runtime, agent_id, times):
    return len((await runtime.resume(agent_id)).context.told) == times


async def _is_asked_again(runtime):
    return len(await runtime.handoffs(source="patient")) == 2


async def _is_under_way(engine, folder):
    """Whether what was asked last has come as far as it can."""
    if Counter((folder / "ledger").read_text().splitlines()) != Counter(("reader first", "trier begun")):
        return False
    rows = await engine.ask("SELECT target, status FROM sys_invocation WHERE status <> 'completed'")
    found = {(each["target"].removeprefix(f"{NAMESPACE}."), each["status"]) for each in rows}
    return UNDER_WAY.issubset(found)


if __name__ == "__main__":
    asyncio.run(fill(sys.argv[1]))
