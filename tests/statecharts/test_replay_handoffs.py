"""Real conversations that use several services: each move from one to another is a handoff."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gatechart import Runtime, Status
from gatechart.handoff import HandoffStatus, Mode
from statecharts.service_desk.catalogue import Catalogue, read_catalogue
from statecharts.service_desk.conversations import Conversation, of_several_services, read_conversations
from statecharts.service_desk.moves.chart import Entry, ServiceContext, door_for
from statecharts.service_desk.moves.conversations import Part, parts
from statecharts.service_desk.moves.owners import Ledger, all_handoffs, ledgers
from statecharts.service_desk.moves.replay import Played, graphs_for, replay
from statecharts.service_desk.moves.report import Kind, MovesReport, report_of, tables
from statecharts.service_desk.report import Refused
from statecharts.service_desk.schema import Kind as About
from statecharts.service_desk.schema import Known
from statecharts.service_desk.script import Teller
from tests.runtime.support import eventually

pytestmark = pytest.mark.long

SAMPLE = 16  # every so manieth conversation


@pytest.fixture(scope="session")
def spoken(dialogues: Path) -> tuple[Conversation, ...]:
    return of_several_services(read_conversations(dialogues))


@pytest.fixture(scope="session")
def catalogue(dialogues: Path) -> Catalogue:
    return read_catalogue(dialogues.with_name("services.json"))


@pytest.fixture
async def services(url: str, catalogue: Catalogue) -> AsyncIterator[Runtime]:
    """Hosts all kinds of services, and a desk where people work."""
    async with Runtime.open(url, graphs=graphs_for(catalogue)) as runtime:
        yield runtime


@pytest.fixture
async def in_memory(catalogue: Catalogue) -> AsyncIterator[Runtime]:
    async with Runtime.open("memory:", graphs=graphs_for(catalogue)) as runtime:
        yield runtime


async def told(played: list[Played], runtime: Runtime) -> MovesReport:
    return report_of(played, await ledgers(runtime, [one.id for one in played]))


def moves_of(conversations: tuple[Conversation, ...], catalogue: Catalogue) -> list[Part]:
    return [part for one in conversations for part in parts(one, catalogue) if part.wish is not None]


def returning(conversations: tuple[Conversation, ...], catalogue: Catalogue) -> list[Conversation]:
    return [one for one in conversations if any(part.is_return for part in moves_of((one,), catalogue))]


def test_640_conversations_move_839_times_between_services_and_199_times_back(spoken, catalogue: Catalogue) -> None:
    moves = moves_of(spoken, catalogue)
    assert len(spoken) == 640
    assert len(moves) == 839
    assert sum(move.is_return for move in moves) == 199


@pytest.mark.slow
async def test_every_move_is_a_handoff_and_every_conversation_has_one_owner_at_every_turn(
    spoken, catalogue: Catalogue, tmp_path: Path
) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/services.db"
    async with Runtime.open(url, graphs=graphs_for(catalogue)) as runtime:
        played = await replay(spoken, catalogue, runtime)
        report = await told(played, runtime)
    Console().print(tables(report))  # shown with -s
    assert report.problems == ()
    assert (report.conversations, report.acts, report.moves, report.returns) == (640, 24_052, 839, 199)
    assert (report.failures, report.with_person) == (125, 18)
    assert report.ends == (("ENDED", 640),)
    assert report.refused_share <= 0.006, report.refused_acts
    assert report.calls_foreseen == report.calls == 2184
    assert {(kind.entry_point, kind.mode, kind.target, kind.outcome): count for kind, count in report.handoffs} == {
        ("SEARCHING", "transfer", "new", "completed"): 472,
        ("ELICITING_CRITERIA", "transfer", "new", "completed"): 168,
        ("ELICITING_DETAILS", "transfer", "living", "completed"): 109,
        ("CONFIRMING", "transfer", "living", "completed"): 90,
        ("NORMAL", "delegate", "new", "completed"): 18,
    }


async def test_a_sample_does_so_on_either_store(spoken, catalogue: Catalogue, services: Runtime) -> None:
    sample = spoken[:: 4 * SAMPLE]
    played = await replay(sample, catalogue, services)
    report = await told(played, services)
    assert report.problems == ()
    transfers = [each for each in await all_handoffs(services) if each.mode is Mode.TRANSFER]
    assert report.moves == len(moves_of(sample, catalogue)) == len(transfers)
    assert report.refused_share <= 0.006, report.refused_acts
    assert report.ends == (("ENDED", len(sample)),)


async def test_whoever_has_the_conversation_in_the_end_knows_every_word_of_it(
    spoken, catalogue: Catalogue, in_memory: Runtime
) -> None:
    for one in await replay(spoken[::SAMPLE], catalogue, in_memory):
        context = (await in_memory.resume(one.last)).context
        assert isinstance(context, ServiceContext)
        assert [(message.role, message.content) for message in context.messages] == list(one.words)
        assert context.initial_query == one.words[0][1]


async def test_a_conversation_returns_to_the_agent_that_had_it(
    spoken, catalogue: Catalogue, in_memory: Runtime
) -> None:
    played = await replay(returning(spoken, catalogue)[::SAMPLE], catalogue, in_memory)
    for one in played:
        first, back = [each for each in await handoffs_of(in_memory, one) if each.mode is Mode.TRANSFER]
        assert first.is_new
        assert not back.is_new
        assert (back.source, back.target) == (first.target, first.source) == (first.target, one.id)
    assert played


async def handoffs_of(runtime: Runtime, one: Played):
    return [each for each in await all_handoffs(runtime) if each.packet["session_id"] == one.id]


async def test_a_call_that_failed_and_is_not_tried_again_is_a_persons(
    spoken, catalogue: Catalogue, in_memory: Runtime
) -> None:
    one = next(each for each in spoken if each.id == "11_00057")
    (played,) = await replay([one], catalogue, in_memory)
    (helped,) = [each for each in await handoffs_of(in_memory, played) if each.mode is Mode.DELEGATE]
    assert (helped.target_graph, helped.entry_point, helped.status) == ("human_desk", "NORMAL", HandoffStatus.COMPLETED)
    assert helped.reason == "tool failure"
    assert helped.result is not None
    assert helped.result["rating"] == 4
    assert len(helped.packet["conversation"]) > 4


async def test_no_agent_is_left_behind_when_a_conversation_is_over(
    spoken, catalogue: Catalogue, in_memory: Runtime
) -> None:
    played = await replay(spoken[::SAMPLE], catalogue, in_memory)
    agents = [await in_memory.resume(agent) for one in played for agent in one.agents.values()]
    assert len(agents) > len(played)
    await eventually(lambda: {agent.status for agent in agents} == {Status.DONE})


# Started again.


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("heard", range(1, 80, 13))
async def test_a_replay_that_was_stopped_goes_on_where_it_stopped(
    spoken, catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard: int
) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/services.db"
    one = next(each for each in returning(spoken, catalogue) if "NOTIFY_FAILURE" in {act.act for act in each.acts})
    tell = Teller.tell

    async def tell_or_stop(teller: Teller, agent, line) -> bool:
        if teller.said == heard:
            raise StoppedError
        return await tell(teller, agent, line)

    async with Runtime.open("memory:", graphs=graphs_for(catalogue)) as runtime:
        (whole,) = await replay([one], catalogue, runtime)
    with monkeypatch.context() as patch:
        patch.setattr(Teller, "tell", tell_or_stop)
        async with Runtime.open(url, graphs=graphs_for(catalogue)) as runtime:
            with suppress(StoppedError):
                await replay([one], catalogue, runtime)
    async with Runtime.open(url, graphs=graphs_for(catalogue)) as runtime:
        (again,) = await replay([one], catalogue, runtime)
        report = await told([again], runtime)
    assert (again.heard, again.refused, again.ended_in) == (whole.heard, whole.refused, whole.ended_in)
    assert report.problems == ()


# How a door is chosen.


async def test_what_one_service_knows_opens_the_door_of_the_next(catalogue: Catalogue) -> None:
    hotels = catalogue.service("Hotels_4")
    known = (Known(slot="city_of_event", kind=About.PLACE, value="New York"),)

    def door(intent: str, known: tuple[Known, ...] = (), **slots: str) -> str:
        return door_for(Entry(service=hotels, intent=intent, carried=known, slots=slots))

    assert door("SearchHotel", known) == "SEARCHING"
    assert door("SearchHotel") == "ELICITING_CRITERIA"
    assert door("ReserveHotel", known) == "ELICITING_DETAILS"
    required = hotels.intents["ReserveHotel"].required_slots
    assert door("ReserveHotel", **dict.fromkeys(required, "x")) == "CONFIRMING"


# The proof can fail.


@pytest.fixture
async def one_kept(spoken, catalogue: Catalogue, in_memory: Runtime) -> tuple[Played, Ledger]:
    """A conversation that went somewhere else and came back, and what is kept of it."""
    one = returning(spoken, catalogue)[0]
    (played,) = await replay([one], catalogue, in_memory)
    (kept,) = await ledgers(in_memory, [one.id])
    assert kept.problems(played.heard) == []
    return played, kept


async def test_a_turn_of_an_agent_that_has_given_the_conversation_away_is_told(one_kept) -> None:
    played, kept = one_kept
    agent, turn = next(each for each in kept.acts() if each[0] == played.id)
    given_away = next(each.until for each in kept.tenures())
    late = [replace(each, version=given_away) if each is turn else each for each in kept.histories[agent]]
    problems = replace(kept, histories={**kept.histories, agent: late}).problems(played.heard)
    assert f"{agent} heard {turn.event.name} in version {given_away}, with 0 tenures" in problems


async def test_something_heard_by_two_agents_is_told(one_kept) -> None:
    played, kept = one_kept
    other = kept.transfers[0].target
    turn = next(turn for agent, turn in kept.acts() if agent == other)
    twice = (*kept.histories[other], turn)
    (problem,) = replace(kept, histories={**kept.histories, other: twice}).problems(played.heard)
    assert f"of {len(played.heard)} events said in turn, {len(played.heard) + 1} were heard" in problem


async def test_something_that_nobody_heard_is_told(one_kept) -> None:
    played, kept = one_kept
    assert len(kept.problems((*played.heard, ("USER_THANKED", {})))) == 1


async def test_a_handoff_by_somebody_else_than_the_owner_is_told(one_kept) -> None:
    played, kept = one_kept
    first, back = kept.transfers
    stolen = replace(kept, handoffs=(back, first))
    assert f"{back.id}: {back.source} gave away what {kept.root} had" in stolen.problems(played.heard)


def test_the_report_tells_of_what_was_refused() -> None:
    kind = Kind("SEARCHING", "transfer", "new", "rejected")
    refused = Refused("SEARCHING", "user SING", "no transition")
    report = MovesReport(1, 4, 1, 0, 0, 0, 0, 0, ((kind, 1),), ((refused, 1),), ())
    console = Console(width=100)
    with console.capture() as capture:
        console.print(tables(report))
    assert report.refused_share == 0.5
    assert "rejected" in capture.get()
    assert "user SING" in capture.get()
