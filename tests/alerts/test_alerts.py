"""Alerts on every home: delivered, tried again, given up; once for each id."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from gatechart import Runtime, State, StateTransitionGraph
from gatechart.alerts import Alerts
from gatechart.alerts.graph import MOST_PENDING, SinkContext, alerts_graph
from gatechart.alerts.sinks import NO_ALERTS
from gatechart.checks import check
from gatechart.errors import UnknownAgentError
from gatechart.hosting.own_agents import own_agents_of
from gatechart.stores import MemoryStore
from gatechart.testing import VirtualClock
from gatechart.turn.alerts import alert_effects, alert_payload, sink_agent
from gatechart.values.alerts import ALERT, AlertMessage

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
TOLD = AlertMessage("a-1", "stuck", "it stands still", NOON, agent_id="case-1")
idle = StateTransitionGraph("idle", states=[State("HERE")], entry_points=["HERE"])


class Sink:
    """A sink that takes alerts, except for so many times."""

    def __init__(self, fails=0):
        self.fails = fails
        self.got = []
        self.tried = 0

    async def deliver(self, alert):
        self.tried += 1
        if self.fails:
            self.fails -= 1
            raise ConnectionError("nobody at home")
        self.got.append(alert)


async def told(runtime, alert, sink="ops"):
    await own_agents_of(runtime).post(sink_agent(sink), ALERT, alert_payload(alert), event_id=alert.id)


async def kept(runtime, holds, sink="ops"):
    """What the agent of the sink keeps, as soon as this holds of it."""
    async with asyncio.timeout(30):
        while True:
            with suppress(UnknownAgentError):  # on an engine it begins once the service is known there
                context = SinkContext.model_validate((await runtime.read(sink_agent(sink))).context)
                if holds(context):
                    return context
            await asyncio.sleep(0.01)


@pytest.mark.sqlite_is_enough
async def test_an_alert_reaches_its_sink_once_for_each_id(place):
    sink = Sink()
    async with Runtime.open(place, graphs=[idle], alerts=Alerts({"ops": sink})) as runtime:
        for alert in (TOLD, TOLD, replace(TOLD, id="a-2", details={"tries": 3})):
            await told(runtime, alert)
        context = await kept(runtime, lambda context: context.delivered == 2)
    assert context.pending == []
    assert [(each.id, each.title, each.details) for each in sink.got] == [
        ("a-1", "it stands still", {}),
        ("a-2", "it stands still", {"tries": 3}),
    ]


@pytest.mark.sqlite_is_enough
async def test_an_alert_that_fails_is_tried_again(place):
    sink = Sink(fails=2)
    alerts = Alerts({"ops": sink}, first_wait="20ms")
    async with Runtime.open(place, graphs=[idle], alerts=alerts) as runtime:
        await told(runtime, TOLD)
        context = await kept(runtime, lambda context: context.delivered == 1)
    assert (sink.tried, [each.id for each in sink.got], context.lost) == (3, ["a-1"], 0)


async def test_one_alert_that_fails_holds_up_no_other():
    class Picky(Sink):
        async def deliver(self, alert):
            self.fails = 1 if alert.id == "a-1" else 0
            await super().deliver(alert)

    clock, sink = VirtualClock(NOON), Picky()
    async with Runtime.open(MemoryStore(), graphs=[idle], clock=clock, alerts=Alerts({"ops": sink})) as runtime:
        await told(runtime, TOLD)
        await kept(runtime, lambda context: context.pending and context.pending[0].attempts == 1)
        await told(runtime, replace(TOLD, id="a-2"))
        context = await kept(runtime, lambda context: context.delivered == 1)
        assert [(each.alert["id"], each.problem) for each in context.pending] == [
            ("a-1", "ConnectionError: nobody at home")
        ]
        assert sink.tried == 2


def is_tried(times, context):
    return context.lost or (context.pending and context.pending[0].attempts == times)


async def test_waits_grow_and_an_alert_is_given_up_in_the_end():
    clock, sink = VirtualClock(NOON), Sink(fails=10_000)
    alerts = Alerts({"ops": sink}, first_wait="5s", longest_wait="10m", give_up_after="1h")
    async with Runtime.open(MemoryStore(), graphs=[idle], clock=clock, alerts=alerts) as runtime:
        await told(runtime, TOLD)
        dues = []
        while not (context := await kept(runtime, partial(is_tried, len(dues) + 1))).lost:
            dues.append((context.pending[0].due - clock.now()).total_seconds())
            clock.advance(timedelta(seconds=dues[-1]))
    assert dues[:8] == [5, 10, 20, 40, 80, 160, 320, 600]
    assert set(dues[8:]) == {600}
    [lost] = context.given_up
    assert (lost.id, lost.problem, context.pending) == ("a-1", "ConnectionError: nobody at home", [])
    assert lost.attempts == len(dues) + 1


@pytest.mark.sqlite_is_enough
async def test_an_alert_to_a_sink_that_is_not_configured_waits_until_it_is(place):
    async with Runtime.open(place, graphs=[idle]) as runtime:
        await told(runtime, TOLD)
    sink = Sink()
    async with Runtime.open(place, graphs=[idle], alerts=Alerts({"ops": sink})) as runtime:
        await kept(runtime, lambda context: context.delivered == 1)
    assert [each.id for each in sink.got] == ["a-1"]


async def test_a_sink_that_was_taken_out_of_the_configuration_keeps_its_alerts(sqlite_url):
    sink = Sink()
    async with Runtime.open(sqlite_url, graphs=[idle], alerts=Alerts({"ops": sink})):
        pass
    async with Runtime.open(sqlite_url, graphs=[idle]) as runtime:
        await told(runtime, TOLD)
        context = await kept(runtime, lambda context: context.pending and context.pending[0].attempts)
        assert context.pending[0].problem == "no sink 'ops' is configured"


async def test_what_is_kept_of_alerts_is_bounded():
    clock, sink = VirtualClock(NOON), Sink(fails=10**6)
    async with Runtime.open(MemoryStore(), graphs=[idle], clock=clock, alerts=Alerts({"ops": sink})) as runtime:
        for number in range(MOST_PENDING + 5):
            await told(runtime, replace(TOLD, id=f"a-{number}"))
        context = await kept(runtime, lambda context: context.lost == 5)
        assert len(context.pending) == MOST_PENDING


def test_a_turn_alerts_by_mail_under_the_id_of_the_alert():
    [sent] = alert_effects("ops", TOLD)
    assert (sent.recipient, sent.event, sent.id, sent.due) == ("alerts:ops", ALERT, "a-1", None)
    assert sent.payload == alert_payload(TOLD)


def test_the_graph_of_alerts_has_no_fault():
    assert not [finding for finding in check(alerts_graph(NO_ALERTS)) if finding.severity == "error"]


@pytest.mark.parametrize("wrong", [{"first_wait": "soon"}, {"give_up_after": -1}])
def test_a_duration_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match="is not a duration"):
        Alerts({}, **wrong)
