"""`gatechart accepts`."""

import pytest


@pytest.fixture(autouse=True)
def agents(project, prepare):
    prepare(("start", "desk", "--at", "LISTENING", "--id", "a"))


def test_the_events_that_an_agent_accepts_are_shown_with_what_guards_say(gatechart):
    shown = gatechart("accepts", "a")
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines[0].split() == ["EVENT", "AGREES", "LEADS", "TO", "IF", "WHY", "NOT"]
    assert lines[1].split() == ["ASKED", "yes", "ANSWERING", "is_long"] or lines[1].split()[:2] == ["ASKED", "yes"]
    assert lines[-1].split() == ["LEFT", "yes", "CLOSED"]


def test_one_event_is_asked_about_with_its_payload(gatechart):
    yes = gatechart("accepts", "a", "PRESSED", "-p", '{"text": "quite long"}')
    no = gatechart("accepts", "a", "PRESSED", "-p", '{"text": ""}')
    assert (yes.code, yes.out.split()[-4:]) == (0, ["PRESSED", "yes", "ANSWERING", "is_long"])
    assert (no.code, no.out.split()[-4:]) == (1, ["PRESSED", "no", "ANSWERING", "is_long"])


def test_machines_get_what_the_http_interface_answers(gatechart):
    document = gatechart("accepts", "a", "--json").document
    assert [each["event"] for each in document["accepts"]][-1] == "LEFT"
    one = gatechart("accepts", "a", "NOTHING", "--json")
    assert (one.code, one.document["agrees"], one.document["why_not"]) == (1, "no", "no transition in LISTENING")


def test_a_payload_needs_an_event(gatechart):
    failed = gatechart("accepts", "a", "-p", "{}")
    assert failed.code == 2
    assert "a payload needs an event" in failed.err
