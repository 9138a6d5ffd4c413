"""What a database will never take is the failure of whoever made it, not an outage that everybody waits for."""

import asyncio
from dataclasses import replace

import pytest

from gatechart import ANY, AgentContext, Invoke, Limits, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import StoreFailedError, UnknownMailError, UnwritableError
from gatechart.stores import open_store
from gatechart.testing.records import going_on, started
from gatechart.values.delays import Retry
from gatechart.values.mail import MailStatus
from tests.homes import DATABASE_URLS
from tests.runtime.spoiling import by_hand, pardon, refusal
from tests.runtime.support import Gate, WrappedStore, eventually, soon

TWICE = Limits(mail_retry=Retry(attempts=2, first_s=0.01, most_s=0.01))
STATES = ["22001", "23514", "54000"]  # data, integrity, limits of the program


class Job(AgentContext):
    notes: list[str] = []  # noqa: RUF012  pydantic copies it


def note(context, event):
    context.notes.append(event.name)


async def work_on(_context, work):
    return await work.step(work.services["step"], lambda: "done")


async def report(_context, work):
    await work.services["begun"].wait()
    return "done"


async def pass_gate(context, event, turn):
    await turn.services["gate"].wait(turn.agent_id, event.name)
    note(context, event)


job = StateTransitionGraph(
    "job",
    context=Job,
    states=[
        "IDLE",
        State("STEPPING", invoke=Invoke(work_on, id="work")),
        State("WORKING", invoke=Invoke(report, id="work")),
        "ENDED",
        "FAILED",
    ],
    transitions=[
        Transition(ANY, "NOTED", actions=note),
        Transition(ANY, "POISON", actions=note),
        Transition(ANY, "PASSED", actions=pass_gate),
        Transition("IDLE", "STEPPED", "STEPPING"),
        Transition("IDLE", "WORKED", "WORKING"),
        Transition("STEPPING", "done.invoke.work", "ENDED"),
        Transition("STEPPING", "error.invoke.work", "FAILED"),
        Transition("WORKING", "done.invoke.work", "ENDED"),
        Transition("WORKING", "error.invoke.work", "FAILED"),
    ],
    entry_points=["IDLE"],
)


@pytest.fixture(params=["sqlite", *STATES])
def poisoned(request):
    """The URL of a database, and the SQLSTATE with which it refuses."""
    name, state = ("sqlite_url", "") if request.param == "sqlite" else ("empty_postgres_url", request.param)
    return request.getfixturevalue(name), state


async def poison(url, table, column, value, state):
    await by_hand(url, *refusal(url, table, column, value, state))


async def dead_mail(runtime):
    async with asyncio.timeout(60):
        while not (found := await runtime.mail(status="dead")):  # noqa: ASYNC110  the store tells nobody
            await asyncio.sleep(0.01)
    return found


async def test_mail_that_can_never_be_applied_is_dead_and_what_is_behind_it_goes_on(poisoned):
    url, state = poisoned
    async with Runtime.open(url, graphs=[job], limits=TWICE) as runtime:
        agent = await runtime.start("job", at="IDLE", agent_id="a")
        await poison(url, "history", "event", "POISON", state)
        await runtime.post("a", "POISON")
        await runtime.post("a", "NOTED")
        (dead,) = await dead_mail(runtime)
        assert (dead.event, dead.attempts) == ("POISON", 2)
        assert dead.reason.startswith("UnwritableError: the database cannot keep what was to be written: ")
        await eventually(lambda: agent.context.notes == ["NOTED"])
        await runtime.retry(dead.number)
        await asyncio.sleep(0)
        (again,) = await dead_mail(runtime)
        await runtime.discard(again.number)
        with pytest.raises(UnknownMailError):
            await runtime.discard(again.number)


async def test_a_sender_is_told_and_the_agent_goes_on(poisoned):
    url, state = poisoned
    async with Runtime.open(url, graphs=[job]) as runtime:
        agent = await runtime.start("job", at="IDLE", agent_id="a")
        await poison(url, "history", "event", "POISON", state)
        with pytest.raises(UnwritableError, match=r"cannot keep what was to be written: .*poison"):
            await agent.send("POISON")
        assert (await agent.send("NOTED")).version == 2
        assert agent.context.notes == ["NOTED"]


async def test_others_of_the_same_commit_are_committed(poisoned):
    url, state = poisoned
    async with Runtime.open(url, graphs=[job]) as runtime:
        agents = [await runtime.start("job", at="IDLE", agent_id=f"a{n}") for n in range(20)]
        await poison(url, "history", "event", "POISON", state)
        sends = (agent.send("POISON" if n % 5 == 0 else "NOTED") for n, agent in enumerate(agents))
        outcomes = await asyncio.gather(*sends, return_exceptions=True)
        for n, outcome in enumerate(outcomes):
            assert isinstance(outcome, UnwritableError) if n % 5 == 0 else outcome.version == 2


async def test_what_is_posted_and_cannot_be_written_is_told_at_once(poisoned):
    url, state = poisoned
    async with Runtime.open(url, graphs=[job]) as runtime:
        await runtime.start("job", at="IDLE", agent_id="a")
        await poison(url, "mail", "event", "POISON", state)
        with pytest.raises(UnwritableError):
            await runtime.post("a", "POISON")
        await runtime.post("a", "NOTED")
        assert (await soon((await runtime.resume("a")).until("IDLE"))).agent_id == "a"
        assert not [mail for mail in await runtime.mail() if mail.event == "POISON"]


async def test_a_step_that_cannot_be_recorded_fails(poisoned):
    url, state = poisoned
    async with Runtime.open(url, graphs=[job], services={"step": "poison"}) as runtime:
        agent = await runtime.start("job", at="IDLE")
        await poison(url, "steps", "name", "poison", state)
        await agent.send("STEPPED")
        await asyncio.wait_for(agent.until("FAILED"), 20)


async def test_a_result_that_cannot_be_written_fails_its_invoke(poisoned):
    url, state = poisoned
    begun = asyncio.Event()
    async with Runtime.open(url, graphs=[job], services={"begun": begun}) as runtime:
        agent = await runtime.start("job", at="IDLE")
        await agent.send("WORKED")
        await poison(url, "mail", "event", "done.invoke.work", state)
        begun.set()
        await asyncio.wait_for(agent.until("FAILED"), 20)


async def test_a_database_that_is_full_is_an_outage_as_before(empty_postgres_url):
    """SQLSTATE 53: what it refuses now it takes later, so mail waits and is not counted."""
    url = empty_postgres_url  # a database of its own, which nobody else gets with the trigger
    async with Runtime.open(url, graphs=[job], limits=TWICE) as runtime:
        agent = await runtime.start("job", at="IDLE", agent_id="a")
        await poison(url, "history", "event", "POISON", "53100")
        await runtime.post("a", "POISON")
        await runtime.post("a", "NOTED")
        await asyncio.sleep(0.2)  # more than two attempts of failing mail take
        assert [(mail.status, mail.attempts) for mail in await runtime.mail("a")] == [(MailStatus.WAITING, 0)] * 2
        await by_hand(url, *pardon(url, "history"))
        await eventually(lambda: agent.context.notes == ["POISON", "NOTED"])


async def test_a_row_that_no_index_takes_is_refused_by_the_store_itself(postgres_url):
    """Older databases may bring such ids with them, past the door."""
    long = "".join(chr(0x4E00 + n * 7919 % 20000) for n in range(3000))  # which cannot be compressed
    async with open_store(postgres_url) as store:
        await store.commit([first := started("a")])
        with pytest.raises(UnwritableError, match="index row"):
            await store.commit([going_on(first, "TOLD", event_id=long)])
        assert (await store.load("a")).version == 1


@pytest.mark.parametrize("text", ["a\ud800", 2**70], ids=["half a character", "a number of 70 bits"])
@pytest.mark.parametrize("place", DATABASE_URLS)
async def test_what_a_driver_cannot_encode_is_refused_by_the_store_itself(request, place, text):
    async with open_store(request.getfixturevalue(place)) as store:
        await store.commit([first := started("a")])
        record = going_on(first, text) if isinstance(text, str) else replace(going_on(first, "TOLD"), took_us=text)
        with pytest.raises(UnwritableError):
            await store.commit([record])
        assert (await store.load("a")).version == 1
        await store.commit([going_on(first, "TOLD")])


@pytest.mark.parametrize("place", DATABASE_URLS)
async def test_a_report_whose_commit_is_tried_again_comes_behind_what_was_accepted_meanwhile(request, place):
    """By its number, which is the order that counts after a crash."""
    url, gate, begun = request.getfixturevalue(place), Gate(), asyncio.Event()
    failed, is_full = [], True

    async def fail(units):
        if is_full and any(getattr(unit, "ends", False) for unit in units):
            failed.append(units)
            raise StoreFailedError("agents.db", "the disk is full")

    async with open_store(url) as store:
        wrapped = WrappedStore(store)
        async with Runtime.open(wrapped, graphs=[job], services={"begun": begun, "gate": gate}) as runtime:
            agent = await runtime.start("job", at="IDLE", agent_id="a")
            await agent.send("WORKED")
            await runtime.post("a", "PASSED")
            await gate.reached()
            wrapped.before = fail
            begun.set()
            await eventually(lambda: failed)
            await runtime.post("a", "NOTED")
            is_full = False
            async with asyncio.timeout(60):
                while len(found := await runtime.mail("a")) < 3:  # noqa: ASYNC110  the store tells nobody
                    await asyncio.sleep(0.01)
            assert [mail.event for mail in found] == ["PASSED", "NOTED", "done.invoke.work"]
            gate.opened.set()
            await soon(agent.until("ENDED"))
