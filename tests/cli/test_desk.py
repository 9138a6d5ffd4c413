"""`gatechart desk`: what operators see, and what becomes of the cases that they work on."""

import re
import sqlite3
from contextlib import closing

import pytest

from tests.cli.homes import on_both

pytestmark = pytest.mark.sqlite_is_enough


@pytest.fixture(autouse=True)
def office(folder):
    """A project whose agents ask people."""
    (folder / "pyproject.toml").write_text('[tool.gatechart]\napp = "tests.contrib.human_desk.support:office"\n')


@pytest.fixture
def ask(gatechart):
    """Has an agent ask the desk, and returns the id of its case."""

    def ask(event="HELP", agent="o-1"):
        gatechart("start", "orders", "--at", "TALKING", "--id", agent)
        gatechart("send", agent, "ASKED")
        gatechart("send", agent, event)
        gatechart("run", "--once")
        (made,) = gatechart("handoffs", "--source", agent, "--json").document["handoffs"]
        return made["target"]

    return ask


@pytest.fixture
def case(ask, home, folder, kept):
    """A case that an agent waits for; a file with it is made once, and copied."""
    if not home.is_file:
        return ask()
    file = folder / "agents.db"
    if "case" not in kept:
        kept["case"] = ask(), file.read_bytes()
    made, content = kept["case"]
    file.write_bytes(content)
    return made


@pytest.fixture
def taken(case, gatechart):
    """It, taken by Ana."""
    assert gatechart("desk", "take", case, "--operator", "ana").code == 0
    return case


def start(gatechart, case, at):
    assert gatechart("start", "human_desk", "--at", at, "--id", case).code == 0


def test_cases_are_listed_the_most_urgent_first_and_of_these_the_oldest(gatechart):
    for case, at in (("a", "LOW"), ("b", "NORMAL"), ("c", "URGENT"), ("d", "NORMAL"), ("e", "HIGH")):
        start(gatechart, case, at)
    listed = gatechart("desk", "list")
    assert [row[0] for row in listed.rows] == ["CASE", "c", "e", "b", "d", "a"]
    assert listed.rows[1][1:3] == ["WAITING", "urgent"]
    assert gatechart("desk").out.split()[:1] == ["CASE"]
    assert [each["agent_id"] for each in gatechart("desk", "--json").document["cases"]] == ["c", "e", "b", "d", "a"]


def test_a_list_can_be_narrowed_to_a_state_an_operator_and_a_number(gatechart):
    for case in ("a", "b", "c"):
        start(gatechart, case, "NORMAL")
    gatechart("desk", "take", "b", "--operator", "ana")
    gatechart("desk", "take", "c", "--operator", "ben")

    def listed(*options):
        return [each["agent_id"] for each in gatechart("desk", "list", *options, "--json").document["cases"]]

    assert listed("--state", "WAITING") == ["a"]
    assert listed("--state", "TAKEN") == ["b", "c"]
    assert listed("--state", "WORKING") == []
    assert listed("--operator", "ben") == ["c"]
    assert listed("--limit", "2") == ["a", "b"]
    assert gatechart("desk", "list", "--limit", "2").err == "there are 1 more; add --limit 3\n"
    assert gatechart("desk", "list", "--operator", "zoe").err == "no open cases found\n"


def test_a_row_tells_who_asks_why_and_the_problem(case, gatechart):
    out = gatechart("desk", "list").out
    assert re.search(rf"{case} +WAITING +high +\S+ +– +o-1 \(orders\): other\n +a refund that failed", out)
    (document,) = gatechart("desk", "list", "--json").document["cases"]
    assert (document["asked_by"], document["mode"], document["priority"]) == ("o-1", "delegate", "high")
    assert document["operator"] == ""


def test_a_case_is_shown_with_all_that_an_operator_needs(case, gatechart):
    out = gatechart("desk", "show", case).out
    assert re.search(r"asked by +o-1, of orders, in CHECKING: other; it waits for the result", out)
    assert re.search(r"problem +a refund that failed", out)
    assert re.search(r"CONVERSATION\n\S+ \S+ +agent +let me see\n +refund\(order=4711\) → error: the bank is down", out)
    assert re.search(r"TRIED\nrefund +→ the bank is down", out)
    assert re.search(r"ENTITIES\norder +4711", out)
    assert re.search(r"WAY\norders +o-1 +CHECKING", out)
    shown = gatechart("desk", "show", case, "--json").document
    assert shown["context"]["entities"] == {"order": "4711"}
    assert shown["state"] == ["WAITING"]


def test_a_case_can_be_named_by_the_handoff_that_brought_it(case, gatechart):
    handoff = gatechart("desk", "list", "--json").document["cases"][0]["handoff"]
    assert handoff != case
    assert gatechart("desk", "show", handoff, "--json").document["agent_id"] == case


def test_what_cannot_be_printed_is_written_out(gatechart):
    start(gatechart, "a", "LOW")
    gatechart("desk", "take", "a", "--operator", "ana\x1b[31m")
    gatechart("desk", "answer", "a", "one\ntwo\x1b[31m")
    out = gatechart("desk", "show", "a").out
    assert "\x1b" not in out
    assert re.search(r"operator +one\n +two\\x1b\[31m", out)
    assert "\x1b" not in gatechart("desk", "list").out


def test_taking_a_case_needs_a_name(case, gatechart, monkeypatch):
    unnamed = gatechart("desk", "take", case)
    assert (unnamed.code, unnamed.out) == (2, "")
    assert "'--operator' (env var: 'GATECHART_OPERATOR')" in unnamed.err
    assert "write it like 'ana'" in gatechart("desk", "take", case, "--operator", " ").err
    monkeypatch.setenv("GATECHART_OPERATOR", "zoe")
    assert gatechart("desk", "take", case, "--json").document["configuration"] == ["ASSIGNED"]
    assert gatechart("desk", "list", "--json").document["cases"][0]["operator"] == "zoe"


def test_a_case_that_somebody_has_is_not_taken_until_it_is_released(taken, gatechart, unchanged):
    with unchanged():
        again = gatechart("desk", "take", taken, "--operator", "ben")
    assert (again.code, again.out) == (1, "")
    assert f"ana has taken the case; `gatechart desk release {taken}` releases it" in again.err
    assert gatechart("desk", "release", taken).code == 0
    assert gatechart("desk", "take", taken, "--operator", "ben").code == 0


@pytest.mark.parametrize("command", [("answer", "hello"), ("resolve",), ("return",), ("release",)])
def test_a_case_that_nobody_has_must_be_taken_first(command, case, gatechart, unchanged):
    name, *text = command
    with unchanged():
        refused = gatechart("desk", name, case, *text)
    assert refused.code == 1
    assert f"the case has not been taken; take it with `gatechart desk take {case} --operator NAME`" in refused.err


def test_an_answer_goes_into_the_conversation(taken, gatechart):
    assert gatechart("desk", "answer", taken, "Which order?", "--json").document["configuration"] == ["WORKING"]
    said = gatechart("desk", "show", taken, "--json").document["context"]["messages"][-1]
    assert (said["role"], said["content"]) == ("operator", "Which order?")
    assert gatechart("desk", "answer", taken, " ").code == 2


@on_both
def test_a_resolved_case_is_told_to_the_agent_that_waits_as_soon_as_there_is_a_host(taken, gatechart):
    resolved = gatechart("desk", "resolve", taken, "--answer", "Paid by hand.", "--rating", "4", "--note", "thanks")
    assert (resolved.code, resolved.err) == (0, "the answer to 'o-1' waits for a host: `gatechart run` delivers it\n")
    assert gatechart("show", "o-1", "--json").document["status"] == "active"
    gatechart("run", "--once")
    asked = gatechart("show", "o-1", "--json").document
    assert (asked["status"], asked["context"]["told"]) == ("done", "Paid by hand.")
    shown = gatechart("desk", "show", taken).out
    assert all(re.search(each, shown) for each in (r"answer +Paid by hand\.", r"rating +4", r"note +thanks"))
    (made,) = gatechart("handoffs", "--json").document["handoffs"]
    assert made["result"]["rating"] == 4
    assert gatechart("desk", "list").err == "no open cases found\n"
    over = gatechart("desk", "resolve", taken)
    assert (over.code, "the agent has ended in RESOLVED" in over.err) == (1, True)


@pytest.mark.parametrize("rating", ["0", "6", "good"])
def test_a_rating_that_is_none_is_told(rating, taken, gatechart, unchanged):
    with unchanged():
        assert gatechart("desk", "resolve", taken, "--rating", rating).code == 2


def test_a_returned_case_leads_the_agent_that_waits_back_to_where_it_was(taken, gatechart):
    assert gatechart("desk", "return", taken, "--note", "ask for the order", "--rating", "1").code == 0
    gatechart("run", "--once")
    asked = gatechart("show", "o-1", "--json").document
    assert (asked["configuration"], asked["context"]["told"]) == (["CHECKING"], "ask for the order")


def test_an_agent_that_waits_needs_no_entry_point(taken, gatechart, unchanged):
    with unchanged():
        refused = gatechart("desk", "return", taken, "--at", "TAKING_BACK")
    assert (refused.code, refused.err) == (
        2,
        "error: --at: o-1 waits for the result and continues in its state; leave out --at\n",
    )


def test_a_case_that_was_given_away_is_returned_at_an_entry_point(ask, gatechart, unchanged):
    case = ask("GIVE")
    gatechart("desk", "take", case, "--operator", "ana")
    with unchanged():
        asked = gatechart("desk", "return", case)
        wrong = gatechart("desk", "return", case, "--at", "NOWHERE")
    assert asked.code == 2
    assert "missing --at: name the entry point at which o-1 takes the case back, one of TAKING_BACK" in asked.err
    assert (wrong.code, "its entry points are TALKING, TAKING_BACK" in wrong.err) == (4, True)
    assert gatechart("desk", "return", case, "--at", "TAKING_BACK").code == 0
    waits = gatechart("desk", "resolve", case)
    assert (waits.code, f"`gatechart send {case} KEEP` withdraws the offer" in waits.err) == (1, True)
    gatechart("run", "--once")
    assert gatechart("show", "o-1", "--json").document["configuration"] == ["CHECKING"]
    assert gatechart("desk", "show", case, "--json").document["state"] == ["RETURNED"]
    assert "the agent has ended in RETURNED" in gatechart("desk", "return", case).err


def test_an_agent_that_has_ended_takes_nothing_back_and_the_way_out_is_told(ask, gatechart, unchanged):
    case = ask("LEAVE")
    gatechart("desk", "take", case, "--operator", "ana")
    with unchanged():
        refused = gatechart("desk", "return", case, "--at", "TAKING_BACK")
    assert refused.code == 4
    assert (
        f"is done and cannot take it back; resolve the case, or hand it over with `gatechart handoff {case}"
        in refused.err
    )


def test_a_case_that_no_agent_asked_for_is_returned_to_none(gatechart, unchanged):
    start(gatechart, "a", "LOW")
    gatechart("desk", "take", "a", "--operator", "ana")
    with unchanged():
        refused = gatechart("desk", "return", "a")
        at = gatechart("desk", "return", "a", "--at", "TAKING_BACK")
    assert (refused.code, at.code) == (1, 2)
    assert "no agent handed the case over; end the case with `gatechart desk resolve a`" in refused.err
    assert "--at: no agent handed the case over; end the case with `gatechart desk resolve a`" in at.err


@pytest.mark.parametrize(
    "command", [("take", "--operator", "ana"), ("resolve",), ("return",), ("return", "--at", "TAKING_BACK")]
)
def test_a_case_that_was_stopped_is_told_to_be_over(command, case, gatechart):
    name, *options = command
    gatechart("stop", case)
    refused = gatechart("desk", name, case, *options)
    assert (refused.code, "the agent has ended in WAITING" in refused.err) == (1, True)
    assert f"the case is stopped; see `gatechart desk show {case}`" in refused.err
    assert "takes it" not in refused.err


def test_a_case_with_evidence_leads_to_its_packet(case, folder, gatechart):
    assert gatechart("desk", "show", case).err == ""
    with closing(sqlite3.connect(folder / "agents.db")) as database:
        evidence = "json_set(context, '$.evidence', 'a loop')"
        database.execute(f"UPDATE agents SET context = {evidence} WHERE id = ?", [case])
        database.commit()
    handoff = gatechart("desk", "list", "--json").document["cases"][0]["handoff"]
    shown = gatechart("desk", "show", case)
    assert re.search(r"evidence +a loop", shown.out)
    assert shown.err == f"`gatechart handoffs show {handoff}` shows the whole packet\n"


def test_a_part_of_a_case_is_shown_with_its_result(taken, gatechart):
    gatechart("send", taken, "SUBTASK", "-p", '{"to": "refunds", "at": "REVIEWING", "task": "pay 4711"}')
    gatechart("run", "--once")
    (helper,) = gatechart("list", "--graph", "refunds", "--json").document["agents"]
    assert re.search(r"SUB-TASK\npay 4711 +asked", gatechart("desk", "show", taken).out)
    gatechart("send", helper["agent_id"], "PAY")
    gatechart("run", "--once")
    assert re.search(r"pay 4711 +completed +paid=4711\nrefunds at REVIEWING", gatechart("desk", "show", taken).out)


@pytest.mark.parametrize("command", [("show",), ("take", "--operator", "ana"), ("resolve",), ("return",)])
def test_a_case_that_is_none_is_told_with_those_there_are(command, case, gatechart, unchanged):
    name, *options = command
    with unchanged():
        unknown = gatechart("desk", name, "nope", *options)
        other = gatechart("desk", name, "o-1", *options)
    assert (unknown.code, other.code) == (4, 4)
    assert f"unknown case 'nope'; of open cases, there are '{case}'" in unknown.err
    assert "unknown case 'o-1': that is an agent of 'orders'" in other.err


def test_an_app_without_a_desk_is_told_how_to_get_one(gatechart, unchanged):
    with unchanged():
        failed = gatechart("desk", "list", "--app", "tests.contrib.human_desk.support:orders")
    assert failed.code == 3
    assert (
        "no desk among the graphs orders; add one to the app, `from gatechart.contrib.human_desk import" in failed.err
    )


def test_a_desk_that_is_none_is_told(case, gatechart):
    failed = gatechart("desk", "list", "--desk", "night_desk")
    assert (failed.code, "'human_desk'" in failed.err) == (4, True)


def test_a_database_that_is_not_there_is_not_created(folder, gatechart):
    assert gatechart("desk", "list").code == 5
    assert gatechart("desk", "take", "a", "--operator", "ana").code == 5
    assert not (folder / "agents.db").exists()
