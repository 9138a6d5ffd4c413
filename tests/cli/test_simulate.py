"""`gatechart simulate`: a chart is played in memory."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from gatechart.charts import load
from gatechart.cli.simulation import Answers, Game, Lines
from gatechart.errors import MailFailedError
from gatechart.testing import rehearse
from tests.cli.chart_files import MACHINE, SCXML, TOGGLE
from tests.cli.terminal import chunks
from tests.forked import COMMAND, fork

LAMP = """\
id: lamp
context: Lamp
entry_points:
  OFF: {description: Somebody moves in., takes: Tenant}
states:
  OFF:
    on: {PRESSED: [{target: ON, guard: is_dark, actions: count}, {target: ON, guard: is_late}]}
  ON:
    after: {2d: {target: BROKEN, guard: is_old}}
    on: {PRESSED: OFF, ASKED: ASKING}
  ASKING:
    defer: [PRESSED]
    invoke: {src: search, retry: {attempts: 1}, onDone: ON, onError: BROKEN}
  BROKEN: {type: final}
"""


@pytest.fixture
def simulate(folder, gatechart, monkeypatch):
    """Plays the lamp, or the chart of the first arguments, by the lines of a script."""
    (folder / "lamp.yaml").write_text(LAMP)

    def run(*lines, arguments=("lamp.yaml", "--entry", "OFF", "--payload", "{}")):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return gatechart("simulate", *arguments)

    return run


def positions(result):
    """The documents of the positions that were shown."""
    return [json.loads(line) for line in result.out.splitlines()]


@pytest.fixture
def positions_of(simulate):
    """The positions of a game that ends well."""

    def run(*lines, arguments=("lamp.yaml", "--entry", "OFF", "--payload", "{}")):
        played = simulate(*lines, arguments=(*arguments, "--json"))
        assert (played.code, played.err) == (0, "")
        return positions(played)

    return run


def states(shown):
    return [each["state"] for each in shown]


def test_a_game_is_told_like_this(simulate):
    played = simulate("PRESSED", "y")
    assert (played.code, played.err) == (0, "")
    lines = [line for line in played.out.splitlines() if not line.startswith("time")]
    assert lines == [
        "",
        "agent.started.OFF → OFF",
        "state  OFF",
        "   EVENT    AGREES   LEADS TO  IF       WHY NOT",
        "1  PRESSED  depends  ON        is_dark",
        "                     ON        is_late",
        "> PRESSED",
        "is_dark? [y/n] y",
        "",
        "PRESSED → ON",
        "  OFF --PRESSED--> ON",
        "  not bound, so not run: count",
        "state  ON",
        "   EVENT               AGREES   LEADS TO  IF      WHY NOT",
        "1  PRESSED             yes      OFF",
        "2  ASKED               yes      ASKING",
        "3  after.2d.ON, in 2d  depends  BROKEN    is_old",
    ]


def test_events_are_chosen_by_name_or_number_and_unbound_guards_are_asked_in_their_order(positions_of):
    shown = positions_of("PRESSED", "n", "yes", "1", "1", "Y")
    assert states(shown) == [["OFF"], ["ON"], ["OFF"], ["ON"]]
    assert [each["not_bound"] for each in shown] == [[], [], [], ["count"]]


def test_a_refused_event_ends_a_script_with_the_exit_code_of_a_refusal(simulate):
    played = simulate("PRESSED", "n", "n", "PRESSED")
    assert played.code == 1
    assert played.err.startswith("error: refused 'PRESSED': guards said no (is_dark, is_late) in OFF; accepted there")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("7", "there is no 7; type 1 to 1"),
        ("PRESSED [1]", "the payload: it is not a JSON object but an array"),
        ("PRESSED {", "the payload: it is not valid JSON"),
        ("+soon", "'soon' is not a duration"),
        ("back", "nothing to undo: this is the beginning"),
        ("draw x.gif", "'x.gif' ends in none of '.svg'"),
    ],
)
def test_a_line_that_cannot_be_carried_out_ends_a_script_and_says_what_would_do(line, told, simulate):
    played = simulate(line, "PRESSED", "y")
    assert played.code in (2, 5)
    assert told in played.err
    assert "PRESSED → ON" not in played.out


def test_a_timer_is_an_item_and_happens_when_it_is_due(positions_of):
    shown = positions_of("PRESSED", "y", "3", "n", "+1d")
    assert states(shown) == [["OFF"], ["ON"], ["ON"], ["ON"]]
    timer = {"number": 3, "event": "after.2d.ON", "agrees": "depends", "deferred": False, "due_s": 172800.0}
    assert shown[1]["choices"][2] == timer
    assert [each["elapsed_s"] for each in shown] == [0, 0, 172800, 259200]


def test_the_clock_moves_past_what_falls_due_on_the_way(positions_of):
    shown = positions_of("PRESSED", "y", "+1d", "+36h", "y")
    assert states(shown)[-1] == ["BROKEN"]
    assert (shown[-1]["status"], shown[-1]["choices"], shown[-1]["elapsed_s"]) == ("done", [], 216000)
    assert shown[-1]["turns"][0]["event"]["name"] == "after.2d.ON"


def test_invokes_do_not_run_and_end_as_the_player_says(positions_of):
    shown = positions_of("PRESSED", "y", "ASKED", '1 {"result": 42}', "ASKED", '2 {"message": "no paper"}')
    assert states(shown) == [["OFF"], ["ON"], ["ASKING"], ["ON"], ["ASKING"], ["BROKEN"]]
    choices = [(each["event"], each["deferred"]) for each in shown[2]["choices"]]
    assert choices == [("done.invoke.search", False), ("error.invoke.search", False), ("PRESSED", True)]
    assert shown[3]["turns"][0]["event"]["payload"] == {"result": 42}
    assert shown[5]["turns"][0]["event"]["payload"]["message"] == "no paper"


def test_deferred_events_wait_for_their_state(simulate, positions_of):
    lines = ("PRESSED", "y", "ASKED", "PRESSED", "1")
    assert "deferred  PRESSED" in simulate(*lines[:4]).out
    assert states(positions_of(*lines)) == [["OFF"], ["ON"], ["ASKING"], ["ASKING"], ["OFF"]]


def test_back_undoes_one_step_at_a_time_and_gives_the_answers_again(positions_of):
    shown = positions_of("PRESSED", "n", "y", "ASKED", "1", "3", "y", "back", "back", "back", "back", "1", "y")
    assert states(shown)[:5] == [["OFF"], ["ON"], ["ASKING"], ["ON"], ["BROKEN"]]
    assert states(shown)[5:] == [["ON"], ["ASKING"], ["ON"], ["OFF"], ["ON"]]
    assert [each["elapsed_s"] for each in shown][4:6] == [172800, 0]
    assert shown[-1]["not_bound"] == ["count"]


def test_the_context_and_the_help_are_shown_on_demand(simulate):
    played = simulate("context", "help", "quit", "PRESSED", arguments=("lamp.yaml", "--context", '{"paid": true}'))
    assert (played.code, played.err) == (0, "")
    assert '{\n  "paid": true\n}' in played.out
    assert "+DELAY          move the clock" in played.out
    assert "PRESSED →" not in played.out


def test_the_picture_shows_where_the_agent_is(simulate, folder):
    played = simulate("PRESSED", "y", "draw now.dot", "PRESSED", "draw then.dot")
    assert played.code == 0
    assert "drew lamp to now.dot" in played.out
    now, then = ((folder / name).read_text() for name in ("now.dot", "then.dot"))
    assert now != then
    assert "search" in now


def test_a_name_of_the_chart_goes_before_a_command(simulate, folder):
    (folder / "cards.yaml").write_text("id: cards\nentry_points: [A]\nstates: {A: {on: {draw: B, quit: A}}, B: }\n")
    played = simulate("quit", "draw", arguments=("cards.yaml",))
    assert played.code == 0
    assert "A --quit--> A" in played.out
    assert "A --draw--> B" in played.out


@pytest.mark.parametrize(
    ("file", "text", "arguments", "line", "state"),
    [
        ("toggle.json", TOGGLE, ("--dialect", "xstate"), "PRESSED", ["on"]),
        ("toggle.json", TOGGLE, ("--dialect", "xstate", "--entry", "on"), "PRESSED", ["off"]),
        ("light.scxml", f"{SCXML}</scxml>", (), "on", ["on"]),
        ("lamp.json", json.dumps(MACHINE), ("--dialect", "transitions"), "pressed", ["on"]),
    ],
)
def test_charts_of_every_dialect_are_played(file, text, arguments, line, state, folder, positions_of):
    (folder / file).write_text(text)
    assert states(positions_of(line, arguments=(file, *arguments)))[-1] == state


def test_graphs_in_python_are_played_with_their_own_functions(positions_of):
    lines = ('ASKED {"text": "quite long"}', "back", 'ASKED {"text": "no"}')
    shown = positions_of(*lines, arguments=("desk:desk", "--entry", "LISTENING"))
    assert states(shown) == [["LISTENING"], ["ANSWERING"], ["LISTENING"], ["LISTENING"]]
    assert [each["context"]["notes"] for each in shown] == [[], ["quite long"], [], ["no"]]


def test_the_app_of_the_project_is_played_and_its_services_are_not_opened(shop, positions_of):
    shown = positions_of("ASKED", 'done.invoke.search {"result": 7}', arguments=("--entry", "NEW"))
    assert states(shown) == [["NEW"], ["SEARCHING"], ["FOUND"]]
    assert shown[-1]["context"] == {"notes": ["done.invoke.search"]}
    (shop / "pyproject.toml").write_text('[tool.gatechart]\napp = "shop:first"\nservices = "shop:broken"\n')
    assert states(positions_of(arguments=("shop", "--entry", "NEW"))) == [["NEW"]]


def test_an_action_that_raises_is_told_and_changes_nothing(project, simulate):
    played = simulate("JAMMED", arguments=("desk", "--entry", "LISTENING"))
    assert played.code == 4
    assert played.err.startswith("error: agent 'desk': ")
    assert "no paper" in played.err


PINGPONG = """\
id: pingpong
entry_points: [WAITING]
states:
  WAITING: {after: {2s: PINGING}, on: {CALLED: DONE}}
  PINGING: {always: PONGING}
  PONGING: {always: PINGING}
  DONE: {}
"""


@pytest.mark.parametrize("line", ["+1h", "2", "after.2s.WAITING"])
def test_a_timer_whose_turn_fails_is_told_with_its_name_and_state(line, simulate, folder):
    (folder / "pingpong.yaml").write_text(PINGPONG)
    played = simulate(line, "CALLED", arguments=("pingpong.yaml",))
    assert played.code == 4
    assert played.err.startswith("error: timer 'after.2s.WAITING' of state 'WAITING' ")
    assert "did not settle" in played.err


async def test_a_game_goes_on_from_before_the_timer_that_failed():
    graph = load(PINGPONG)
    async with Game(lambda: rehearse(graph, holds_invokes=True), Answers(Lines(print))) as game:
        for _ in range(2):
            with pytest.raises(MailFailedError):
                await game.play(lambda now: now.advance("1h"))
        await game.play(lambda now: now.send("CALLED"))
        assert game.now.leaves == ("DONE",)
        await game.back()
        assert game.now.leaves == ("WAITING",)


def test_a_game_begins_in_any_state_with_any_context(project, positions_of):
    arguments = ("desk", "--entry", "ANSWERING", "--context", '{"name": "Ada"}')
    assert [(each["state"], each["context"]["name"]) for each in positions_of(arguments=arguments)] == [
        (["ANSWERING"], "Ada")
    ]
    assert states(positions_of(arguments=("desk", "--entry", "CLOSED"))) == [["CLOSED"]]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((), 2, "several graphs; name the one to play: desk, strict"),
        (("desk",), 2, "several entry points; add --entry with one of LISTENING, ANSWERING, or another state"),
        (("dask",), 4, "did you mean 'desk'"),
        (("desk", "--entry", "LISTENNING"), 4, "did you mean 'LISTENING'"),
        (("desk", "--entry", "LISTENING", "--entry", "ANSWERING"), 2, "--entry is given several times"),
        (("desk", "--entry", "ANSWERING"), 4, "name"),
        (("desk", "--context", "[]"), 2, "--context: it is not a JSON object but an array"),
        (("none.yaml",), 3, "it cannot be read"),
    ],
)
def test_a_game_that_cannot_begin_says_why(arguments, code, told, project, simulate):
    failed = simulate(arguments=arguments)
    assert (failed.code, failed.out) == (code, "")
    assert told in failed.err


def test_nothing_is_written(simulate, folder):
    before = sorted(folder.iterdir())
    assert simulate("PRESSED", "y").code == 0
    assert sorted(folder.iterdir()) == before


def interrupt(process):
    """Interrupts the process until it ends: it may not have begun to read behind its prompt."""
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)


@pytest.fixture
def terminal(simulate, folder, processes):
    """Plays the lamp at a terminal: types each line when its prompt has come, then what ends the game."""

    def run(*typed):
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "dumb"}
        command = ("simulate", "lamp.yaml", "--entry", "OFF", "--payload", "{}")
        with fork(COMMAND, *command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
            os.close(theirs)
            seen = b""
            for prompt, text in typed:
                while not seen.endswith(prompt):
                    seen += os.read(ours, 65536)
                seen = b""
                if text is signal.SIGINT:
                    interrupt(process)
                else:
                    os.write(ours, text)
            rest = b"".join(chunks(ours))
        os.close(ours)
        return process.returncode, rest.decode().replace("\r\n", "\n")

    return run


@pytest.mark.parametrize("end", [b"\x04", signal.SIGINT, b"quit\n"], ids=["Ctrl-D", "Ctrl-C", "quit"])
def test_a_game_at_a_terminal_goes_on_after_mistakes_and_ends_with_grace(end, terminal):
    code, rest = terminal((b"\n> ", b"9\n"), (b"\n> ", b"PRESSED\n"), (b"[y/n] ", b"y\n"), (b"\n> ", end))
    assert code == 0
    assert "Traceback" not in rest


@pytest.mark.parametrize("end", [b"\x04", signal.SIGINT], ids=["Ctrl-D", "Ctrl-C"])
def test_a_game_ends_with_grace_at_a_question_too(end, terminal):
    code, rest = terminal((b"\n> ", b"PRESSED\n"), (b"[y/n] ", end))
    assert code == 0
    assert "Traceback" not in rest
