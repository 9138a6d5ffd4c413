"""One row that cannot be read never keeps others from being hosted, in no table: it is listed, and can be discarded."""

import asyncio
import json
import shutil
import sqlite3
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import Field
from sqlalchemy import Boolean, Integer

from gatechart import ANY, AgentContext, Invoke, Limits, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import StoreCorruptError, UnknownMailError
from gatechart.graph.handoff import Accepts
from gatechart.stores import open_store
from gatechart.stores.opening import open_asking
from gatechart.stores.sql.tables import metadata
from gatechart.testing import VirtualClock
from gatechart.values.agents import Status
from gatechart.values.delays import Retry
from gatechart.values.homes import Role
from gatechart.values.names import LATEST
from gatechart.values.queries import Request
from tests.homes import DATABASE_URLS
from tests.runtime.spoiling import by_hand
from tests.runtime.support import at_rest, parcel

pytestmark = pytest.mark.long

ONCE = Limits(mail_retry=Retry(attempts=1), timers=3, invokes=1000)
SOON = timedelta(seconds=0.01)
LARGEST = 2**63 - 1

TABLES = (  # those that are spoilt in one database
    *(["agents"], ["mail"], ["handoffs"], ["history"], ["invokes", "steps", "journals"]),
    *(["places", "requests", "graphs"], ["searchable", "found_values", "breakers"]),
)
KEYS = {"searchable": "field"}  # where the first column of the primary key is the same in all rows
OURS = {"key", "number", "agent", "invocation"}  # which the database itself keeps sound
VERSIONS = 16  # of a graph, so that there are rows of it to spoil


class Case(AgentContext):
    notes: list[str] = Field(default_factory=list)
    label: str = ""
    tags: dict[str, str] = Field(default_factory=dict)


FIELDS = ("label", *(f"tags.{number}" for number in range(20)))


def note(context, event):
    context.notes.append(event.name)
    context.label = event.payload.get("label", context.label)


def fail(context, event):
    raise RuntimeError("it never works")


def ask(context, event, turn):
    turn.handoff("desk", at="TAKING", mode="delegate")


def solve(context, event, turn):
    for each in turn.handoffs:
        turn.complete(each.id)


async def work_on(_context, work):
    await work.step("first", lambda: 1)
    await work.services.wait()
    return await work.step("second", lambda: 2)


def shop(version="1"):
    return StateTransitionGraph(
        "shop",
        version=version,
        context=Case,
        states=["IDLE", State("WORKING", invoke=Invoke(work_on, id="work")), "WORKED"],
        transitions=[
            Transition(ANY, "NOTED", actions=note),
            Transition(ANY, "DUE", actions=note),
            Transition(ANY, "handoff.completed", actions=note),
            Transition(ANY, "FAILED", actions=fail),
            Transition(ANY, "ASKED", actions=ask),
            Transition("IDLE", "WORKED_ON", "WORKING"),
            Transition("WORKING", "done.invoke.work", "WORKED"),
        ],
        entry_points=["IDLE"],
        searchable=FIELDS,
    )


desk = StateTransitionGraph(
    "desk",
    context=Case,
    states=["TAKING"],
    transitions=[Transition("TAKING", "SOLVED", actions=solve)],
    entry_points=["TAKING"],
    accepts=Accepts(capacity=1000),
)
GRAPHS = [*(shop(str(version)) for version in range(VERSIONS, 0, -1)), desk]


@pytest.fixture(params=DATABASE_URLS)
def url(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def filled_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("filled") / "agents.db"
    asyncio.run(fill(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture(scope="module")
def filled_database(postgres_server):
    name = postgres_server.new()
    asyncio.run(fill(postgres_server.url(name)))
    yield name
    postgres_server.ask(f"DROP DATABASE {name} (FORCE)")


@pytest.fixture
def filled_sqlite_url(filled_file, sqlite_path, sqlite_url):
    shutil.copy(filled_file, sqlite_path)
    return sqlite_url


@pytest.fixture
def filled_postgres_url(filled_database, postgres_server):
    name = f"{filled_database}_copy"
    postgres_server.ask(f"CREATE DATABASE {name} TEMPLATE {filled_database}")
    yield postgres_server.url(name)
    postgres_server.ask(f"DROP DATABASE {name} (FORCE)")


@pytest.fixture(params=["filled_sqlite_url", pytest.param("filled_postgres_url", marks=pytest.mark.processes)])
def filled_url(request):
    """The URL of a copy of what `fill` made."""
    return request.getfixturevalue(request.param)


def spoilt(url, table):
    """What may stand in one column of a row that somebody has spoilt: pairs of a column and SQL for its value."""
    is_sqlite = url.startswith("sqlite")
    for column in metadata.tables[table].columns:
        if column.name in OURS:
            continue
        if isinstance(column.type, Boolean):
            continue
        if isinstance(column.type, Integer):
            is_small = type(column.type) is Integer and not is_sqlite
            yield column.name, "2147483647" if is_small else str(LARGEST)
            yield column.name, "-2147483648" if is_small else str(-LARGEST)
            if is_sqlite:
                yield column.name, "'odd'"
                yield column.name, "x'ff00'"
            continue
        yield column.name, "'{' || {place}"
        yield column.name, "'[[[' || {place}"
        yield column.name, "'\"\\ud800' || {place} || '\"'"
        if is_sqlite:
            yield column.name, "CAST(x'ff' || {place} AS TEXT)"
            yield column.name, "CAST(x'ff00' || {place} AS BLOB)"


async def spoil(url, table):
    """Spoils as many rows of the table as there are ways to; the newest of them stay sound."""
    key = KEYS.get(table) or next(iter(metadata.tables[table].primary_key)).name
    ways = list(spoilt(url, table))
    order = "version" if table == "graphs" else key
    conditions = {"mail": "recipient LIKE 'v%'", "graphs": "name = 'shop'", "searchable": "field <> 'label'"}
    condition = f"WHERE {conditions[table]}" if table in conditions else ""
    rows = await by_hand(url, f"SELECT {key} FROM {table} {condition} ORDER BY {order} LIMIT {len(ways)}")
    assert len(rows) == len(ways) or table == "graphs"
    where = "{key} = {row} AND name = 'first'" if table == "steps" else "{key} = {row}"
    statements = []
    for place, ((row,), (column, value)) in enumerate(zip(rows, ways, strict=False)):
        new = value.replace("{place}", f"'{place}'")
        statements.append(f"UPDATE {table} SET {column} = {new} WHERE {where.format(key=key, row=repr(row))}")
    await by_hand(url, *statements, "SELECT 1")
    return len(statements)


async def lives(runtime, name):
    """An agent, and another one that asks: they have something in every table."""
    agent = await runtime.start("shop", at="IDLE", agent_id=name)
    await agent.send("NOTED", {"n": 1, "label": name}, event_id="known")
    await (await runtime.start("shop", at="IDLE", agent_id=f"{name} asks")).send("ASKED")
    await runtime.post(name, "FAILED", event_id="dies")
    await agent.send("WORKED_ON")
    await runtime.post(name, "DUE", {"n": 2}, due=datetime.now(UTC) + timedelta(days=1))


async def until(holds):
    async with asyncio.timeout(30):
        while not await holds():  # noqa: ASYNC110  the store tells nobody
            await asyncio.sleep(0.01)


async def fill(url):
    """A database in which so many agents live as a table's rows can be spoilt, and behind them sound ones."""
    ways = (len(list(spoilt(url, table))) for tables in TABLES for table in tables)
    names = [f"v{n:03}" for n in range(max(ways))]
    async with Runtime.open(url, graphs=GRAPHS, limits=ONCE, services=asyncio.Event()) as runtime:
        await asyncio.gather(*(lives(runtime, name) for name in names))
        await lives(runtime, "h")  # its rows are the last

        async def is_under_way():
            counts = await by_hand(
                url,
                "SELECT (SELECT count(*) FROM steps), (SELECT count(*) FROM places), "
                "(SELECT count(*) FROM mail WHERE status = 'dead')",
            )
            return counts == [(len(names) + 1,) * 3]

        await until(is_under_way)
    await by_hand(url, *rows_by_hand(names), "SELECT 1")
    async with open_asking(url) as asking:
        until_then = datetime.now(UTC) + timedelta(days=1)
        for n in range(len(names)):  # each takes a connection of its own
            await asking.ask(Request(f"r{n:03}", f"asker {n}", '{"verb":"find","limit":1}', until_then))
    async with Runtime.open(url, graphs=[desk], role=Role.VISITOR) as runtime:  # who leaves the mail to the next one
        for told in (names, ["h"]):
            await asyncio.gather(*(post_late(runtime, name) for name in told))
    await asyncio.sleep(0.02)


async def post_late(runtime, name):
    await runtime.post(name, "NOTED", {"late": True}, event_id="late")
    await runtime.post(name, "DUE", {"late": True}, due=datetime.now(UTC) + SOON)


def rows_by_hand(names):
    """Yield statements that insert rows which no verb of a runtime alone makes: a breaker and an entry per name."""
    for number, name in enumerate((*names, "h")):
        place = "z" if name == "h" else name  # rows are spoilt in this order, but for the last
        agent = f"(SELECT key FROM agents WHERE id = '{name}')"
        yield f"INSERT INTO journals VALUES ({number + 1}, {agent}, 'notes', 'first', '{{\"text\": \"{name}\"}}')"
        since = (
            f"since_us, retry_us, breaks, reason) VALUES ('{place}', 'OPEN', {number}, {LARGEST // 1000}, 1, 'down')"
        )
        yield f"INSERT INTO breakers (name, state, {since}"


async def pages(read, key):
    """All that a listing has, in small pages."""
    found, after = [], 0
    while page := await read(after=after, limit=20):
        found += page
        after = getattr(page[-1], key)
    return found


async def found(runtime, **query):
    agents, after = [], None
    while True:
        page = await runtime.find(after=after, limit=20, **query)
        agents += page.agents
        if page.next is None:
            return agents
        after = page.next


async def check_the_sound_one(runtime, done):
    """The agent behind the spoilt rows goes on with all that it had."""
    agent = await runtime.resume("h")

    async def has_its_mail():
        return {"NOTED", "DUE"} <= set(agent.context.notes[1:])

    await until(has_its_mail)
    done.set()
    await asyncio.wait_for(agent.until("WORKED"), 30)
    (handoff,) = await runtime.handoffs(source="h asks")
    await (await runtime.resume(handoff.target)).send("SOLVED")

    async def has_its_answer():
        return "handoff.completed" in asker.context.notes

    asker = await runtime.resume("h asks")
    await until(has_its_answer)
    assert "h" in [each.agent_id for each in await found(runtime)]
    assert "h" in [each.agent_id for each in await found(runtime, status="active", state="WORKED")]
    assert "h" in [each.agent_id for each in await found(runtime, graph="shop", where={"label": "h"})]
    (dead,) = await runtime.mail("h", status="dead")
    assert dead.number in [each.number for each in await pages(runtime.mail, "number")]
    await runtime.discard(dead.number)
    assert handoff.id in [each.id for each in await pages(runtime.handoffs, "number")]
    assert len(await runtime.history("h")) > 5
    assert "h" in [each.agent_id async for each in runtime.migrate(dry_run=True)]


async def check_prunes(runtime):
    nothing_yet = timedelta(0)
    await runtime.prune(keep_turns=1, ended_before=nothing_yet, mail_before=nothing_yet, ids_for=nothing_yet)
    assert len(await runtime.history("h")) == 1
    assert (await runtime.resume("h")).snapshot.version > 5


async def check_discards(runtime):
    """What cannot be read is listed, and is gone when it is discarded."""
    for mail in await runtime.mail(status="unreadable", limit=1000):
        assert mail.reason.startswith("its row in the database cannot be read (")
        with pytest.raises(UnknownMailError):
            await runtime.retry(mail.number)
        await runtime.discard(mail.number)
    for handoff in await runtime.handoffs(status="unreadable", limit=1000):
        assert "cannot be read" in handoff.changes[-1].details
        await runtime.cancel_handoff(handoff.id, reason="it cannot be read")
    for agent in await found(runtime, status="unreadable"):
        with pytest.raises(StoreCorruptError):
            await runtime.resume(agent.agent_id)
        await runtime.erase(agent.agent_id)
    assert await runtime.mail(status="unreadable") == await runtime.handoffs(status="unreadable") == []
    assert await found(runtime, status="unreadable") == []


async def unreadable(runtime):
    return {
        "agents": len(await found(runtime, status="unreadable")),
        "mail": len(await runtime.mail(status="unreadable", limit=1000)),
        "handoffs": len(await runtime.handoffs(status="unreadable", limit=1000)),
    }


@pytest.mark.parametrize("tables", TABLES, ids=" and ".join)
async def test_rows_that_cannot_be_read_keep_no_others_from_being_hosted(filled_url, tables):
    url = filled_url
    counts = {table: await spoil(url, table) for table in tables}
    done = asyncio.Event()
    async with Runtime.open(url, graphs=GRAPHS, limits=ONCE, services=done) as runtime:
        told = await unreadable(runtime)
        for table in told.keys() & counts:
            assert 0 < told[table] <= counts[table]
        await check_the_sound_one(runtime, done)
        await check_discards(runtime)
        await check_prunes(runtime)
    async with open_store(url, role=Role.READER) as store:
        assert "z" in [each.name for each in await store.breakers()]
        assert len(await store.journal("h", "notes")) == 1
    async with Runtime.open(url, graphs=GRAPHS, role=Role.READER) as reading:
        assert "h" in [each.agent_id for each in await found(reading)]
        assert await unreadable(reading) == dict.fromkeys(told, 0)


async def test_turns_that_cannot_be_read_are_listed_among_the_others(url):
    async with Runtime.open(url, graphs=[shop()]) as runtime:
        agent = await runtime.start("shop", at="IDLE", agent_id="a")
        await agent.send("NOTED")
        await agent.send("NOTED", {"n": 1}, event_id="known")
    await by_hand(url, "UPDATE history SET payload = '{' WHERE version = 3", "SELECT 1")
    async with Runtime.open(url, graphs=[shop()]) as runtime:
        turns = await runtime.history("a")
        assert [(turn.version, turn.status) for turn in turns] == [
            (1, Status.ACTIVE),
            (2, Status.ACTIVE),
            (3, Status.UNREADABLE),
        ]
        assert (turns[2].event.name, turns[2].event.id) == ("NOTED", "known")
        assert "cannot be read" in turns[2].taken[0]


async def test_requests_that_cannot_be_read_are_answered(url):
    late = datetime(9999, 1, 1, tzinfo=UTC)
    async with Runtime.open(url, graphs=[shop()]):
        pass
    async with open_asking(url) as asking:
        spoilt_one = await asking.ask(Request("r1", "ana", "{}", late))
        await by_hand(url, f"UPDATE requests SET call = '{{', until_us = {LARGEST}", "SELECT 1")
        sound = await asking.ask(
            Request("r2", "bob", '{"verb":"start","graph":"shop","at":"IDLE","agent_id":"a"}', late)
        )
        async with Runtime.open(url, graphs=[shop()]):

            async def are_answered():
                return None not in [await asking.answer_to(number) for number in (spoilt_one, sound)]

            await until(are_answered)
        assert "PayloadError" in await asking.answer_to(spoilt_one)
        assert json.loads(await asking.answer_to(sound))["answer"]["agent_id"] == "a"


@pytest.mark.parametrize("moment_us", [LARGEST, 253402318799000000, -62135614800000000, -LARGEST])
async def test_moments_beyond_the_calendar_are_read_as_its_first_or_last(url, moment_us):
    """Such moments were accepted once, in another zone: the database could not be opened any more."""
    async with Runtime.open(url, graphs=[shop(), desk]) as runtime:
        agent = await runtime.start("shop", at="IDLE", agent_id="a")
        for _ in range(8):  # more than a page of timers
            await runtime.post("a", "DUE", due=datetime.now(UTC) + timedelta(days=1))
        await agent.send("ASKED")
    changed = [
        f"UPDATE mail SET due_us = {moment_us}, accepted_us = {moment_us}",
        f"UPDATE handoffs SET deadline_us = {moment_us}",
        f"UPDATE history SET time_us = {moment_us}",
    ]
    await by_hand(url, *changed, "SELECT 1")
    async with Runtime.open(url, graphs=[shop(), desk], limits=ONCE) as runtime:
        agent = await runtime.resume("a")
        assert (await runtime.handoffs())[0].deadline.year == (9999 if moment_us > 0 else 1)
        assert (await runtime.history("a"))[0].event.time.year in (1, 9999)
        if moment_us > 0:
            assert {mail.due for mail in await runtime.mail("a")} == {LATEST}
            assert (await agent.send("NOTED")).applied
        else:

            async def is_due():
                return agent.context.notes.count("DUE") == 8

            await until(is_due)


@pytest.fixture
def clock():
    return VirtualClock()


async def test_a_damaged_agent_does_not_keep_the_mail_of_others(sqlite_url, sqlite_path, clock):
    async with Runtime.open(sqlite_url, graphs=[parcel], clock=clock, role=Role.VISITOR) as runtime:
        for agent_id in "abc":
            await runtime.start("parcel", at="PACKING", agent_id=agent_id)
    async with Runtime.open(sqlite_url, graphs=[parcel], clock=clock, role=Role.VISITOR) as runtime:
        for agent_id in "abc":
            await runtime.post(agent_id, "SENT")
    database = sqlite3.connect(sqlite_path)
    with database:
        database.execute("UPDATE agents SET configuration = '{' WHERE id = 'a'")
    database.close()
    async with Runtime.open(sqlite_url, graphs=[parcel], clock=clock) as runtime:
        await at_rest(runtime, clock)
        for agent_id in "bc":
            assert (await runtime.resume(agent_id)).configuration == ("ON_ROAD",)
        assert [mail.recipient for mail in await runtime.mail()] == ["a"]
