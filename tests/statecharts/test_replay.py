from __future__ import annotations

import asyncio
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from gatechart import Runtime
from gatechart.errors import AgentExistsError
from statecharts.service_desk import service_desk
from statecharts.service_desk.conversations import (
    Catalogue,
    Conversation,
    ConversationsError,
    read_catalogue,
    read_conversations,
)
from statecharts.service_desk.replay import load, main, replay
from statecharts.service_desk.report import Played, Refused, ReplayReport, tables

SERVICES = [
    {
        "service": "Concerts",
        "intents": [
            {"name": "FindConcert", "is_transactional": False, "required_slots": ["city"]},
            {"name": "ListConcerts", "is_transactional": False, "required_slots": []},
            {"name": "BuyTicket", "is_transactional": True, "required_slots": ["concert"]},
        ],
    }
]


def act(name: str, slot: str | None = None, *values: str) -> dict[str, Any]:
    return {"act": name} | ({"slot": slot} if slot else {}) | ({"values": values} if values else {})


def turn(speaker: str, *acts: dict[str, Any], **frame: Any) -> dict[str, Any]:
    return {"speaker": speaker, "text": "…", "frames": [{"service": "Concerts", "acts": acts, **frame}]}


def dialogue(id: str, *turns: dict[str, Any]) -> dict[str, Any]:  # noqa: A002
    return {"id": id, "services": ["Concerts"], "turns": turns}


SOUND = dialogue(
    "sound",
    turn("user", act("INFORM", "city", "Berlin"), act("INFORM_INTENT", "intent", "FindConcert")),
    turn(
        "system",
        act("OFFER", "concert", "Quiet Nights"),
        call={"method": "FindConcert", "parameters": {"city": "Berlin"}},
        results=1,
    ),
    turn("user", act("SELECT"), act("GOODBYE")),
    turn("system", act("GOODBYE")),
)
ODD = dialogue(
    "odd",
    turn("user", act("INFORM_INTENT", "intent", "BuyTicket")),
    turn("system", act("REQUEST", "concert"), act("SING")),
    turn("user", act("INFORM", "concert")),  # says nothing
    turn("user", act("SELECT"), act("SELECT"), act("THANK_YOU"), act("THANK_YOU")),
    turn("system", act("CONFIRM", "concert", "Quiet Nights"), call={"method": "BuyTicket", "parameters": {}}),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two conversations of one service, one of two, and the services."""
    mixed = {**SOUND, "id": "mixed", "services": ["Concerts", "Hotels"]}
    lines = "\n".join(map(json.dumps, [SOUND, ODD, mixed]))
    (tmp_path / "dialogues.jsonl").write_text(lines + "\n\n")
    (tmp_path / "dialogues.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "services.json").write_text(json.dumps(SERVICES))
    return tmp_path


@pytest.fixture
def catalogue(folder: Path) -> Catalogue:
    return read_catalogue(folder / "services.json")


def conversation(record: dict[str, Any]) -> Conversation:
    return Conversation.model_validate(json.loads(json.dumps(record)))


def backwards(one: Conversation) -> Conversation:
    """The same opening, then everything else from the end to the beginning."""
    first, *others = one.turns
    return one.model_copy(update={"turns": (first, *reversed(others))})


# Real conversations.


@pytest.fixture(scope="module")
def replayed(recorded) -> ReplayReport:
    """What came of all recorded conversations."""

    async def play() -> ReplayReport:
        async with Runtime.open("memory:", graphs=[service_desk]) as runtime:
            return await replay(*recorded, runtime)

    return asyncio.run(play())


def test_the_recorded_conversations_pass_with_less_than_one_percent_refused(recorded, replayed: ReplayReport) -> None:
    conversations, _ = recorded
    report = replayed
    assert report.conversations == len(conversations) == 836
    assert report.acts == sum(len(one.acts) for one in conversations) == 21_585
    assert report.events == report.acts - report.conversations
    assert report.refused_share < 0.01, report.refusals
    assert dict(report.entry_points) == {"ELICITING_CRITERIA": 643, "SEARCHING": 119, "ELICITING_DETAILS": 74}


async def test_a_sample_of_them_does_so_on_either_store(recorded, runtime: Runtime) -> None:
    conversations, catalogue = recorded
    report = await replay(conversations[::40], catalogue, runtime, at_once=7)
    assert report.conversations == 21
    assert report.refused_share < 0.01, report.refusals
    assert dict(report.ends) == {"ENDED": 21}


def test_the_agents_were_ready_for_every_recorded_call_with_all_its_parameters(replayed: ReplayReport) -> None:
    assert replayed.calls == 1701
    assert replayed.calls_foreseen == replayed.calls


async def test_told_backwards_most_of_what_is_said_is_refused(recorded, in_memory: Runtime) -> None:
    conversations, catalogue = recorded
    report = await replay(map(backwards, conversations[::10]), catalogue, in_memory)
    assert report.refused_share > 0.5
    assert dict(report.ends).get("ENDED", 0) == 0


async def test_a_conversation_resumed_from_the_store_holds_what_was_collected(recorded, tmp_path: Path) -> None:
    conversations, catalogue = recorded
    url = f"sqlite+aiosqlite:///{tmp_path}/desk.db"
    async with Runtime.open(url, graphs=[service_desk]) as runtime:
        await replay(conversations[:10], catalogue, runtime)
    async with Runtime.open(url, graphs=[service_desk]) as runtime:
        agent = await runtime.resume(conversations[0].id)
        assert agent.configuration == ("ENDED",)
        assert agent.context.slots.keys() >= {"restaurant_name", "location", "time", "number_of_seats"}


# Made-up ones.


async def test_refused_acts_are_listed_by_state_and_act(catalogue: Catalogue, in_memory: Runtime) -> None:
    finished: list[Played] = []
    report = await replay([conversation(SOUND), conversation(ODD)], catalogue, in_memory, on_progress=finished.append)
    assert {one.conversation for one in finished} == {"sound", "odd"}
    assert Counter(dict(report.refusals)) == {
        Refused("ELICITING_DETAILS", "user THANK_YOU", "no transition"): 2,
        Refused("ELICITING_DETAILS", "system SING", "no transition"): 1,
        Refused("ELICITING_DETAILS", "user INFORM", "note_slot raised"): 1,
    }
    assert report.refused == 4
    assert report.refused_share == 4 / report.acts
    assert dict(report.ends) == {"ENDED": 1, "CONFIRMING": 1}
    assert dict(report.entry_points) == {"ELICITING_CRITERIA": 1, "ELICITING_DETAILS": 1}
    assert (report.calls, report.calls_foreseen) == (2, 1)
    assert report.events_per_s > 0


async def test_a_search_that_requires_nothing_begins_by_searching(catalogue: Catalogue, in_memory: Runtime) -> None:
    record = dialogue("list", turn("user", act("INFORM_INTENT", "intent", "ListConcerts")))
    report = await replay([conversation(record)], catalogue, in_memory)
    assert report.entry_points == (("SEARCHING", 1),)


async def test_a_conversation_that_never_says_what_is_wanted_is_an_error(
    catalogue: Catalogue, in_memory: Runtime
) -> None:
    silent = dialogue("silent", turn("system", act("GOODBYE")))
    with pytest.raises(ConversationsError, match="conversation 'silent': its user never says what they want"):
        await replay([conversation(silent)], catalogue, in_memory)
    assert (await in_memory.find()).agents == ()


async def test_an_intent_that_no_service_knows_is_an_error_that_names_those_it_knows(
    catalogue: Catalogue, in_memory: Runtime
) -> None:
    lost = dialogue("lost", turn("user", act("INFORM_INTENT", "intent", "FlyToMoon")))
    with pytest.raises(ConversationsError, match="no intent 'FlyToMoon'; known of this service: FindConcert"):
        await replay([conversation(lost)], catalogue, in_memory)
    assert (await in_memory.find()).agents == ()


async def test_a_replay_into_a_store_that_holds_it_already_is_refused(catalogue: Catalogue, in_memory: Runtime) -> None:
    await replay([conversation(SOUND)], catalogue, in_memory)
    with pytest.raises(AgentExistsError, match="'sound'"):
        await replay([conversation(SOUND)], catalogue, in_memory)


def test_a_report_of_nothing_has_no_shares() -> None:
    report = ReplayReport.of([], 0.0)
    assert (report.refused_share, report.events_per_s) == (0.0, 0.0)


def test_the_tables_tell_what_was_refused_and_only_then() -> None:
    def told(*refused: Refused) -> str:
        played = Played("one", "SEARCHING", 4, refused, calls=1, calls_foreseen=1, ended_in="ENDED")
        console = Console(width=100)
        with console.capture() as capture:
            console.print(tables(ReplayReport.of([played], 0.5)))
        return capture.get()

    assert "0 (0.00%)" in told()
    assert "no transition" not in told()
    assert "1 (25.00%)" in told(Refused("OFFERING", "user AFFIRM", "no transition"))
    assert "no transition" in told(Refused("OFFERING", "user AFFIRM", "no transition"))


# Files.


@pytest.mark.parametrize("name", ["dialogues.jsonl", "dialogues.jsonl.gz"])
def test_only_conversations_with_one_service_are_loaded(folder: Path, name: str) -> None:
    conversations, catalogue = load(folder / name)
    assert [one.id for one in conversations] == ["sound", "odd"]
    assert catalogue.intent("Concerts", "BuyTicket").is_transactional


def test_the_services_may_lie_elsewhere(folder: Path, tmp_path: Path) -> None:
    elsewhere = (folder / "services.json").rename(tmp_path / "other.json")
    assert load(folder / "dialogues.jsonl", elsewhere)[1].intent("Concerts", "FindConcert")
    with pytest.raises(ConversationsError, match=r"services\.json: cannot be read"):
        load(folder / "dialogues.jsonl")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("broken.jsonl", b'{"id": "x"}', "broken.jsonl, line 1: services: Field required"),
        ("broken.jsonl", b"\nno json", "broken.jsonl, line 2: the whole: Invalid JSON"),
        ("broken.jsonl.gz", b"not packed", "broken.jsonl.gz: cannot be read: Not a gzipped file"),
        ("broken.jsonl.gz", gzip.compress(b"{}" * 99)[:-9], "broken.jsonl.gz: cannot be read: Compressed file ended"),
        ("broken.jsonl.gz", gzip.compress(b"{}", mtime=0)[:10] + b"\xff" * 9, "broken.jsonl.gz: cannot be read"),
        ("empty.jsonl", b"", "empty.jsonl: it holds no conversation with just one service"),
    ],
    ids=["not a conversation", "not json", "not packed", "cut off", "damaged", "empty"],
)
def test_a_file_that_cannot_be_read_is_one_clear_error(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConversationsError) as caught:
        load(tmp_path / name)
    assert problem in str(caught.value)


def test_a_file_of_services_that_makes_no_sense_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "services.json").write_text('[{"service": "Concerts"}]')
    with pytest.raises(ConversationsError, match=r"services\.json: 0\.intents: Field required"):
        read_catalogue(tmp_path / "services.json")


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConversationsError, match=r"nowhere\.jsonl: cannot be read: No such file or directory"):
        read_conversations(tmp_path / "nowhere.jsonl")


# The command.


def command(*arguments: str, **environment: str) -> Any:
    app = typer.Typer()
    app.command()(main)
    return CliRunner().invoke(app, arguments, env={"GATECHART_CONVERSATIONS": None, "COLUMNS": "200", **environment})


def test_the_command_plays_a_file_and_shows_the_table(folder: Path) -> None:
    result = command(str(folder / "dialogues.jsonl"))
    assert result.exit_code == 0, result.output
    assert "entered at ELICITING_DETAILS" in result.stdout
    assert "system SING" in result.stdout


def test_the_command_finds_the_file_in_the_environment(folder: Path) -> None:
    result = command("--store", "memory:", GATECHART_CONVERSATIONS=str(folder / "dialogues.jsonl"))
    assert result.exit_code == 0, result.output


def test_the_command_says_how_to_name_a_file() -> None:
    result = command()
    assert result.exit_code == 2
    assert "name a FILE of conversations, or set GATECHART_CONVERSATIONS" in result.stderr


def test_the_command_says_in_one_line_what_is_wrong_with_the_file(tmp_path: Path) -> None:
    result = command(str(tmp_path / "nowhere.jsonl"))
    assert result.exit_code == 1
    assert "nowhere.jsonl: cannot be read: No such file or directory" in result.stderr


def test_the_command_asks_for_another_store_when_run_twice_on_one(folder: Path) -> None:
    arguments = (str(folder / "dialogues.jsonl"), "--store", f"sqlite+aiosqlite:///{folder}/desk.db")
    assert command(*arguments).exit_code == 0
    again = command(*arguments)
    assert again.exit_code == 1
    assert "holds a replay of this file already; name another --store" in again.stderr
