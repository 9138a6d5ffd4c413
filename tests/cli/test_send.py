"""`gatechart send` and `gatechart stop`."""

import pytest


@pytest.fixture(autouse=True)
def agents(project, prepare):
    prepare(("start", "desk", "--at", "LISTENING", "--id", "a"), ("start", "strict", "--at", "OPEN", "--id", "s"))


def test_an_event_takes_an_agent_on(gatechart):
    sent = gatechart("send", "a", "ASKED", "--payload", '{"text": "my printer"}')
    assert sent.code == 0
    assert sent.out.splitlines() == [
        "took     LISTENING --ASKED--> ANSWERING",
        "agent    a",
        "graph    desk, version 1",
        "state    ANSWERING",
        "status   active",
        "version  2",
        "accepts  ANSWERED, LEFT",
    ]
    assert sent.err == ""


def test_machines_get_the_outcome(gatechart):
    sent = gatechart("send", "a", "ASKED", "--payload", '{"text": "my printer"}', "--json")
    assert sent.document == {
        "agent_id": "a",
        "event": "ASKED",
        "applied": True,
        "repeat": False,
        "configuration": ["ANSWERING"],
        "version": 2,
        "status": "active",
        "taken": ["LISTENING --ASKED--> ANSWERING"],
        "refusal": None,
        "guard_errors": [],
        "deferred": False,
    }


def test_a_refused_event_tells_why_and_what_would_be_accepted(gatechart, unchanged):
    with unchanged():
        refused = gatechart("send", "a", "ZZZ")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == (
        "error: agent 'a' refused 'ZZZ': no transition in LISTENING; accepted there: ASKED, PRESSED, DIVIDED, "
        "DIVIDED_AGAIN, JAMMED, SPOILED, INTERRUPTED, LEFT\n"
    )


def test_an_event_that_is_nearly_right_is_suggested(gatechart):
    assert gatechart("send", "a", "ASKD").err.endswith("LEFT. Did you mean 'ASKED'?\n")


def test_a_refusal_names_the_guards_that_said_no(gatechart):
    refused = gatechart("send", "a", "PRESSED")
    assert "guards said no (is_long) in LISTENING" in refused.err
    assert refused.err.endswith("LEFT\n")  # 'PRESSED' itself is no suggestion


def test_machines_get_a_refusal_on_stdout(gatechart, unchanged):
    with unchanged():
        refused = gatechart("send", "a", "PRESSED", "--json")
    assert (refused.code, refused.err) == (1, "")
    assert refused.document["applied"] is False
    assert refused.document["refusal"]["reason"] == "guards said no"
    assert refused.document["refusal"]["guards"] == ["is_long"]
    assert refused.document["refusal"]["configuration"] == ["LISTENING"]
    assert refused.document["refusal"]["accepts"][0] == "ASKED"


def test_a_graph_that_raises_on_refusal_has_the_same_exit_code(gatechart, unchanged):
    with unchanged():
        refused = gatechart("send", "s", "ASKED")
        told = gatechart("send", "s", "ASKED", "--json")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err == "error: agent 's' refused 'ASKED': no transition in OPEN; accepted there: LEFT\n"
    assert told.error["error"] == "EventRefusedError"
    assert told.error["facts"] == {
        "agent_id": "s",
        "event": "ASKED",
        "reason": "no transition in OPEN; accepted there: LEFT",
    }


def test_a_guard_that_raised_is_told(gatechart):
    refused = gatechart("send", "a", "DIVIDED")
    assert refused.code == 1
    assert refused.err.startswith(
        "warning: guard is_divisible of LISTENING --DIVIDED--> ANSWERING raised "
        "ZeroDivisionError: division by zero; this counts as false\nerror: agent 'a' refused 'DIVIDED': a guard raised"
    )
    taken = gatechart("send", "a", "DIVIDED_AGAIN", "--json")
    assert taken.code == 0
    assert taken.document["guard_errors"] == [
        {
            "guard": "is_divisible",
            "transition": "LISTENING --DIVIDED_AGAIN--> ANSWERING",
            "raised": "ZeroDivisionError: division by zero",
        }
    ]


def test_an_id_is_applied_once(gatechart, unchanged):
    send = ("send", "a", "ASKED", "-p", '{"text": "a"}', "--id", "mail-1")
    gatechart(*send)
    with unchanged():
        again = gatechart(*send)
        other = gatechart("send", "a", "LEFT", "--id", "mail-1")
        document = gatechart(*send, "--json").document
    assert again.code == 0
    assert again.err == "an event with this id was already applied, as version 2; nothing was done again\n"
    assert document["repeat"] is True
    assert other.code == 4
    assert "give a new event a new --id" in other.err


@pytest.mark.parametrize(
    ("event", "error"),
    [("JAMMED", "ActionFailedError"), ("SPOILED", "ContextInvalidError"), ("ASKED", "ActionFailedError")],
)
def test_a_turn_that_fails_is_an_error_and_changes_nothing(event, error, gatechart, unchanged):
    with unchanged():
        failed = gatechart("send", "a", event)
        told = gatechart("send", "a", event, "--json")
    assert (failed.code, failed.out) == (4, "")
    assert "the turn is undone" in failed.err
    assert failed.err.count("\n") == 1
    assert told.error["error"] == error
    assert told.error["facts"]["agent_id"] == "a"


@pytest.mark.parametrize("command", [("send", "b", "ASKED"), ("stop", "b")])
def test_an_unknown_agent_is_an_error(command, gatechart, unchanged):
    with unchanged():
        failed = gatechart(*command)
    assert failed.code == 4
    assert failed.err.startswith("error: there is no agent 'b'; start it")


@pytest.mark.parametrize("command", [("send", "a", "ASKED"), ("stop", "a"), ("show", "a"), ("list",), ("history", "a")])
def test_a_database_that_is_not_there_is_not_created(command, project, gatechart):
    failed = gatechart(*command, "--store", "sqlite+aiosqlite:///other.db")
    assert (failed.code, failed.out) == (5, "")
    assert failed.err.startswith(f"error: there is no database at {project / 'other.db'}; ")
    assert not (project / "other.db").exists()


@pytest.mark.parametrize("command", [("send", "a", "ASKED"), ("stop", "a")])
def test_an_agent_whose_graph_the_app_does_not_have_stays_as_it_is(command, gatechart, unchanged):
    with unchanged():
        failed = gatechart(*command, "--app", "desk:strict")
    assert failed.code == 4
    assert failed.err == "error: no graph is named 'desk': there are 'strict'\n"


def test_a_stopped_agent_stays_where_it_is_and_refuses(gatechart):
    stopped = gatechart("stop", "a")
    assert stopped.code == 0
    assert stopped.rows[2:] == [
        ["state", "LISTENING"],
        ["status", "stopped"],
        ["version", "2"],
        ["accepts", "nothing"],
    ]
    refused = gatechart("send", "a", "ASKED")
    assert refused.code == 1
    assert "the agent has ended" in refused.err


def test_machines_get_the_last_snapshot_of_a_stopped_agent(gatechart):
    document = gatechart("stop", "a", "--json").document
    assert (document["agent_id"], document["status"], document["configuration"]) == ("a", "stopped", ["LISTENING"])


def test_an_agent_that_is_done_accepts_nothing(gatechart):
    sent = gatechart("send", "a", "LEFT")
    assert sent.rows[-1] == ["accepts", "nothing"]
    assert ["status", "done"] in sent.rows
