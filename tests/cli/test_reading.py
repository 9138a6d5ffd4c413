"""`gatechart show`, `list` and `history`."""

import re
import time

import pytest

from tests.cli.homes import on_both

pytestmark = pytest.mark.sqlite_is_enough


@pytest.fixture(autouse=True)
def agents(project, prepare):
    prepare(
        ("start", "desk", "--at", "LISTENING", "--id", "a"),
        ("start", "strict", "--at", "OPEN", "--id", "s"),
        ("start", "desk", "--at", "ANSWERING", "-p", '{"name": "Ada"}', "--id", "b"),
        ("send", "a", "ASKED", "-p", '{"text": "a\\u2028b"}', "--id", "mail-1"),
    )


def test_an_agent_is_shown_with_its_context_and_what_it_accepts(gatechart):
    shown = gatechart("show", "b")
    assert shown.code == 0
    assert re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "(a moment)", shown.out).splitlines() == [
        "agent    b",
        "graph    desk, version 1",
        "state    ANSWERING",
        "status   active",
        "version  1",
        "started  (a moment)",
        "changed  (a moment)",
        "",
        "CONTEXT",
        'name     "Ada"',
        "notes    []",
        "",
        "ACCEPTS   LEADS TO   IF  DOING",
        "ANSWERED  LISTENING",
        "LEFT      CLOSED",
    ]


def test_what_is_asked_in_order_is_shown_in_order(gatechart):
    gatechart("send", "a", "ANSWERED")
    assert "ASKED          ANSWERING  is_long       keep\n               (stays)    else          keep\n" in (
        gatechart("show", "a").out
    )


def test_what_cannot_be_printed_is_written_out(gatechart):
    assert '["a\\u2028b"]' in gatechart("show", "a").out
    assert 'notes+=["a\\u2028b"]' in gatechart("history", "a").out


def test_machines_get_an_agent_with_what_it_accepts(gatechart):
    document = gatechart("show", "b", "--json").document
    assert document["context"] == {"name": "Ada", "notes": []}
    assert document["problem"] is None
    assert document["accepts"] == [
        {
            "event": "ANSWERED",
            "transitions": [{"source": "ANSWERING", "targets": ["LISTENING"], "guard": None, "actions": []}],
            "deferred": False,
        },
        {
            "event": "LEFT",
            "transitions": [{"source": "*", "targets": ["CLOSED"], "guard": None, "actions": []}],
            "deferred": False,
        },
    ]


def test_an_agent_is_shown_without_its_graph_but_not_what_it_accepts(gatechart):
    shown = gatechart("show", "a", "--app", "desk:strict")
    assert shown.code == 0
    assert "ACCEPTS" not in shown.out
    assert shown.err == "the accepted events are unknown: no graph is named 'desk': there are 'strict'\n"
    document = gatechart("show", "a", "--app", "desk:strict", "--json").document
    assert document["accepts"] is None
    assert document["problem"] == "no graph is named 'desk': there are 'strict'"


def test_an_agent_of_another_version_is_shown(project, gatechart):
    app = project / "later.py"
    app.write_text(
        "from gatechart import StateTransitionGraph as G\ng = G('strict', states=['OPEN'], entry_points=['OPEN'])"
    )
    assert "the agent has version '2', the graph has version '1'" in gatechart("show", "s", "--app", "later:g").err


def test_an_agent_that_has_ended_and_has_no_context_is_shown_in_short(gatechart):
    gatechart("send", "s", "LEFT")
    *_, status, version, began, changed = gatechart("show", "s").rows
    assert [status, version, began[0], changed[0]] == [["status", "done"], ["version", "2"], "started", "changed"]


@pytest.mark.parametrize("command", ["show", "history"])
def test_an_unknown_agent_is_an_error_for_readers_too(command, gatechart):
    failed = gatechart(command, "nobody", "--json")
    assert (failed.code, failed.out) == (4, "")
    assert failed.error["facts"] == {"agent_id": "nobody"}


@on_both
def test_agents_are_listed_in_the_order_they_were_started(gatechart):
    listed = gatechart("list")
    assert (listed.code, listed.err) == (0, "3 agents: 3 active\n")
    assert listed.rows[0][2] == "IDLE"
    assert all(re.fullmatch(r"\d+[sm]", row[2]) for row in listed.rows[1:])
    assert [[*row[:2], *row[-2:]] for row in listed.rows] == [
        ["AGENT", "STATUS", "STATE", "GRAPH"],
        ["a", "active", "LISTENING", "desk"],
        ["s", "active", "OPEN", "strict"],
        ["b", "active", "ANSWERING", "desk"],
    ]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ([], ["a", "s", "b"]),
        (["--graph", "desk"], ["a", "b"]),
        (["--graph", "strict", "--status", "done"], []),
        (["--state", "TALKING"], ["a", "b"]),
        (["--state", "OPEN"], ["s"]),
        (["--status", "stopped"], []),
        (["--after", "a"], ["s", "b"]),
        (["--limit", "2"], ["a", "s"]),
        (["--limit", "1", "--all"], ["a", "s", "b"]),
        (["--order", "changed"], ["a", "b", "s"]),
        (["--order", "changed", "--limit", "1", "--all"], ["a", "b", "s"]),
        (["--order=-changed", "--state", "TALKING"], ["b", "a"]),
        (["--order=-started", "--after", "b"], ["s", "a"]),
    ],
)
def test_a_list_can_be_narrowed(arguments, found, gatechart):
    document = gatechart("list", *arguments, "--json").document
    assert [agent["agent_id"] for agent in document["agents"]] == found
    assert document["next"] == ("s" if "2" in arguments else None)


@on_both
def test_agents_are_counted_by_graph_status_and_state(gatechart):
    gatechart("send", "s", "LEFT")
    counted = gatechart("list", "--count")
    assert (counted.code, counted.err) == (0, "3 agents in 2 graphs\n")
    assert [" ".join(row) for row in counted.rows] == [
        "GRAPH STATE AGENTS",
        "desk 2 active",
        "ANSWERING 1",
        "LISTENING 1",
        "strict 1 done",
        "GONE 1",
    ]
    document = gatechart("list", "--count", "--graph", "desk", "--json").document
    assert document == {
        "counts": [
            {"graph": "desk", "agents": 2, "statuses": {"active": 2}, "states": {"ANSWERING": 1, "LISTENING": 1}}
        ]
    }


@on_both
def test_agents_are_found_by_a_searchable_field(gatechart):
    for name in ("7", "Bob"):
        gatechart("start", "desk", "--at", "ANSWERING", "-p", f'{{"name": "{name}"}}', "--id", name)

    def found(*arguments):
        return [each["agent_id"] for each in gatechart("list", *arguments, "--json").document["agents"]]

    assert found("--where", "name=Ada") == ["b"]
    assert found("--where", "name=7") == ["7"]
    assert found("--where", 'name=["Ada", "Bob"]', "--graph", "desk", "--order=-name") == ["Bob", "b"]
    assert found("--where", "name^=A") == ["b"]
    assert found("--where", "name>=A", "--where", "name<B") == ["b"]
    assert found("--order", "name", "--limit", "2", "--after", "1:t") == ["7", "b"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--where", "nme=Ada"], 4, "agents cannot be found by 'nme': did you mean 'name'"),
        (["--graph", "strict", "--where", "name=Ada"], 4, "agents of 'strict' cannot be found by 'name'"),
        (["--where", "name"], 2, "is not a condition: write customer=Ada"),
        (["--where", "name=a", "--where", "name=b"], 2, "another condition for name contradicts it"),
        (["--order", "age"], 4, "There are 'started', 'changed', 'name'"),
    ],
)
def test_a_condition_that_makes_no_sense_says_what_would(gatechart, arguments, code, told):
    refused = gatechart("list", *arguments)
    assert (refused.code, refused.out) == (code, "")
    assert told in " ".join(refused.err.split())


def test_a_count_is_narrowed_by_a_graph_alone(gatechart):
    refused = gatechart("list", "--count", "--status", "done")
    assert (refused.code, refused.out) == (2, "")
    assert "leave out --status" in refused.err
    assert gatechart("list", "--count", "--graph", "dsk").code == 4


def test_a_list_that_goes_on_says_how(gatechart):
    assert gatechart("list", "--limit", "2").err == "2 agents: 2 active\nthere are more; add --after s, or --all\n"


def test_an_empty_list_says_so(gatechart):
    listed = gatechart("list", "--status", "done")
    assert (listed.code, listed.out, listed.err) == (0, "", "no agents found\n")


@on_both
def test_without_an_app_a_list_takes_states_as_they_are_stored(project, gatechart):
    (project / "pyproject.toml").unlink()
    (found,) = gatechart("list", "--state", "LISTENING").rows[1:]
    assert (found[:2], found[-2:]) == (["a", "active"], ["LISTENING", "desk"])
    assert gatechart("list", "--state", "TALKING").out == ""


def test_with_an_app_a_wrong_state_is_told(gatechart):
    failed = gatechart("list", "--state", "LISTENIN")
    assert failed.code == 4
    assert "did you mean 'LISTENING'?" in failed.err


@pytest.mark.parametrize("arguments", [["--limit", "0"], ["--status", "asleep"], ["--limit", "many"]])
def test_a_list_that_cannot_be_is_a_usage_error(arguments, gatechart):
    failed = gatechart("list", *arguments)
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.count("\n") == 1
    assert failed.err.endswith("see `gatechart list --help`\n")


def test_a_list_after_an_unknown_agent_is_an_error(gatechart):
    assert gatechart("list", "--after", "nobody").code == 4


def test_a_history_is_told_turn_by_turn(gatechart):
    gatechart("send", "a", "LEFT")
    told = gatechart("history", "a")
    moments = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "<------ time ----->", told.out)
    assert moments.splitlines() == [
        "VERSION  TIME (UTC)           BY         EVENT → STATE, TRANSITION, CHANGES",
        "1        <------ time ----->  framework  agent.started.LISTENING → LISTENING",
        "2        <------ time ----->  outside    ASKED",
        "                                           LISTENING --ASKED",
        '                                           notes+=["a\\u2028b"]',
        "3        <------ time ----->  outside    LEFT → CLOSED",
        "                                           * --LEFT--> CLOSED",
    ]


def test_times_are_local_for_people_and_utc_for_machines(gatechart, monkeypatch):
    def hour():
        return int(re.search(r" (\d\d):\d\d:\d\d ", gatechart("history", "a").out)[1])

    try:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()
        utc, before = hour(), gatechart("history", "a", "--json").out
        monkeypatch.setenv("TZ", "XST-5")  # five hours ahead of UTC
        time.tzset()
        assert "TIME (XST)" in gatechart("history", "a").out
        assert hour() == (utc + 5) % 24
        assert gatechart("history", "a", "--json").out == before
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_a_history_of_a_start_tells_the_fields_that_hold_something(gatechart):
    assert gatechart("history", "b").out.splitlines()[2:] == [f'{"":43}name="Ada"']


def test_a_history_shortens_what_is_long(gatechart):
    gatechart("send", "b", "ANSWERED")
    gatechart("send", "b", "ASKED", "-p", f'{{"text": "{"x" * 5000}"}}')
    longest = gatechart("history", "b").out.splitlines()[-1]
    assert longest.endswith("x…")
    assert len(longest) < 300


@on_both
def test_machines_get_a_history_whole(gatechart):
    document = gatechart("history", "a", "--json").document
    assert (document["agent_id"], document["next"], len(document["history"])) == ("a", None, 2)
    turn = document["history"][1]
    assert turn.pop("took_us") >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", turn["event"].pop("time"))
    assert turn == {
        "version": 2,
        "event": {
            "name": "ASKED",
            "payload": {"text": "a\u2028b"},
            "id": "mail-1",
            "sender": None,
            "operator_reason": "",
        },
        "origin": "outside",
        "source": ["LISTENING"],
        "target": ["LISTENING"],
        "taken": ["LISTENING --ASKED"],
        "changed": {},
        "appended": {"notes": ["a\u2028b"]},
        "status": "active",
        "guard_errors": [],
        "fired": None,
    }


def test_a_history_is_told_page_by_page(gatechart):
    first = gatechart("history", "a", "--limit", "1")
    assert first.err == "there are more; add --after 1\n"
    assert gatechart("history", "a", "--limit", "1", "--json").document["next"] == 1
    second = gatechart("history", "a", "--after", "1", "--json").document
    assert [turn["version"] for turn in second["history"]] == [2]


def test_readers_need_no_graphs(project, gatechart):
    (project / "pyproject.toml").unlink()
    (project / "desk.py").write_text("1 / 0")
    assert gatechart("list").code == 0
    assert gatechart("history", "a").code == 0
    assert gatechart("show", "a").err.startswith("the accepted events are unknown: no app; name the graphs")


def test_a_graph_that_neither_the_app_nor_the_database_knows_is_an_error(gatechart):
    failed = gatechart("list", "--graph", "dask")
    assert (failed.code, failed.out) == (4, "")
    assert failed.err == "error: no graph is named 'dask': did you mean 'desk'? There are 'desk', 'strict'\n"
    assert gatechart("list", "--graph", "dask", "--json").error["error"] == "UnknownGraphError"


def test_agents_of_a_graph_that_the_app_does_not_have_are_listed(gatechart):
    listed = gatechart("list", "--graph", "strict", "--app", "desk:desk")
    assert [row[0] for row in listed.rows[1:]] == ["s"]
    assert gatechart("list", "--graph", "strict", "--app", "desk:desk", "--status", "done").err == "no agents found\n"


def test_where_no_app_can_be_loaded_a_wrong_graph_has_no_agents(project, gatechart):
    (project / "desk.py").write_text("1 / 0")
    assert gatechart("list", "--graph", "dask", "--app", "disk:desk").err == "no agents found\n"
    (project / "pyproject.toml").unlink()
    assert gatechart("list", "--graph", "dask").err == "no agents found\n"
