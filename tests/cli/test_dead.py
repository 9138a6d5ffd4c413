"""What an operator is told of mail that is dead: by `gatechart run`, by `show`, and by their exit codes."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from gatechart.stores import open_store
from gatechart.values.commits import Posting
from gatechart.values.mail import Mail, MailStatus
from tests.cli.homes import on_both

pytestmark = pytest.mark.sqlite_is_enough


@pytest.fixture(autouse=True)
def agent(shop, prepare):
    prepare(("start", "shop", "--at", "FOUND", "--id", "a"))


@pytest.fixture
def write(home):
    """Leaves mail for `a` of which one attempt is left, at which the agent fails."""

    async def post(sender, **more):
        async with open_store(home.store) as store:
            mail = Mail(store.numbers(1), "a", "JAMMED", {}, datetime.now(UTC), sender=sender, attempts=4)
            await store.commit([Posting(replace(mail, **more))])

    return lambda sender=None, **more: asyncio.run(post(sender, **more))


@on_both
def test_an_agent_that_waits_for_what_is_dead_is_told_of_loudly(gatechart, write):
    write(sender="a")
    hosted = gatechart("run", "--once")
    assert hosted.code == 1
    assert "mail is dead: every attempt failed" in hosted.err
    assert "JAMMED (mail 1) of agent a" in hosted.err
    assert "agents may be waiting for dead mail (1); see `gatechart mail --status dead --framework`" in hosted.err
    shown = gatechart("show", "a")
    assert shown.code == 1
    assert ["DEAD", "REASON"] in shown.rows
    assert ["JAMMED", "mail", "1"] in [row[:3] for row in shown.rows]
    assert "no paper" in shown.out
    assert "a may be waiting for mail that is dead" in shown.err
    assert "`gatechart mail retry 1`" in shown.err
    machines = gatechart("show", "a", "--json")
    [letter] = machines.document["dead"]
    assert (machines.code, letter["event"], letter["status"]) == (1, "JAMMED", "dead")
    assert gatechart("history", "a", "--json").document["history"][-1]["event"]["name"] == "error.mail"
    assert gatechart("run", "--once").code == 0  # it was told


def test_an_agent_whose_mail_comes_through_after_all_is_told_of_no_more(gatechart, write):
    write(sender="a")
    gatechart("run", "--once")
    assert gatechart("mail", "retry", "1").code == 0
    assert gatechart("run", "--once", "--services", "shop:make_services").code == 0
    shown = gatechart("show", "a")
    assert (shown.code, "DEAD" in shown.out) == (0, False)


def test_what_nobody_waits_for_is_shown_and_no_alarm(gatechart, write):
    write()
    assert gatechart("run", "--once").code == 0
    shown = gatechart("show", "a")
    assert (shown.code, "DEAD" in shown.out, shown.err) == (0, True, "")
    assert [each["event"] for each in gatechart("show", "a", "--json").document["dead"]] == ["JAMMED"]


def test_an_agent_that_has_left_the_state_waits_no_more(gatechart, write):
    gatechart("start", "shop", "--at", "NEW", "--id", "n")
    for epoch, code in ((7, 0), (1, 1)):
        write(recipient="n", event="after.1h.NEW", state="NEW", epoch=epoch, status=MailStatus.DEAD, reason="no paper")
        shown = gatechart("show", "n")
        assert (shown.code, "no paper" in shown.out) == (code, True)


def test_an_agent_that_has_ended_waits_for_nothing(gatechart, write):
    write(sender="a")
    gatechart("run", "--once")
    gatechart("send", "a", "LEFT")
    assert gatechart("show", "a").code == 0


BROKEN = """
from gatechart import State, StateTransitionGraph, Transition
g = StateTransitionGraph("g", states=[State("BROKEN", final=True, failed=True)],
                         transitions=[Transition("OPEN", "BROKE", "BROKEN")], entry_points=["OPEN"])
"""


@on_both
def test_agents_that_failed_are_shown_and_listed_as_such(gatechart, shop):
    (shop / "broken.py").write_text(BROKEN)
    app = ("--app", "broken:g")
    gatechart("start", "g", "--at", "OPEN", "--id", "f", *app)
    assert gatechart("send", "f", "BROKE", *app).code == 0
    assert ["status", "failed"] in gatechart("show", "f", *app).rows
    (listed,) = gatechart("list", "--status", "failed").rows[1:]
    assert (listed[:2], listed[-2:]) == (["f", "failed"], ["BROKEN", "g"])
    assert gatechart("list", "--status", "done").out == ""
    bounds = ("--ended-before", "0s", "--ids-for", "0s", "--yes", *app)
    assert gatechart("prune", "--status", "done", *bounds).code == 0
    assert "f" in gatechart("list").out
    assert gatechart("prune", "--status", "failed", *bounds).code == 0
    assert gatechart("list", "--status", "failed").out == ""
