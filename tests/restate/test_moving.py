"""Agents that move from a database to the engine go on there as if they had stayed."""

import asyncio
import json
import os
import shutil
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from gatechart import EntryPoint, Handoff, HandoffPacket, Runtime, State, StateTransitionGraph, Transition
from gatechart.alerts import Alerts
from gatechart.cli import main
from gatechart.errors import (
    AgentAsleepError,
    ElsewhereError,
    MoveError,
    StoreMovedError,
    StoreOwnedError,
    UnknownAgentError,
)
from gatechart.graph.definition import Invoke
from gatechart.graph.migration import Migration
from gatechart.hosting.directory_graph import entry_context
from gatechart.hosting.own_agents import own_agents_of
from gatechart.restate.migration.move import move_to_engine
from gatechart.runtime import Choosing
from gatechart.selection import Best, Learned, Profile
from gatechart.stores import open_store
from gatechart.stores.opening import open_asking
from gatechart.stores.sql.tables import metadata
from gatechart.turn.alerts import alert_payload
from gatechart.values.alerts import ALERT, AlertMessage
from gatechart.values.breakers import BreakerRecord, BreakerState
from gatechart.values.commits import BreakerChange
from gatechart.values.delays import Retry
from gatechart.values.handoffs import HandoffStatus
from gatechart.values.homes import Role
from gatechart.values.queries import Request
from tests.ports import free_ports
from tests.restate.engines import eventually
from tests.restate.moving import home, quiet
from tests.restate.travellers import LIMITS, Tools, fill, finish, graphs, travelling


@pytest.fixture(autouse=True)
def _ends():
    """A move has many calls: each test here ends with those outside, and with the waits that it makes."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A file with agents in all states that there are."""
    path = tmp_path_factory.mktemp("filled") / "agents.db"
    asyncio.run(fill(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture
def here(filled, sqlite_path, sqlite_url):
    """The URL of a copy of it."""
    shutil.copy(filled, sqlite_path)
    return sqlite_url


async def test_agents_go_on_on_the_engine_as_they_would_have_where_they_were(engine, tmp_path, filled, here):
    stayed = f"sqlite+aiosqlite:///{shutil.copy(filled, tmp_path / 'stayed.db')}"
    async with home(engine, tmp_path) as (namespace, tools, opened):
        moved = await move_to_engine(here, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            there = await finish(runtime, tools)
    assert (moved.agents, moved.unborn, moved.invokes, moved.steps, moved.places) == (15, 2, 1, 1, 1)
    old_tools = Tools()
    async with Runtime.open(stayed, graphs=graphs, services=old_tools, limits=LIMITS) as runtime:
        assert there == await finish(runtime, old_tools)
    assert tools.calls == old_tools.calls == {"second": 1}  # the first step was recorded


async def test_circuit_breakers_are_as_they_were_unless_they_are_used_there(engine, tmp_path, here):
    noon = datetime(2030, 1, 1, 12, tzinfo=UTC)
    crm = BreakerRecord("crm", BreakerState.OPEN, noon, noon + timedelta(hours=1), 2, "503")
    erp = BreakerRecord("erp", BreakerState.ISOLATED, noon, reason="the ERP moves")
    async with open_store(here) as store:
        await store.commit([BreakerChange(crm), BreakerChange(erp)])
    async with home(engine, tmp_path) as (namespace, _, opened):
        async with opened() as runtime:
            used = await runtime.isolate_breaker("erp", reason="it is used here")
        for breakers in (2, 0):  # a move that is repeated awakens once more, and reports nothing else
            moved = await move_to_engine(here, engine.ingress, namespace=namespace, tell=quiet)
            assert moved.breakers == breakers
            async with opened() as runtime:
                assert list(await runtime.breakers()) == [crm, used]


async def everything(store_url):
    """All rows of the tables that hold agents."""
    async with open_store(store_url, role=Role.READER) as store:
        return await store.read(
            lambda connection: {
                name: [tuple(row) for row in connection.execute(select(table))]
                for name, table in metadata.tables.items()
                if name != "owner"
            }
        )


@pytest.fixture(params=["sqlite", "postgresql"])
def source(request):
    """The URL of a database of either kind with agents in all states that there are."""
    if request.param == "sqlite":
        return request.getfixturevalue("here")
    url = request.getfixturevalue("postgres_url")
    asyncio.run(fill(url))
    return url


async def test_a_move_from_any_database_is_made_once_and_seals_it(engine, tmp_path, source):
    before = await everything(source)
    async with home(engine, tmp_path) as (namespace, tools, opened):
        told = {"namespace": namespace, "tell": quiet}
        moved = await move_to_engine(source, engine.ingress, **told)
        again = await move_to_engine(source, engine.ingress, **told)
        assert (moved.before, moved.awakened, moved.turns_left) == (None, moved.agents + moved.unborn, 0)
        assert (again.before is not None, again.awakened) == (True, 0)
        with pytest.raises(StoreMovedError, match=namespace):
            await move_to_engine(source, engine.ingress, namespace="elsewhere", tell=quiet)
        async with opened() as runtime:
            await finish(runtime, tools)
    with pytest.raises(StoreMovedError, match="continue there"):
        async with Runtime.open(source, graphs=graphs):
            pass
    assert await everything(source) == before
    assert tools.calls == {"second": 1}


async def cool_and_fail(context, work):
    await work.sleep("cooling", "300ms")
    work.services.call("tried")
    raise ConnectionError("down")


cooling = StateTransitionGraph(
    "cooling",
    states=[State("BUSY", invoke=Invoke(cool_and_fail, retry=Retry(attempts=2, first_s=2)))],
    transitions=[Transition("BUSY", "error.invoke.cool_and_fail", "DONE")],
    entry_points=["BUSY"],
)


async def test_an_invoke_that_moves_while_it_waits_counts_on_and_waits_for_the_rest(engine, tmp_path, sqlite_url):
    old_tools = Tools()
    async with Runtime.open(sqlite_url, graphs=[cooling], services=old_tools) as runtime:
        await runtime.start("cooling", at="BUSY", agent_id="c-1")
        async with asyncio.timeout(60):
            while len(await recorded(sqlite_url)) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        failed = datetime.now(UTC)
    async with home(engine, tmp_path, served=[cooling]) as (namespace, tools, opened):
        moved = await move_to_engine(sqlite_url, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            agent = await runtime.resume("c-1")
            await agent.until("DONE", timeout=20)
            await runtime.caught_up("c-1")
            ended = (await runtime.history("c-1"))[-1].event
    assert (moved.steps, ended.payload["attempts"], old_tools.calls, tools.calls) == (2, 2, {"tried": 1}, {"tried": 1})
    assert ended.time > failed + timedelta(seconds=1.5)


async def recorded(store_url):
    """The names of what is recorded of invocations."""
    return [row[1] for row in (await everything(store_url))["steps"]]


LETTER = HandoffPacket(user_id="ada", current_problem="please refund my order")
report = StateTransitionGraph("report", states=[State("SENT", final=True)], entry_points=["SENT"])


async def test_a_schedule_that_moves_goes_on_with_the_moment_that_was_next(engine, tmp_path, sqlite_url):
    async with Runtime.open(sqlite_url, graphs=[report]) as runtime:
        made = await runtime.schedule("often", report, at="SENT", every="500ms", overlap="start", missed="each")
    async with home(engine, tmp_path, served=[report], schedules=True) as (namespace, _tools, opened):
        await move_to_engine(sqlite_url, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime, asyncio.timeout(60):
            while len((found := (await runtime.schedules())[0]).started) < 3:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            await runtime.delete_schedule("often")
    assert found.started[0] == f"often@{made.next:%Y-%m-%dT%H:%M:%S.%fZ}"


async def test_entries_of_the_directory_move_along_with_what_is_kept_of_them(engine, tmp_path, sqlite_url):
    async with Runtime.open(sqlite_url, graphs=[report]) as runtime:
        made = await runtime.register_entry("anna", report, at="SENT", capacity=2, lasts="1d", registrant="crm")
        await runtime.mark_entry("anna", "pinned", reason="she knows")
    async with home(engine, tmp_path, served=[report]) as (namespace, _tools, opened):
        await move_to_engine(sqlite_url, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            await runtime.caught_up("directory:anna")
            (moved,) = await runtime.directory("anna")
            assert (moved.expires, moved.registrant, moved.mark) == (made.expires, "crm", "pinned")
            await runtime.deregister_entry("anna")
            assert await runtime.directory("anna") == ()


async def test_what_is_kept_of_choices_moves_along_and_is_forgotten_there(engine, tmp_path, sqlite_url):
    chosen = Handoff(Best(scorers={"text": 1.0}), packet=lambda context, event: LETTER)
    asking = StateTransitionGraph(
        "asking", transitions=[Transition("TALKING", "ASKED", "WAITING", actions=chosen)], entry_points=["TALKING"]
    )
    asked = EntryPoint("SENT", profile=Profile(samples=("refund my order",), expected_s=60))
    refund = StateTransitionGraph("refund", states=[State("SENT", final=True)], entry_points=[asked])
    kept_by, graphs = "directory:refund.SENT", [asking, refund]
    async with Runtime.open(sqlite_url, graphs=graphs, choosing=Choosing(learned=Learned())) as runtime:
        agent = await runtime.start("asking", at="TALKING")
        await agent.send("ASKED")
        await eventually(lambda: _ended(runtime, kept_by))
        before = entry_context(await runtime.read(kept_by))
        (row,) = await runtime.handoffs()
    async with home(engine, tmp_path, served=graphs) as (namespace, _tools, opened):
        await move_to_engine(sqlite_url, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            await runtime.caught_up(kept_by)
            assert entry_context(await runtime.read(kept_by)) == before
            assert (await runtime.handoffs())[0].choice == row.choice
            await runtime.forget_user("ada")
            await runtime.caught_up(kept_by)
            left = entry_context(await runtime.read(kept_by))
            assert (left.choices, left.outcomes, left.completed) == ([], [], 1)


async def _ended(runtime, agent_id):
    if not await runtime.handoffs(status="completed"):
        return False
    kept = entry_context(await runtime.read(agent_id))
    return bool(kept.choices) and kept.choices[0].ended is not None


async def test_the_agent_of_a_sink_that_the_service_has_just_started_gives_way_to_the_one_that_moves(
    engine, tmp_path, sqlite_url
):
    class Sink:
        async def deliver(self, alert):
            pass

    alert = AlertMessage("a-1", "stuck", "case-1 stands still", datetime(2030, 1, 1, tzinfo=UTC))
    async with Runtime.open(sqlite_url, graphs=[report], alerts=Alerts({"ops": Sink()})) as runtime:
        await own_agents_of(runtime).post("alerts:ops", ALERT, alert_payload(alert), event_id="a-1")
        await eventually(lambda: _delivered(runtime))
        before = await runtime.read("alerts:ops")
    async with home(engine, tmp_path, served=[report], alerts=Alerts({"ops": Sink()})) as (namespace, _tools, opened):
        async with opened() as runtime:
            await eventually(lambda: _is_projected(runtime, "alerts:ops"))
        await move_to_engine(sqlite_url, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            await runtime.caught_up("alerts:ops")
            moved = await runtime.read("alerts:ops")
            assert (moved.version, moved.context) == (before.version, before.context)
            assert [each.version for each in await runtime.history("alerts:ops")] == [*range(1, before.version + 1)]


async def _delivered(runtime):
    return (await runtime.read("alerts:ops")).context["delivered"]


async def _is_projected(runtime, agent_id):
    try:
        return not await runtime.lag(agent_id)
    except UnknownAgentError:
        return False


async def test_a_schedule_moves_only_to_a_service_that_has_schedules(engine, tmp_path, sqlite_url):
    async with Runtime.open(sqlite_url, graphs=[report]) as runtime:
        await runtime.schedule("daily", report, at="SENT", every="1d")
    async with home(engine, tmp_path, served=[report]) as (namespace, _tools, opened):
        with pytest.raises(MoveError, match=r"schedule:daily"):
            await move_to_engine(sqlite_url, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            with pytest.raises(ElsewhereError, match=r"serving\(ingress"):
                await runtime.schedule("daily", report, at="SENT", every="1d")


async def test_history_and_handoffs_go_along(engine, tmp_path, here):
    async with home(engine, tmp_path) as (namespace, _tools, opened):
        await move_to_engine(here, engine.ingress, namespace=namespace, tell=quiet)
        async with Runtime.open(here, graphs=graphs, role=Role.READER) as old, opened() as new:
            agents = (await old.find(limit=100)).agents
            assert {each.agent_id for each in (await new.find(limit=100)).agents} >= {each.agent_id for each in agents}
            for each in agents:
                past = await old.history(each.agent_id)
                assert (await new.history(each.agent_id))[: len(past)] == past
            agent = await old.resume("plain-0")
            assert await new.snapshot_at("plain-0", 4) == await agent.snapshot_at(4)
            assert {each.id for each in await new.handoffs()} == {each.id for each in await old.handoffs()}
            outcome = await (await new.resume("plain-0")).send("NOTED", {"n": 1}, event_id="event-1")
            assert outcome.repeat


@pytest.mark.slow
async def test_only_the_newest_turns_go_along_where_so_many_are_wanted(engine, tmp_path, here):
    async with home(engine, tmp_path) as (namespace, _tools, opened):
        moved = await move_to_engine(here, engine.ingress, namespace=namespace, turns=2, tell=quiet)
        async with opened() as runtime:
            agent = await runtime.resume("plain-0")
            await agent.send("NOTED", {"n": "there"})
            await runtime.caught_up("plain-0")
            assert [each.version for each in await runtime.history("plain-0")][:3] == [5, 6, 7]
            await agent.rollback(5, reason="to see what that does")
            assert agent.context.notes == [f"NOTED {n}" for n in range(4)]
    async with Runtime.open(here, graphs=graphs, role=Role.READER) as old:
        versions = [each.version for each in (await old.find(limit=100)).agents]
    assert moved.turns_left == sum(max(version - 2, 0) for version in versions) > 4
    assert moved.turns + moved.turns_left == sum(versions)


async def test_without_a_projection_all_history_stays_behind(engine, tmp_path, here):
    async with home(engine, tmp_path, projects=False) as (namespace, _tools, opened):
        moved = await move_to_engine(here, engine.ingress, namespace=namespace, tell=quiet)
        async with opened() as runtime:
            assert (await runtime.resume("plain-0")).snapshot.version >= 6
    assert (moved.turns, moved.turns_left > moved.agents) == (0, True)


async def test_a_dry_run_changes_nothing_beside_an_owner_who_keeps_a_move_off(engine, tmp_path, here):
    async with home(engine, tmp_path) as (namespace, _tools, opened), opened() as runtime:
        told = {"namespace": namespace, "tell": quiet}
        async with Runtime.open(here, graphs=[], role=Role.VISITOR):
            before = await everything(here)
            with pytest.raises(StoreOwnedError, match=f"process {os.getpid()}"):
                await move_to_engine(here, engine.ingress, **told)
            dry = await move_to_engine(here, engine.ingress, dry_run=True, **told)
            assert (dry.is_dry, dry.agents, dry.mail) == (True, 15, len(before["mail"]))
            assert await everything(here) == before
        with pytest.raises(UnknownAgentError):
            await runtime.resume("plain-0")
        moved = await move_to_engine(here, engine.ingress, **told)
        assert moved.digest == dry.digest


async def test_an_agent_that_lives_there_stops_the_move_before_anything_is_moved(engine, tmp_path, here):
    async with home(engine, tmp_path) as (namespace, _tools, opened), opened() as runtime:
        other = await runtime.start("traveller", at="RESTING", agent_id="plain-0")
        await runtime.post("timed-0", "NOTED", {"n": "early"})  # to nobody yet
        with pytest.raises(MoveError, match=r"live there already.*'plain-0'") as raised:
            await move_to_engine(here, engine.ingress, namespace=namespace, tell=quiet)
        assert raised.value.agents == ("plain-0",)
        assert (await runtime.resume("plain-0")).snapshot.version == 1
        with pytest.raises(UnknownAgentError):
            await runtime.resume("away-0")
        await runtime.erase(other.id)
        await move_to_engine(here, engine.ingress, namespace=namespace, tell=quiet)
        await eventually(lambda: has(runtime, "timed-0", "early"))
        notes = (await runtime.resume("timed-0")).context.notes
    assert [each for each in notes if "NOTED" in each] == [*(f"NOTED {n}" for n in range(3)), 'NOTED "early"']


async def has(runtime, agent_id, text):
    return text in (await runtime.resume(agent_id)).snapshot.context_text


async def test_what_cannot_travel_is_told_before_anything_is_moved(engine, tmp_path, here):
    async with Runtime.open(here, graphs=graphs, role=Role.VISITOR) as runtime:
        await (await runtime.resume("away-0")).send("NOTED", {"n": "x" * 9000})

    async def problem(**place):
        async with home(engine, tmp_path, **place) as (namespace, _, opened):
            with pytest.raises(MoveError) as raised:
                await move_to_engine(here, engine.ingress, namespace=namespace, tell=quiet)
            async with opened() as runtime:
                with pytest.raises(UnknownAgentError):
                    await runtime.resume("stopped-0")
        return raised.value

    large = await problem(terms={"most_bytes": 9000})
    assert large.agents == ("away-0",)
    unknown = await problem(served=[each for each in graphs if each.name != "crowded"])
    assert len(unknown.agents) == 1
    assert "knows no version of their graphs" in str(unknown)
    step = Migration("1", "2", lambda stored: stored)
    losing = await problem(served=[travelling("2", step), *graphs[1:]])
    assert losing.agents == ("reader-0",)
    async with open_asking(here) as asking:
        until = datetime.now(UTC) + timedelta(minutes=1)
        await asking.ask(Request("r-1", "somebody", "{}", until))
    assert "1 requests of other processes" in str(await problem())
    async with Runtime.open(here, graphs=graphs, role=Role.READER) as runtime:
        assert (await runtime.resume("reader-0")).configuration == ("READING",)


class StoppedError(Exception):
    """By whoever moves agents."""


def stopping(when):
    """Tells nobody, and ends the move once this is done."""

    def tell(doing, done, total):
        if doing == when:
            raise StoppedError(doing)

    return tell


async def test_until_all_are_there_they_live_where_they_were_and_sleep_there(engine, tmp_path, here):
    """A move that was stopped, then their host had the agents go on, then it is begun again."""
    async with home(engine, tmp_path) as (namespace, tools, opened), opened() as runtime:
        told = {"namespace": namespace}
        for when in ("taken there", "history taken there", "compared"):
            with pytest.raises(StoppedError):
                await move_to_engine(here, engine.ingress, tell=stopping(when), **told)
        before = (await runtime.resume("plain-0")).snapshot.version
        assert before in (6, 7)  # on a busy machine the delayed note is due before the move begins
        with pytest.raises(AgentAsleepError, match="'plain-0' is being moved here"):
            await (await runtime.resume("plain-0")).send("NOTED", {"n": "not yet"})
        with pytest.raises(AgentAsleepError):
            await runtime.start("traveller", at="RESTING", agent_id="nobody-0")
        await runtime.post("plain-0", "NOTED", {"n": "late"}, event_id="late")
        assert (await runtime.resume("plain-0")).snapshot.version == before
        async with Runtime.open(here, graphs=graphs, services=Tools(), limits=LIMITS) as owner:
            await eventually(lambda: has(owner, "asker-0", "handoff.accepted"))
            await eventually(lambda: has(owner, "caller-0", "handoff.accepted"))
            await (await owner.resume("plain-0")).send("NOTED", {"n": "on the way"})
            await owner.erase("stopped-0")
        await runtime.erase("stopped-0")
        moved = await move_to_engine(here, engine.ingress, tell=quiet, **told)
        assert 0 < moved.were_there < moved.agents  # those whom their host had nothing to do for
        there = await finish(runtime, tools, without=("stopped",))
    notes = there["plain-0"][1]["notes"]
    assert [each for each in notes if "delayed" not in each] == [
        *(f"NOTED {n}" for n in range(5)),
        'NOTED "on the way"',
        'NOTED "late"',
    ]
    assert tools.calls == {"second": 1}


@pytest.mark.slow
async def test_after_the_seal_a_move_that_was_stopped_goes_on(engine, tmp_path, here):
    async with home(engine, tmp_path) as (namespace, tools, opened):
        for when in ("places taken", "awakened"):
            with pytest.raises(StoppedError):
                await move_to_engine(here, engine.ingress, namespace=namespace, tell=stopping(when))
            with pytest.raises(StoreMovedError):
                async with Runtime.open(here, graphs=graphs):
                    pass
        moved = await move_to_engine(here, engine.ingress, namespace=namespace, tell=quiet)
        assert (moved.before is not None, moved.awakened) == (True, 2)  # those that are yet to begin come last
        async with opened() as runtime:
            await finish(runtime, tools)


async def test_a_place_that_is_held_is_held_there(engine, tmp_path, here):
    async with home(engine, tmp_path) as (namespace, _tools, opened), opened() as runtime:
        await move_to_engine(here, engine.ingress, namespace=namespace, tell=quiet)

        async def asked(agent_id):
            agent = await runtime.start("first", at="TALKING", agent_id=agent_id)
            await agent.send("ASK", {"to": "crowded", "mode": "delegate"})
            await eventually(lambda: has(runtime, agent_id, "handoff."))
            return agent.context.told[0]

        refused = await asked("second-guest")
        assert (refused["name"], refused["details"]) == ("handoff.rejected", "1 are under way")
        (held,) = await runtime.handoffs(source="guest-0")
        await (await runtime.resume(held.target)).send("SOLVED")
        await eventually(lambda: has(runtime, "guest-0", "handoff.completed"))
        assert (await asked("third-guest"))["name"] == "handoff.accepted"
        await runtime.caught_up("guest-0")
        assert {each.status for each in await runtime.handoffs(source="guest-0")} == {HandoffStatus.COMPLETED}


# The command


async def commanded(capsys, *arguments):
    """The exit code of the command and what it wrote."""
    code = await asyncio.to_thread(main, ["move", *arguments])
    told = capsys.readouterr()
    return code, told.out, told.err


async def test_the_command_says_what_it_would_do_what_it_did_and_that_it_did(engine, tmp_path, here, capsys):
    async with home(engine, tmp_path) as (namespace, _, _):
        told = ["--store", here, "--to", engine.ingress, "--namespace", namespace]
        code, out, err = await commanded(capsys, *told, "--dry-run")
        assert (code, err) == (0, "nothing was changed: this was a dry run\n")
        assert f"would move from {here} to {engine.ingress} ({namespace}):" in out
        assert "invokes  1 open, with 1 recorded step" in out
        code, out, err = await commanded(capsys, *told)
        assert code == 0
        assert "agents   15 (2 of them ended, 2 more yet to start)" in out
        assert ", the same on both sides" in out
        code, out, err = await commanded(capsys, *told)
        assert (code, f"{here} was moved to {engine.ingress} ({namespace}) at" in out) == (0, True)
        code, out, err = await commanded(capsys, *told, "--json")
        assert (code, json.loads(out)["awakened"]) == (0, 0)


async def test_the_command_tells_what_is_not_there(engine, here, capsys, monkeypatch):
    monkeypatch.setattr("gatechart.restate.migration.engine.FIRST_S", 1.0)
    (port,) = free_ports(1)
    code, _, err = await commanded(capsys, "--store", here, "--to", f"http://127.0.0.1:{port}")
    assert (code, "no engine answers" in err) == (5, True)
    code, _, err = await commanded(capsys, "--store", here, "--to", engine.ingress, "--namespace", "nobodys")
    assert (code, "that `gatechart restate serve` is running" in err) == (5, True)
    code, _, err = await commanded(capsys, "--store", here, "--to", "sqlite+aiosqlite:///other.db")
    assert (code, "is not the address of an engine" in err) == (2, True)
    code, _, err = await commanded(capsys, "--store", f"{here}.not", "--to", engine.ingress)
    assert (code, "there is no database" in err) == (5, True)
