"""Agents go from version to version of their graph, with their timers, mail and invokes; or stay as they were."""

import asyncio
import logging
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import Field

from gatechart import ANY, AgentContext, Invoke, Migration, Runtime, State, StateTransitionGraph, Transition
from gatechart.errors import IncompatibleGraphError, ReadOnlyError
from gatechart.graph.definition import Then
from gatechart.runtime import maintenance
from gatechart.stores import open_store
from gatechart.testing import VirtualClock
from gatechart.values.homes import Role
from gatechart.values.migrations import Fate
from tests.runtime.support import WrappedStore, at_rest, eventually, everything, soon, unchanged, waiting

pytestmark = pytest.mark.needs("migrates_ahead")

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Case(AgentContext):
    notes: list[str] = Field(default_factory=list)


class Numbered(Case):
    number: int


class Loose(Case):
    anything: Any = None


def lose_number(stored):
    return replace(stored, context={**stored.context, "anything": math.nan})


def note(context, event):
    context.notes.append(event.name)


class Kitchen:
    """Services: what invokes do, and where they wait."""

    def __init__(self):
        self.done = []
        self.opened = asyncio.Event()

    def cook(self, what):
        self.done.append(what)
        return what


async def search(context, work):
    first = await work.step("first", work.services.cook, "soup")
    await work.services.opened.wait()
    return [first, await work.step("second", work.services.cook, f"pie for {len(context.notes)}")]


async def look_up(context, work):
    return await work.step("other", work.services.cook, "salad")


def case(version, *migrations, new="NEW", seeking="SEEKING", invoke=search, context=Case, more=()):
    """A graph whose states have other names in other versions."""
    return StateTransitionGraph(
        "case",
        version=version,
        context=context,
        states=[
            State(new, after={"60s": "LATE", "30s": Then(actions=note)}),
            State(seeking, invoke=Invoke(invoke, id="search"), after={"1h": "LATE"}),
            *more,
        ],
        transitions=[
            Transition(new, "ASKED", seeking),
            Transition(seeking, "done.invoke.search", "FOUND", actions=note),
            Transition(ANY, "NOTED", actions=note),
        ],
        entry_points=[new, seeking],
        migrations=migrations,
    )


def renaming(before, after, **names):
    return Migration(before, after, lambda stored: stored.renamed(names))


FIRST = case("1")
RENAMED = case("2", renaming("1", "2", NEW="OPEN", SEEKING="SEARCHING"), new="OPEN", seeking="SEARCHING")
BROKEN = case("2", Migration("1", "2", lambda stored: stored), new="OPEN")


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
def opened(place, clock):
    """Opens the runtime on one store, under one clock."""

    def opening(*graphs, services=None, **more):
        return Runtime.open(place, graphs=graphs, clock=clock, services=services or Kitchen(), **more)

    return opening


@pytest.fixture
async def new(opened):
    """The store holds the agent `new`, started in version 1."""
    async with opened(FIRST) as runtime:
        await runtime.start("case", at="NEW", agent_id="new")


async def all_of(runtime, **more):
    return [each async for each in runtime.migrate(**more)]


# What goes with an agent


async def test_a_state_is_renamed_with_its_timers_which_fire_when_they_were_due(new, opened, clock):
    clock.advance(20)
    async with opened(RENAMED) as runtime:
        agent = await runtime.resume("new")
        assert (agent.configuration, agent.snapshot.graph_version, agent.snapshot.version) == (("OPEN",), "2", 2)
        assert {mail.event for mail in await runtime.mail("new")} == {"after.30s.OPEN", "after.60s.OPEN"}
        clock.advance(10)
        await at_rest(runtime, clock)
        assert agent.context.notes == ["after.30s.OPEN"]
        clock.advance(30)
        await soon(agent.until("LATE"))
        entry = (await runtime.history("new"))[1]
        assert (entry.event.name, entry.event.payload) == ("agent.migrated", {"before": "1", "after": "2"})
        assert (entry.source, entry.target) == (("NEW",), ("OPEN",))
        assert await runtime.mail("new") == []


async def test_an_invoke_goes_on_with_the_steps_that_it_has_recorded(opened, clock):
    kitchen = Kitchen()
    async with opened(FIRST, services=kitchen) as runtime:
        await runtime.start("case", at="SEEKING", agent_id="a")
        await eventually(lambda: kitchen.done == ["soup"])
        await asyncio.sleep(0.05)
    kitchen.opened.set()
    async with opened(RENAMED, services=kitchen) as runtime:
        agent = await runtime.resume("a")
        await soon(agent.until("FOUND"))
        assert kitchen.done == ["soup", "pie for 0"]
        assert [entry.event.name for entry in await agent.history()][1:] == ["agent.migrated", "done.invoke.search"]


async def test_an_invoke_that_the_new_version_does_not_declare_ends(opened):
    kitchen = Kitchen()
    calm = StateTransitionGraph(
        "case",
        version="2",
        context=Case,
        transitions=[Transition("SEEKING", "NOTED", actions=note)],
        entry_points=["SEEKING"],
        migrations=Migration("1", "2", lambda stored: stored),
    )
    async with opened(FIRST, services=kitchen) as runtime:
        await runtime.start("case", at="SEEKING", agent_id="a")
        await eventually(lambda: kitchen.done == ["soup"])
    kitchen.opened.set()
    async with opened(calm, services=kitchen) as runtime:
        agent = await runtime.resume("a")
        assert (agent.snapshot.graph_version, agent.snapshot.entered) == ("2", ())
        assert await runtime.mail("a") == []  # its timer has gone with the epoch
    assert kitchen.done == ["soup"]


async def test_a_state_whose_entry_the_migration_drops_is_attended_anew(new, opened, clock):
    afresh = Migration("1", "2", lambda stored: replace(stored, configuration=("OPEN",), entered=()))
    clock.advance(20)
    async with opened(case("2", afresh, new="OPEN")) as runtime:
        agent = await runtime.resume("new")
        assert dict(agent.snapshot.entered) == {"OPEN": 2}
        due = {mail.event: mail.due for mail in await runtime.mail("new")}
        assert due == {"after.30s.OPEN": NOON + timedelta(seconds=50), "after.60s.OPEN": NOON + timedelta(seconds=80)}


async def test_waiting_mail_is_amended_or_dropped(new, opened):
    def renamed(stored):
        kept = tuple(replace(mail, event="NOTED") if mail.event == "OLD" else mail for mail in stored.mail)
        return replace(stored, mail=tuple(mail for mail in kept if mail.event != "DROPPED"))

    async with opened(FIRST, role=Role.VISITOR) as runtime:
        for event in ("OLD", "DROPPED", "NOTED"):
            await runtime.post("new", event, event_id=event)
    async with opened(case("2", Migration("1", "2", renamed))) as runtime:
        agent = await runtime.resume("new")
        await eventually(lambda: len(agent.context.notes) == 2)
        assert [entry.event.id for entry in await agent.history(after=2)] == ["OLD", "NOTED"]
        assert {mail.event for mail in await runtime.mail("new")} == {"after.30s.NEW", "after.60s.NEW"}


async def test_the_context_is_brought_along(new, opened):
    numbered = Migration("1", "2", lambda stored: replace(stored, context={**stored.context, "number": 7}))
    async with opened(case("2", numbered, context=Numbered)) as runtime:
        assert (await runtime.resume("new")).context == Numbered(number=7)


async def test_a_chain_of_migrations_is_one_turn(new, opened):
    chain = renaming("1", "2", NEW="FRESH"), renaming("2", "3", FRESH="OPEN")
    async with opened(case("3", *chain, new="OPEN")) as runtime:
        agent = await runtime.resume("new")
        assert (agent.configuration, agent.snapshot.graph_version) == (("OPEN",), "3")
        assert [entry.event.name for entry in await agent.history(after=1)] == ["agent.migrated"]
        assert (await runtime.resume("new")).snapshot == agent.snapshot


async def test_an_agent_that_has_ended_begins_nothing_again(new, opened):
    async with opened(FIRST) as runtime:
        await runtime.stop("new")
    async with opened(RENAMED) as runtime:
        assert [each.fate for each in await all_of(runtime)] == [Fate.MIGRATES]
        snapshot = (await runtime.resume("new")).snapshot
        assert (snapshot.status, snapshot.configuration, snapshot.entered) == ("stopped", ("OPEN",), ())
        assert await runtime.mail("new") == []


# What fits nowhere


def fails(stored):
    raise KeyError("number")


@pytest.mark.one_variant_is_enough
@pytest.mark.parametrize(
    ("graph", "problem"),
    [
        (case("2", new="OPEN"), "no migrations lead from the one to the other"),
        (BROKEN, "'NEW' is not a leaf of version '2'"),
        (case("2", Migration("1", "2", fails)), "migration fails of '1' to '2' raised KeyError: 'number'"),
        (case("2", Migration("1", "2", dict)), "migration dict of '1' to '2' raised TypeError"),
        (case("2", Migration("1", "2", lambda stored: None)), "migration <lambda> returned a NoneType, not a Stored"),
        (
            case("2", Migration("1", "2", lambda stored: replace(stored, configuration=None))),
            "its migrations gave what is no agent: TypeError",
        ),
        (
            case("2", Migration("1", "2", lambda stored: replace(stored, memory=(("WAS", ("NEW",)),)))),
            "'WAS', which remembers, is not a history state of version '2'",
        ),
        (case("2", Migration("1", "2", lambda stored: stored), context=Numbered), "its context would be no Numbered"),
        (case("2", Migration("1", "2", lose_number), context=Loose), "anything: nan would come back as 'NaN'"),
    ],
)
async def test_what_fits_nowhere_is_refused_and_stays_as_it_was(new, opened, graph, problem):
    async with opened(FIRST, role=Role.READER) as runtime:
        before = await everything(runtime), await runtime.mail()
    async with opened(graph) as runtime:
        with pytest.raises(IncompatibleGraphError) as caught:
            await runtime.resume("new")
        assert problem in str(caught.value)
        for told in (await all_of(runtime, dry_run=True), await all_of(runtime)):
            ((fate, version, target),) = {(each.fate, each.after, each.target) for each in told}
            assert (fate, version, target) == (Fate.STUCK, "1", ("NEW",))
            assert problem in told[0].problem
        assert (await everything(runtime), await runtime.mail()) == before


async def test_the_missing_state_is_told_with_its_full_path(opened):
    deep = State("OUTER", states=[State("MIDDLE", states=["INNER"])])
    before = StateTransitionGraph("deep", states=deep, entry_points=["INNER"])
    after = StateTransitionGraph("deep", states=State("OUTER", states=["MIDDLE"]), entry_points=["MIDDLE"])
    async with opened(before) as runtime:
        await runtime.start("deep", at="INNER", agent_id="a")
    async with opened(after) as runtime:
        with pytest.raises(IncompatibleGraphError, match=r"the agent is in OUTER\.MIDDLE\.INNER, version '1'"):
            await runtime.resume("a")


async def test_one_that_is_stuck_does_not_stop_the_others_and_its_mail_waits(new, opened):
    def picky(stored):
        return stored.renamed({"NEW": "OPEN"}) if not stored.context["notes"] else stored

    async with opened(FIRST) as runtime:
        await (await runtime.resume("new")).send("NOTED")
        await runtime.start("case", at="NEW", agent_id="newer")
    async with opened(case("2", Migration("1", "2", picky), new="OPEN")) as runtime:
        await runtime.post("new", "NOTED", event_id="later")
        assert [(each.agent_id, each.fate) for each in await all_of(runtime)] == [
            ("new", Fate.STUCK),
            ("newer", Fate.MIGRATES),
        ]
        assert "later" in {mail.id for mail in await runtime.mail("new")}


async def test_an_agent_whose_graph_is_not_registered_is_told(new, opened):
    async with opened(StateTransitionGraph("other", states=["A"], entry_points=["A"])) as runtime:
        (told,) = await all_of(runtime)
        assert (told.fate, told.before, told.after) == (Fate.STUCK, "1", "1")
        assert told.problem.startswith("no graph is named 'case'")


# A graph changed without a new version


async def test_a_change_of_the_same_version_that_fits_is_accepted_and_logged(new, opened, caplog):
    with caplog.at_level(logging.WARNING, "gatechart"):
        async with opened(case("1", more=["SPARE"])) as runtime:
            assert [each.fate for each in await all_of(runtime)] == [Fate.CHANGED]
            outcome = await (await runtime.resume("new")).send("NOTED")
            assert outcome.applied
    assert "a graph was changed without a new version" in caplog.text


async def test_a_change_of_the_same_version_without_the_state_is_refused(new, opened):
    async with opened(case("1", new="OPEN")) as runtime:
        (told,) = await all_of(runtime)
        assert told.fate is Fate.STUCK
        assert told.problem == "'NEW' is not a leaf of version '1' (the agent is in NEW, version '1')"
        with pytest.raises(IncompatibleGraphError, match="'NEW' is not a leaf"):
            await runtime.resume("new")


# Versions side by side


async def test_an_agent_keeps_a_version_that_is_registered_and_new_ones_get_the_newest(new, opened):
    async with opened(FIRST, RENAMED) as runtime:
        resident = await runtime.resume("new")
        await runtime.start("case", at="OPEN", agent_id="newer")
        assert [(each.agent_id, each.fate, each.before, each.after) for each in await all_of(runtime)] == [
            ("new", Fate.STAYS, "1", "1"),
            ("newer", Fate.STAYS, "2", "2"),
        ]
        assert (resident.snapshot.graph_version, resident.snapshot.version) == ("1", 1)


# When it happens by itself


async def test_a_timer_that_fires_migrates_its_agent(new, opened, clock):
    clock.advance(30)
    async with opened(RENAMED) as runtime:
        await at_rest(runtime, clock)
        assert [entry.event.name for entry in (await runtime.history("new"))[1:]] == [
            "agent.migrated",
            "after.30s.OPEN",
        ]


async def test_mail_migrates_its_recipient(new, opened, clock):
    async with opened(RENAMED) as runtime:
        await runtime.post("new", "NOTED")
        await at_rest(runtime, clock)
        assert [entry.event.name for entry in (await runtime.history("new"))[1:]] == ["agent.migrated", "NOTED"]


async def test_an_invoke_that_is_recovered_migrates_its_agent(opened, clock):
    kitchen = Kitchen()
    async with opened(FIRST, services=kitchen) as runtime:
        await runtime.start("case", at="SEEKING", agent_id="a")
        await eventually(lambda: kitchen.done == ["soup"])
    kitchen.opened.set()
    async with opened(RENAMED, services=kitchen) as runtime:
        await soon((await runtime.resume("a")).until("FOUND"))
        assert {snapshot.graph_version for snapshot in (await runtime.find()).agents} == {"2"}


# All of them


async def test_a_dry_run_tells_what_would_change_and_changes_nothing(new, opened):
    kitchen = Kitchen()
    async with opened(FIRST, services=kitchen) as runtime:
        await runtime.start("case", at="SEEKING", agent_id="seeking")
        await eventually(lambda: kitchen.done == ["soup"])
        before = await everything(runtime), await runtime.mail()
    async with opened(RENAMED, role=Role.READER) as runtime:
        told = await all_of(runtime, dry_run=True)
        assert [(each.agent_id, each.fate, each.source, each.target) for each in told] == [
            ("new", Fate.MIGRATES, ("NEW",), ("OPEN",)),
            ("seeking", Fate.MIGRATES, ("SEEKING",), ("SEARCHING",)),
        ]
        assert [(each.mail_amended, each.mail_ended, each.invokes_kept) for each in told] == [(2, 0, 0), (1, 0, 1)]
        assert (await everything(runtime), await runtime.mail()) == before
        with pytest.raises(ReadOnlyError):
            await all_of(runtime)


async def test_all_migrate_page_by_page_and_once(opened, monkeypatch):
    monkeypatch.setattr(maintenance, "PAGE", 3)
    monkeypatch.setattr(maintenance, "TOGETHER", 2)
    ids = [f"a{number}" for number in range(10)]
    async with opened(FIRST) as runtime:
        for agent_id in ids:
            await runtime.start("case", at="NEW", agent_id=agent_id)
    async with opened(RENAMED) as runtime:
        first = await all_of(runtime)
        assert [(each.agent_id, each.fate) for each in first] == [(agent_id, Fate.MIGRATES) for agent_id in ids]
        assert {each.fate for each in await all_of(runtime)} == {Fate.STAYS}
        assert {snapshot.version for snapshot in (await runtime.find()).agents} == {2}


async def test_an_erased_agent_does_not_stop_the_rest(opened, monkeypatch):
    monkeypatch.setattr(maintenance, "PAGE", 2)
    async with opened(FIRST) as runtime:
        for agent_id in "abcd":
            await runtime.start("case", at="NEW", agent_id=agent_id)
    async with opened(RENAMED) as runtime:
        seen = []
        async for each in runtime.migrate():
            seen.append(each.agent_id)
            if each.agent_id in "ab":
                await runtime.erase(each.agent_id)
        assert seen[-2:] == ["c", "d"]
        assert [snapshot.graph_version for snapshot in (await runtime.find()).agents] == ["2", "2"]


async def test_feeds_tell_of_migrations(new, opened):
    async with opened(RENAMED) as runtime, runtime.changes() as changes:
        await all_of(runtime)
        assert (await soon(anext(changes))).event.name == "agent.migrated"


@pytest.mark.needs("takes_a_clock")
async def test_an_agent_whose_migration_gives_mail_that_nobody_can_write_does_not_keep_the_others(place, clock):
    def spoil_first(stored):
        spoilt = (replace(mail, payload={"what": object()}) for mail in stored.mail)
        return replace(stored, mail=tuple(spoilt)) if stored.mail[0].recipient == "a" else stored

    async with Runtime.open(place, graphs=[waiting()], clock=clock, role=Role.VISITOR) as runtime:
        for agent_id in "abc":
            await runtime.start("waiting", at="WAITING", agent_id=agent_id)
    async with Runtime.open(place, graphs=[waiting()], clock=clock, role=Role.VISITOR) as runtime:
        for agent_id in "abc":
            await runtime.post(agent_id, "MOVED")
    graph = waiting("2", Migration("1", "2", spoil_first))
    async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
        await at_rest(runtime, clock)
        found = {agent.agent_id: agent.configuration for agent in (await runtime.find()).agents}
        assert found == {"a": ("WAITING",), "b": ("MOVED",), "c": ("MOVED",)}
        assert [mail.recipient for mail in await runtime.mail()] == ["a"]


async def test_what_a_migration_begins_begins_although_its_resume_was_cancelled_meanwhile(sqlite_url, clock):
    begun, reached, opened = [], asyncio.Event(), asyncio.Event()

    async def begin(context, work):
        begun.append(work.agent_id)

    async def hold(_):
        reached.set()
        await opened.wait()

    async with Runtime.open(sqlite_url, graphs=[waiting()], clock=clock) as runtime:
        await runtime.start("waiting", at="WAITING", agent_id="a")
    async with open_store(sqlite_url) as store:
        wrapped = WrappedStore(store)
        graph = waiting("2", Migration("1", "2", unchanged), invoke=begin)
        async with Runtime.open(wrapped, graphs=[graph], clock=clock) as runtime:
            wrapped.after = hold
            resuming = asyncio.create_task(runtime.resume("a"))
            await soon(reached.wait())
            resuming.cancel()
            with pytest.raises(asyncio.CancelledError):
                await soon(resuming)
            opened.set()
            await eventually(lambda: begun)
            await soon((await runtime.resume("a")).until("MOVED"))
    assert begun == ["a"]


@pytest.mark.needs("migrates_ahead")
async def test_an_idempotency_key_stays_the_same_when_a_migration_renames_the_state(place, clock):
    keys = []

    async def pay(context, work):
        keys.append(work.idempotency_key("pay"))
        await asyncio.Event().wait()

    renaming = Migration("1", "2", lambda stored: stored.renamed({"PAYING": "SETTLING"}))
    for graph in waiting("1", state="PAYING", invoke=pay), waiting("2", renaming, state="SETTLING", invoke=pay):
        known = len(keys)
        async with Runtime.open(place, graphs=[graph], clock=clock) as runtime:
            if not known:
                await runtime.start("waiting", at="PAYING", agent_id="a")
            await eventually(lambda: len(keys) > known)  # noqa: B023  it is called at once
    assert keys == [keys[0]] * 2
