"""Nobody speaks for the framework from a shell either; operators stand in for it, and say why."""

import pytest

from tests.cli.homes import on_both

pytestmark = on_both


@pytest.fixture(autouse=True)
def agents(unhurried_shop, prepare):
    prepare(
        ("start", "shop", "--at", "NEW", "--id", "new"),
        ("start", "shop", "--at", "SLEEPING", "--id", "asleep"),
    )


def test_an_event_of_the_framework_can_be_neither_sent_nor_posted(gatechart, unchanged):
    with unchanged():
        for command in ("send", "post"):
            refused = gatechart(command, "new", "after.1h.NEW")
            assert (refused.code, refused.out) == (4, "")
            assert refused.err == (
                "error: only gatechart itself sends 'after.1h.NEW'; an operator lets a timer fire now with "
                "`gatechart mail fire`\n"
            )


def test_a_timer_fires_now_and_the_history_says_who_did_it_and_why(gatechart):
    (timer,) = [each for each in gatechart("mail", "--json").document["mail"] if each["event"] == "after.1h.NEW"]
    fired = gatechart("mail", "fire", str(timer["number"]), "--reason", "the customer called")
    assert (fired.code, fired.out) == (0, f"mail {timer['number']} is due now for new: after.1h.NEW\n")
    gatechart("send", "new", "NOTED")  # which comes behind it
    table = gatechart("history", "new").out
    assert "operator: the customer called" in table
    assert "framework" in table
    assert "outside" in table
    turns = gatechart("history", "new", "--json").document["history"]
    assert [turn["origin"] for turn in turns][:2] == ["framework", "operator"]
    again = gatechart("mail", "fire", str(timer["number"]), "--reason", "once more")
    assert again.code == 4
    assert "is not a waiting timer" in again.err


def test_an_invoke_is_ended_with_a_result_or_an_error(gatechart):
    both = gatechart("end-invoke", "asleep", "sleep", "--result", "1", "--error", "no", "--reason", "x")
    assert both.code == 2
    assert gatechart("end-invoke", "asleep", "sleep", "--result", "{", "--reason", "x").code == 2
    unknown = gatechart("end-invoke", "asleep", "dream", "--reason", "x")
    assert (unknown.code, "it runs 'sleep'" in unknown.err) == (4, True)
    ended = gatechart("end-invoke", "asleep", "sleep", "--result", '"rested"', "--reason", "it woke up", "--json")
    assert (ended.code, ended.document["repeat"]) == (0, False)
    shown = gatechart("mail", "show", str(ended.document["mail"])).out
    assert "operator: it woke up" in shown
    assert "rested" in shown
