"""Deferred events at the command line."""

import pytest

from tests.cli.homes import on_both

pytestmark = pytest.mark.sqlite_is_enough

TALK = """
id: talk
entry_points: [THINKING]
states:
  IDLE: {on: {ASKED: THINKING}}
  THINKING: {defer: ASKED, on: {ANSWERED: IDLE}}
"""


@pytest.fixture(autouse=True)
def agent(folder, gatechart, monkeypatch):
    (folder / "talk.yaml").write_text(TALK)
    monkeypatch.setenv("GATECHART_APP", "talk.yaml")
    assert gatechart("start", "talk", "--at", "THINKING", "--id", "t").code == 0


@on_both
def test_a_deferred_event_is_told_as_mail_and_listed_with_its_reason(gatechart):
    sent = gatechart("send", "t", "ASKED", "--id", "1")
    assert sent.code == 0
    assert "ASKED is deferred in THINKING: it is now mail for a later state" in sent.err
    document = gatechart("send", "t", "ASKED", "--id", "1", "--json").document
    assert (document["deferred"], document["applied"], document["repeat"]) == (True, False, True)
    gatechart("post", "t", "ASKED")
    assert gatechart("mail").out.count("deferred in THINKING") == 2
    assert "reason    deferred in THINKING" in gatechart("mail", "show", "1").out
    assert [mail["reason"] for mail in gatechart("mail", "--json").document["mail"]] == 2 * ["deferred in THINKING"]


def test_a_deferred_event_is_taken_once_its_agent_has_moved(gatechart):
    gatechart("send", "t", "ASKED", "--id", "1")
    assert gatechart("send", "t", "ANSWERED").code == 0
    gatechart("run", "--once")
    assert gatechart("mail").err == "no mail found\n"
    assert gatechart("send", "t", "ASKED", "--id", "1", "--json").document["taken"] == ["IDLE --ASKED--> THINKING"]


@pytest.mark.parametrize("app", ["", "gone.yaml", "no_such_module:graph"])
def test_mail_is_listed_without_the_app_too(gatechart, monkeypatch, app):
    gatechart("send", "t", "ASKED")
    monkeypatch.setenv("GATECHART_APP", app)
    listed = gatechart("mail")
    assert (listed.code, listed.rows[1][-1]) == (0, "ASKED")
    assert gatechart("mail", "show", "1").code == 0


def test_deferred_mail_is_neither_tried_again_nor_discarded(gatechart):
    gatechart("send", "t", "ASKED")
    for verb in ("retry", "discard"):
        assert gatechart("mail", verb, "1").code == 4
    assert len(gatechart("mail", "--json").document["mail"]) == 1


@on_both
def test_what_would_be_deferred_is_shown_as_such(gatechart):
    listed = gatechart("accepts", "t")
    assert [row[:2] for row in listed.rows[1:]] == [["ANSWERED", "yes"], ["ASKED", "deferred"]]
    asked = gatechart("accepts", "t", "ASKED", "--json")
    assert (asked.code, asked.document["agrees"], asked.document["deferred"], asked.document["refused"]) == (
        0,
        "no",
        True,
        False,
    )
    assert gatechart("accepts", "t", "OTHER").code == 1


def test_an_agent_is_shown_with_what_it_defers(gatechart):
    sent = gatechart("send", "t", "ASKED")
    assert "accepts  ANSWERED" in sent.out
    assert "defers   ASKED" in sent.out
    assert "(deferred)" in gatechart("show", "t").out
    accepts = gatechart("show", "t", "--json").document["accepts"]
    assert [(each["event"], each["deferred"], len(each["transitions"])) for each in accepts] == [
        ("ANSWERED", False, 1),
        ("ASKED", True, 0),
    ]
    refused = gatechart("send", "t", "ASKD")
    assert "accepted there: ANSWERED; deferred there: ASKED. Did you mean 'ASKED'?" in refused.err
