"""`gatechart start`."""

import io
import json

import pytest


def test_an_agent_starts_at_the_entry_point_that_is_named(project, gatechart):
    started = gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    assert started.code == 0
    assert started.rows[:5] == [
        ["agent", "a"],
        ["graph", "desk,", "version", "1"],
        ["state", "LISTENING"],
        ["status", "active"],
        ["version", "1"],
    ]
    assert started.out.splitlines()[5] == (
        "accepts  ASKED, PRESSED, DIVIDED, DIVIDED_AGAIN, JAMMED, SPOILED, INTERRUPTED, LEFT"
    )
    assert started.err == ""


def test_machines_get_the_snapshot(project, gatechart):
    started = gatechart("start", "desk", "--at", "ANSWERING", "--payload", '{"name": "Ada"}', "--id", "a", "--json")
    fingerprint, begun = (started.document[key] for key in ("fingerprint", "started"))
    assert started.document == {
        "agent_id": "a",
        "graph": "desk",
        "graph_version": "1",
        "fingerprint": fingerprint,
        "configuration": ["ANSWERING"],
        "context": {"name": "Ada", "notes": []},
        "version": 1,
        "status": "active",
        "started": begun,
        "changed": begun,
    }
    assert len(fingerprint) == 32


def test_an_agent_starts_where_the_trigger_opens(project, gatechart):
    assert gatechart("start", "--on", "OPENED", "--json").document["graph"] == "strict"
    assert gatechart("start", "desk", "--on", "CALLED", "--json").document["configuration"] == ["LISTENING"]


def test_the_graph_may_be_left_out_where_there_is_but_one(folder, gatechart):
    started = gatechart("start", "--at", "OPEN", "--app", "desk:strict", "--json")
    assert started.document["graph"] == "strict"


def test_an_agent_that_is_there_is_left_as_it_is_on_wish(project, gatechart):
    start = ("start", "desk", "--at", "LISTENING", "--id", "a", "--or-resume", "--json")
    first = gatechart(*start)
    gatechart("send", "a", "ASKED", "--payload", '{"text": "my printer"}')
    again = gatechart(*start)
    assert (first.code, again.code) == (0, 0)
    assert (first.document["version"], again.document["version"]) == (1, 2)


def test_only_an_agent_with_an_id_can_be_left_as_it_is(project, gatechart):
    started = gatechart("start", "desk", "--at", "LISTENING", "--or-resume")
    assert (started.code, started.err) == (2, "error: --or-resume needs the --id of the agent\n")


def test_an_id_is_made_up_where_none_is_given(project, gatechart):
    one, two = (gatechart("start", "desk", "--at", "LISTENING", "--json").document["agent_id"] for _ in range(2))
    assert one != two


@pytest.mark.parametrize("source", ["as it is", "file", "stdin"])
def test_a_payload_comes_as_it_is_or_from_a_file_or_from_stdin(source, project, gatechart, monkeypatch):
    text = json.dumps({"name": "Zoë"}, ensure_ascii=False)
    (project / "case.json").write_text(text, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    given = {"as it is": text, "file": "@case.json", "stdin": "-"}[source]
    started = gatechart("start", "desk", "--at", "ANSWERING", "-p", given, "--json")
    assert started.document["context"]["name"] == "Zoë"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("{name: Ada}", "--payload: it is not valid JSON"),
        ("[" * 100_000, "--payload: it is not valid JSON"),
        ('{"a": NaN}', "--payload: it is not valid JSON (NaN is not a JSON number); write it like"),
        ('{"a": [-Infinity]}', "--payload: it is not valid JSON (-Infinity is not a JSON number); write it like"),
        ('{"a": 1e999}', "--payload: it is not valid JSON (the number 1e999 is too large); write it like"),
        ("[1]", "--payload: it is not a JSON object but an array"),
        ("null", "--payload: it is not a JSON object but null"),
        ("@none.json", "none.json: it cannot be read (No such file or directory)"),
        ("@latin.json", "latin.json: it is not valid JSON"),
        ("-", "stdin: it is not a JSON object but a number"),
    ],
)
def test_a_payload_that_is_no_json_object_is_a_usage_error(given, told, project, gatechart, monkeypatch, unchanged):
    (project / "latin.json").write_bytes(b'{"name": "Zo\xeb"}')
    monkeypatch.setattr("sys.stdin", io.StringIO("7"))
    with unchanged():
        failed = gatechart("start", "desk", "--at", "ANSWERING", "--payload", given)
    assert (failed.code, failed.out) == (2, "")
    assert failed.err.startswith(f"error: {told}")
    assert failed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["desk"], "no entry point; give one with --at, or a trigger with --on. Entry points: desk: LISTENING"),
        (["desk", "--at", "LISTENING", "--on", "CALLED"], "--at and --on contradict each other"),
        (["--at", "LISTENING"], "no graph; name the one with the entry point 'LISTENING': desk, strict"),
    ],
)
def test_where_it_is_not_clear_where_to_begin_the_command_line_is_wrong(arguments, told, project, gatechart, unchanged):
    with unchanged():
        failed = gatechart("start", *arguments)
    assert (failed.code, failed.out) == (2, "")
    assert told in failed.err


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        (["dask", "--at", "LISTENING"], "UnknownGraphError", "did you mean 'desk'?"),
        (["desk", "--at", "CLOSED"], "EntryRefusedError", "its entry points are LISTENING, ANSWERING"),
        (["desk", "--on", "OPENED"], "UnknownTriggerError", "there are 'CALLED', 'TAKEN_OVER'"),
        (["desk", "--at", "ANSWERING"], "PayloadError", "Expected: Case(name: str)"),
        (["desk", "--at", "LISTENING", "-p", '{"a": 1}'], "PayloadError", "it takes no payload"),
    ],
)
def test_a_start_that_cannot_be_creates_not_even_a_database(arguments, error, told, project, gatechart):
    failed = gatechart("start", *arguments, "--json")
    assert (failed.code, failed.out) == (4, "")
    assert failed.error["error"] == error
    assert failed.error["exit_code"] == 4
    assert told in failed.error["message"]
    assert not (project / "agents.db").exists()


def test_an_id_that_is_taken_is_refused(project, gatechart, unchanged):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    with unchanged():
        failed = gatechart("start", "desk", "--at", "LISTENING", "--id", "a")
    assert (failed.code, failed.out) == (4, "")
    assert failed.err == (
        "error: agent 'a' already exists; choose another --id, "
        "or leave it as it is with `gatechart start --or-resume`\n"
    )


@pytest.mark.parametrize("style", [(), ("--json",)])
def test_an_agent_that_is_kept_nowhere_is_told_as_such(style, project, gatechart):
    started = gatechart("start", "desk", "--at", "LISTENING", "--id", "a", "--store", "memory:", *style)
    assert started.code == 0
    assert "LISTENING" in started.out
    assert started.err == (
        "warning: this agent is already gone, because memory: keeps nothing; name a database with --store\n"
    )
