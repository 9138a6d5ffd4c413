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
from gatechart.kernel.select import accepted_events
from statecharts.service_desk import service_desk
from statecharts.service_desk.acts import EVENT_OF
from statecharts.service_desk.catalogue import Catalogue, read_catalogue
from statecharts.service_desk.conversations import Conversation, read_conversations
from statecharts.service_desk.moves import __main__ as moves
from statecharts.service_desk.problems import ConversationsError
from statecharts.service_desk.replay import load, main, play_conversation, replay
from statecharts.service_desk.report import Played, Refused, ReplayReport, Unplayed, tables
from statecharts.service_desk.script import BEFORE, Teller

pytestmark = pytest.mark.long

SERVICES = [
    {
        "service": "Concerts",
        "intents": [
            {"name": "FindConcert", "is_transactional": False, "required_slots": ["city"]},
            {"name": "ListConcerts", "is_transactional": False, "required_slots": []},
            {"name": "BuyTicket", "is_transactional": True, "required_slots": ["concert"]},
        ],
        "slots": [
            {"name": "city", "is_categorical": False},
            {"name": "concert", "is_categorical": False, "possible_values": ["Quiet Nights"]},
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
    turn("user", act("SELECT"), act("THANK_YOU"), act("THANK_YOU")),
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


def test_the_recorded_conversations_pass_with_hardly_anything_refused(recorded, replayed: ReplayReport) -> None:
    conversations, _ = recorded
    report = replayed
    assert report.conversations == len(conversations) == 836
    assert report.acts == sum(len(one.acts) for one in conversations) == 21_585
    turns = sum(len(one.turns) for one in conversations)
    assert report.events == report.acts - report.conversations + report.calls + turns
    assert report.refused_share <= 0.003, report.refusals
    assert dict(report.ends) == {"ENDED": 836}
    assert dict(report.entry_points) == {"ELICITING_CRITERIA": 643, "SEARCHING": 119, "ELICITING_DETAILS": 74}


async def test_a_sample_of_them_does_so_on_either_store(recorded, runtime: Runtime) -> None:
    conversations, catalogue = recorded
    report = await replay(conversations[::40], catalogue, runtime, at_once=7)
    assert report.conversations == 21
    assert report.refused_share <= 0.003, report.refusals
    assert dict(report.ends) == {"ENDED": 21}


async def test_a_state_on_the_way_accepts_at_most_three_acts_in_ten(recorded, in_memory: Runtime) -> None:
    conversations, catalogue = recorded
    await replay(conversations[::40], catalogue, in_memory)
    turns = [turn for one in conversations[::40] for turn in await in_memory.history(one.id) if turn.source]
    acts = set(EVENT_OF.values())
    accepted = [len(acts & set(accepted_events(service_desk, turn.source))) for turn in turns]
    assert sum(accepted) / len(accepted) / len(acts) <= 0.3


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


async def test_what_is_refused_is_listed_by_state_act_and_reason(catalogue: Catalogue, in_memory: Runtime) -> None:
    finished: list[Played] = []
    report = await replay([conversation(SOUND), conversation(ODD)], catalogue, in_memory, on_progress=finished.append)
    assert {one.conversation for one in finished} == {"sound", "odd"}
    assert Counter(dict(report.refusals)) == {
        Refused("ELICITING_DETAILS", "user turn", "guards said no: is_next_speaker"): 1,
        Refused("ELICITING_DETAILS", "user THANK_YOU", "no transition"): 2,
        Refused("ELICITING_DETAILS", "user SELECT", "no transition"): 1,
        Refused("ELICITING_DETAILS", "system SING", "no transition"): 1,
        Refused("ELICITING_DETAILS", "user INFORM", "guards said no: is_new_detail"): 1,
        Refused("ELICITING_DETAILS", "system CALL", "no transition"): 1,
        Refused("ELICITING_DETAILS", "system CONFIRM", "guards said no: is_as_said"): 1,
    }
    assert report.refused == 8
    assert report.refused_share == 8 / report.acts
    assert dict(report.ends) == {"ENDED": 1, "ELICITING_DETAILS": 1}
    assert dict(report.entry_points) == {"ELICITING_CRITERIA": 1, "ELICITING_DETAILS": 1}
    assert (report.calls, report.calls_foreseen) == (2, 1)
    assert report.events_per_s > 0
    assert report.unplayed == ()


async def test_the_order_in_which_a_turn_lists_its_acts_does_not_matter(
    catalogue: Catalogue, in_memory: Runtime
) -> None:
    turned = json.loads(json.dumps(SOUND)) | {"id": "turned"}
    for each in turned["turns"]:
        each["frames"][0]["acts"].reverse()
    report = await replay([conversation(SOUND), conversation(turned)], catalogue, in_memory)
    assert report.refusals == ()
    assert report.ends == (("ENDED", 2),)


async def test_a_search_that_requires_nothing_begins_by_searching(catalogue: Catalogue, in_memory: Runtime) -> None:
    record = dialogue("list", turn("user", act("INFORM_INTENT", "intent", "ListConcerts")))
    report = await replay([conversation(record)], catalogue, in_memory)
    assert report.entry_points == (("SEARCHING", 1),)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (dialogue("bad", turn("system", act("GOODBYE"))), "its user never says what they want"),
        (
            dialogue("bad", turn("user", act("INFORM_INTENT", "intent", "FlyToMoon"))),
            "unknown intent 'FlyToMoon'; this service has FindConcert, ListConcerts, BuyTicket",
        ),
        ({**SOUND, "id": "bad", "services": ["Hotels"]}, "service 'Hotels': unknown; known are Concerts"),
    ],
    ids=["no wish", "no such intent", "no such service"],
)
async def test_a_conversation_that_cannot_be_played_is_listed_and_the_others_are_played(
    catalogue: Catalogue, in_memory: Runtime, record: dict[str, Any], problem: str
) -> None:
    report = await replay([conversation(record), conversation(SOUND)], catalogue, in_memory)
    ((bad, told),) = [(each.conversation, each.problem) for each in report.unplayed]
    assert bad == "bad"
    assert problem in told
    assert report.ends == (("ENDED", 1),)
    assert [agent.agent_id for agent in (await in_memory.find()).agents] == ["sound"]


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("heard", range(12))
async def test_a_replay_that_was_stopped_goes_on_where_it_stopped(
    catalogue: Catalogue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, heard: int
) -> None:
    """Stopped after any number of events, and started again: all is as if it had never stopped."""
    url = f"sqlite+aiosqlite:///{tmp_path}/desk.db"
    one = conversation({**ODD, "turns": [*ODD["turns"], *SOUND["turns"]]})
    async with Runtime.open("memory:", graphs=[service_desk]) as runtime:
        whole = await play_conversation(one, catalogue, runtime)
        history = [turn.event.id for turn in await runtime.history(one.id)][1:]
    with monkeypatch.context() as patch:
        patch.setattr(Teller, "tell", stopping_after(heard))
        async with Runtime.open(url, graphs=[service_desk]) as runtime:
            with pytest.raises(StoppedError):
                await play_conversation(one, catalogue, runtime)
    async with Runtime.open(url, graphs=[service_desk]) as runtime:
        again = await play_conversation(one, catalogue, runtime)
        assert [turn.event.id for turn in await runtime.history(one.id)][1:] == history
    assert [(each.state, each.act) for each in again.refused] == [(each.state, each.act) for each in whole.refused]
    assert (again.events, again.ended_in) == (whole.events, whole.ended_in)
    assert again.calls_foreseen == whole.calls_foreseen


def stopping_after(heard: int) -> Any:
    tell = Teller.tell

    async def tell_or_stop(self: Teller, agent: Any, line: Any) -> bool:
        if self.said == heard:
            raise StoppedError
        return await tell(self, agent, line)

    return tell_or_stop


async def test_conversations_of_the_same_id_are_played_side_by_side(catalogue: Catalogue, in_memory: Runtime) -> None:
    twice = [conversation(SOUND), conversation({**ODD, "id": "sound"})]
    report = await replay(twice, catalogue, in_memory)
    assert {agent.agent_id for agent in (await in_memory.find()).agents} == {"sound", "sound (2)"}
    assert dict(report.ends) == {"ENDED": 1, "ELICITING_DETAILS": 1}


@pytest.mark.parametrize(
    "other", [{**ODD, "id": "sound"}, {**SOUND, "turns": [*SOUND["turns"][:2], *ODD["turns"][1:]]}]
)
async def test_another_conversation_of_an_id_that_the_store_knows_is_not_mixed_with_it(
    catalogue: Catalogue, in_memory: Runtime, other: dict[str, Any]
) -> None:
    await replay([conversation(SOUND)], catalogue, in_memory)
    before = await in_memory.history("sound")
    report = await replay([conversation(other)], catalogue, in_memory)
    (unplayed,) = report.unplayed
    assert "the store holds another agent of this id; name another --store" in unplayed.problem
    assert await in_memory.history("sound") == before


async def test_an_agent_of_somebody_else_is_left_alone(catalogue: Catalogue, in_memory: Runtime) -> None:
    agent = await in_memory.start("customer_service", at="GREETING_CUSTOMER", agent_id="sound")
    report = await replay([conversation(SOUND)], catalogue, in_memory)
    assert "another agent of this id" in report.unplayed[0].problem
    assert agent.snapshot.version == 1


async def test_a_replay_that_has_ended_is_told_again_without_a_new_event(
    catalogue: Catalogue, in_memory: Runtime
) -> None:
    first = await replay([conversation(SOUND), conversation(ODD)], catalogue, in_memory)
    before = [await in_memory.history(id) for id in ("sound", "odd")]  # noqa: A001
    second = await replay([conversation(SOUND), conversation(ODD)], catalogue, in_memory)
    assert [await in_memory.history(id) for id in ("sound", "odd")] == before  # noqa: A001
    assert (second.ends, second.events, second.refused) == (first.ends, first.events, first.refused)
    assert BEFORE in {refused.reason for refused, _ in second.refusals}


def test_a_report_of_nothing_has_no_shares() -> None:
    report = ReplayReport.of([], 0.0)
    assert (report.refused_share, report.events_per_s) == (0.0, 0.0)


def test_the_tables_tell_what_went_wrong_and_only_then() -> None:
    def told(*refused: Refused, unplayed: tuple[Unplayed, ...] = ()) -> str:
        played = Played("one", "SEARCHING", 4, 9, refused, calls=1, calls_foreseen=1, ended_in="ENDED")
        console = Console(width=100)
        with console.capture() as capture:
            console.print(tables(ReplayReport.of([played], 0.5, unplayed)))
        return capture.get()

    assert "0 (0.00%)" in told()
    assert "no transition" not in told()
    assert "Not played" not in told()
    assert "1 (25.00%)" in told(Refused("OFFERING", "user AFFIRM", "no transition"))
    row = next(
        line for line in told(Refused("OFFERING", "user AFFIRM", "no transition")).splitlines() if "AFFIRM" in line
    )
    assert [cell.strip() for cell in row.split("│")] == ["", "OFFERING", "user AFFIRM", "no transition", "1", "one", ""]
    assert "its user never says" in told(unplayed=(Unplayed("two", "its user never says"),))


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
        ("broken.jsonl", b"\nno json", "broken.jsonl, line 2: the document: Invalid JSON"),
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
    (tmp_path / "services.json").write_text('[{"service": "Concerts", "slots": []}]')
    with pytest.raises(ConversationsError, match=r"services\.json: 0\.intents: Field required"):
        read_catalogue(tmp_path / "services.json")


def test_lines_that_are_no_conversation_can_be_left_out(folder: Path) -> None:
    file = folder / "dialogues.jsonl"
    file.write_text(f"no json\n{file.read_text()}{{}}\n")
    problems: list[ConversationsError] = []
    conversations, _ = load(file, on_problem=problems.append)
    assert [one.id for one in conversations] == ["sound", "odd"]
    assert [problem.place for problem in problems] == [f"{file}, line 1", f"{file}, line 6"]


def test_services_may_be_named_as_in_the_dataset(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text(json.dumps([{"service_name": "Empty", "intents": [], "slots": []}]))
    assert read_catalogue(tmp_path / "schema.json").service("Empty").intents == {}


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConversationsError, match=r"nowhere\.jsonl: cannot be read: No such file or directory"):
        read_conversations(tmp_path / "nowhere.jsonl")


# The commands.

MIXED = {
    **SOUND,
    "id": "mixed",
    "services": ["Concerts", "Bars_1"],
    "turns": [
        *SOUND["turns"][:2],
        {
            "speaker": "user",
            "text": "…",
            "frames": [
                {"service": "Bars_1", "acts": [act("INFORM_INTENT", "intent", "FindBar")]},
                {"service": "Concerts", "acts": [act("SELECT")]},
            ],
        },
        {
            "speaker": "system",
            "text": "…",
            "frames": [
                {
                    "service": "Bars_1",
                    "acts": [act("OFFER", "bar", "Blue Door")],
                    "call": {"method": "FindBar", "parameters": {"town": "Berlin"}},
                }
            ],
        },
        {"speaker": "user", "text": "…", "frames": [{"service": "Bars_1", "acts": [act("SELECT"), act("GOODBYE")]}]},
        {"speaker": "system", "text": "…", "frames": [{"service": "Bars_1", "acts": [act("GOODBYE")]}]},
    ],
}
BARS = {
    "service": "Bars_1",
    "intents": [{"name": "FindBar", "is_transactional": False, "required_slots": ["town"]}],
    "slots": [{"name": "town", "is_categorical": False}, {"name": "bar", "is_categorical": False}],
}


@pytest.fixture
def both(folder: Path) -> Path:
    """Conversations that either command can play."""
    (folder / "dialogues.jsonl").write_text("\n".join(map(json.dumps, [SOUND, ODD, MIXED])))
    (folder / "services.json").write_text(json.dumps([*SERVICES, BARS]))
    return folder / "dialogues.jsonl"


def command(main: Any, *arguments: str, **environment: str) -> Any:
    app = typer.Typer()
    app.command()(main)
    return CliRunner().invoke(app, arguments, env={"GATECHART_CONVERSATIONS": None, "COLUMNS": "200", **environment})


every_command = pytest.mark.parametrize("main", [main, moves.main], ids=["one service", "several services"])


def test_the_command_plays_a_file_and_shows_the_table(folder: Path) -> None:
    result = command(main, str(folder / "dialogues.jsonl"))
    assert result.exit_code == 0, result.output
    assert "entered at ELICITING_DETAILS" in result.stdout
    assert "system SING" in result.stdout


def test_the_command_plays_conversations_with_several_services(both: Path) -> None:
    result = command(moves.main, str(both))
    assert result.exit_code == 0, result.output
    rows = [[cell.strip() for cell in line.split("│")] for line in result.stdout.splitlines()]
    assert ["", "moves between services", "1", ""] in rows
    assert ["", "ended in ENDED", "1", ""] in rows
    assert ["", "refused acts and handoffs", "0.00%", ""] in rows


@every_command
def test_a_command_explains_itself(main: Any) -> None:
    result = command(main, "--help")
    assert result.exit_code == 0
    assert "--store" in result.stdout
    assert "--services" in result.stdout


@every_command
def test_a_command_finds_the_file_in_the_environment(main: Any, both: Path) -> None:
    result = command(main, "--store", "memory:", GATECHART_CONVERSATIONS=str(both))
    assert result.exit_code == 0, result.output


@every_command
def test_a_command_says_how_to_name_a_file(main: Any) -> None:
    result = command(main)
    assert result.exit_code == 2
    assert "name a FILE of conversations, or set GATECHART_CONVERSATIONS" in result.stderr


@every_command
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "name another file"),
        (b"\xff\xfe", "name another file"),
        (b'{"id": "bad"}', "line 1: services: Field required"),
    ],
    ids=["missing", "empty", "no text", "no conversation"],
)
def test_a_command_says_in_few_words_what_is_wrong_with_the_file(
    main: Any, tmp_path: Path, content: bytes | None, problem: str
) -> None:
    file = tmp_path / "dialogues.jsonl"
    if content is not None:
        file.write_bytes(content)
    result = command(main, str(file))
    assert result.exit_code == 1
    assert problem in result.stderr
    assert "Traceback" not in result.output


@every_command
def test_a_bad_line_is_told_beside_the_report_and_ends_with_one(main: Any, both: Path) -> None:
    both.write_text(both.read_text() + '\n{"id": "bad"}')
    result = command(main, str(both))
    assert result.exit_code == 1
    assert "services: Field required" in result.stdout
    assert "ended in ENDED" in result.stdout


@every_command
def test_a_command_that_is_run_twice_on_one_store_tells_the_same(main: Any, both: Path) -> None:
    arguments = (str(both), "--store", f"sqlite+aiosqlite:///{both.parent}/desk.db")
    first, second = command(main, *arguments), command(main, *arguments)
    assert (first.exit_code, second.exit_code) == (0, 0)

    assert counts(first) == counts(second)


def counts(result: Any) -> list[str]:
    """The rows of the first table, in no order, without the speed."""
    return sorted(line for line in result.stdout.splitlines() if line.count("│") == 3 and "per second" not in line)


@every_command
def test_refusals_are_not_logged_beside_the_report(main: Any, both: Path, caplog: pytest.LogCaptureFixture) -> None:
    command(main, str(both))
    assert caplog.records == []
