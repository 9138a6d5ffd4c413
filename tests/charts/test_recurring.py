"""Recurring timers in charts as data."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from jsonschema import Draft202012Validator

from gatechart import Every
from gatechart.chartfiles.faults import Spot
from gatechart.chartfiles.source import read
from gatechart.charts import dump, load, schema
from gatechart.checks import check
from gatechart.drawing import to_dot
from gatechart.errors import InvalidChartError
from gatechart.testing import VirtualClock, rehearse

CHART = """
id: case
context: {reminders: 0}
entry_points: [OPEN]
states:
  OPEN:
    every: %s
    on: {CLOSED: GONE}
  GONE: {type: final}
"""
COUNT = "actions: {assign: {reminders: context.reminders + 1}}"
VALIDATOR = Draft202012Validator(schema())


def recurrences(written: str) -> list[Every]:
    return [every for _, every in load(CHART % written).nodes["OPEN"].recurring]


def fits(written: str) -> bool:
    return VALIDATOR.is_valid(Spot(read(CHART % written)[0]).plain())


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (f"{{1d: {{{COUNT}}}}}", [Every("1d")]),
        ("{1d: GONE, 90: GONE}", [Every("1d"), Every("90s")]),
        (f"{{period: 1d, missed: each, {COUNT}}}", [Every("1d", missed="each")]),
        ("{cron: 0 9 * * MON-FRI, target: GONE}", [Every(cron="0 9 * * MON-FRI")]),
        (
            "[{period: 60, target: GONE}, {cron: '*/5 * * * *', zone: Europe/Berlin, missed: none, target: GONE}]",
            [Every(60), Every(cron="*/5 * * * *", zone="Europe/Berlin", missed="none")],
        ),
    ],
)
def test_recurrences_are_written_under_periods_or_with_keys_of_their_own(written, meant):
    graph = load(CHART % written)
    assert recurrences(written) == meant
    assert fits(written)
    assert load(dump(graph)).fingerprint == graph.fingerprint
    assert VALIDATOR.is_valid(Spot(read(dump(graph))[0]).plain())


async def test_a_chart_file_reminds_every_day_by_itself():
    async with rehearse(load(CHART % f"{{1d: {{{COUNT}}}}}"), "OPEN") as rehearsal:
        await rehearsal.advance("2d12h")
        assert rehearsal.context.reminders == 2


async def test_a_chart_file_follows_the_clocks_of_a_zone():
    graph = load(CHART % f"{{cron: 0 9 * * *, zone: Europe/Berlin, {COUNT}}}")
    saturday = datetime(2030, 3, 30, 12, tzinfo=UTC)  # the clocks go forward on Sunday
    async with rehearse(graph, "OPEN", clock=VirtualClock(saturday)) as rehearsal:
        for at, reminders in (("18h59m", 0), ("1m", 1), ("23h59m", 1), ("1m", 2)):
            await rehearsal.advance(at)
            assert rehearsal.context.reminders == reminders


def test_transitions_of_the_same_recurrence_are_tried_in_their_order():
    written = f"[{{period: 1d, guard: {{cel: context.reminders > 2}}, target: GONE}}, {{period: 1d, {COUNT}}}]"
    [recurring] = load(CHART % written).tree[0].every
    assert recurring.every == Every("1d")
    assert [then.targets for then in recurring.then] == [("GONE",), ()]


def test_what_a_chart_file_repeats_is_drawn_and_checked():
    graph = load(CHART % f"{{1d: {{{COUNT}}}}}")
    assert "every 1d" in to_dot(graph)
    assert {each.code for each in check(graph)} == {"GC302"}  # an entry point without a description


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("{soon: GONE}", "7:13 states.OPEN.every.soon: 'soon' is not a duration; write '500ms'"),
        ("{period: soon, target: GONE}", "7:21 states.OPEN.every.period: 'soon' is not a duration; write '500ms'"),
        ("{period: 0s, target: GONE}", "7:21 states.OPEN.every.period: '0s' is too short a period"),
        ("{cron: 0 9, target: GONE}", "7:19 states.OPEN.every.cron: '0 9' is not a cron expression: it needs 5 fields"),
        (
            "[{cron: 0 9 * * *, zone: Mars, target: GONE}]",
            "7:37 states.OPEN.every[0].zone: unknown time zone 'Mars'; write a name of the IANA database",
        ),
        (
            "[{period: 1d, zone: Europe/Berlin, target: GONE}]",
            "7:32 states.OPEN.every[0].zone: zone='Europe/Berlin', but a period is the same in all zones",
        ),
        (
            "[{period: 1d, missed: all, target: GONE}]",
            "7:34 states.OPEN.every[0].missed: unknown value 'all'; there are 'one', 'each', 'none'",
        ),
        ("[{target: GONE}]", "7:13 states.OPEN.every[0]: it has neither `period` nor `cron`; write `period: 1d`, or"),
        (
            "[{period: 1d, cron: 0 9 * * *, target: GONE}]",
            "7:13 states.OPEN.every[0]: it has both `period` and `cron`; write `period: 1d`, or",
        ),
        ("{cron: 0 9 * * *, zones: UTC}", "7:30 states.OPEN.every.zones: unknown key 'zones'; did you mean 'zone'?"),
        ("{1d: NOWHERE}", "7:17 states.OPEN.every.1d: unknown state 'NOWHERE'; there are"),
        ("[1d]", "7:13 states.OPEN.every[0]: expected keys with values, found '1d'; write `key: value`"),
        ("1d", "7:12 states.OPEN.every: expected keys with values, found '1d'; write `key: value`"),
    ],
)
def test_what_is_no_recurrence_is_a_fault_with_its_place(written, fault):
    with pytest.raises(InvalidChartError) as raised:
        load(CHART % written)
    assert [str(each)[: len(fault)] for each in raised.value.faults] == [fault]


@pytest.mark.parametrize(
    "written",
    [
        "{period: 1d, cron: 0 9 * * *}",
        "[{target: GONE}]",
        "{period: soon}",
        "{cron: 0 9 * * *, missed: all}",
        "{cron: 0 9 * * *, zones: UTC}",
        "1d",
        "[1d]",
    ],
)
def test_editors_find_what_is_no_recurrence(written):
    assert not fits(written)


def test_a_machine_of_xstate_has_no_recurring_timers():
    with pytest.raises(InvalidChartError, match="unknown key 'every'"):
        load("dialect: xstate\nid: m\ninitial: a\nstates: {a: {every: {1d: a}}}")
