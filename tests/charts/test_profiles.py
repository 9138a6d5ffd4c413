"""Profiles in charts: every key, what is wrong with them, and that they come back as they were written."""

from __future__ import annotations

from dataclasses import fields

import pytest
from jsonschema import Draft202012Validator

from gatechart.charts import dump, load, schema
from gatechart.errors import InvalidChartError
from gatechart.graph.definition import EntryPoint, Transition
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.selection.chart_keys import PROFILE_KEYS
from gatechart.values.profiles import Hours, Profile
from tests.charts.schemas import plain

FULL = Profile(
    capabilities=("process_refund", "query_policy"),
    domains=("退款管理",),
    tier=2,
    languages=("zh", "de"),
    samples=("I want my money back", "退款政策是什么？"),
    group="shop",
    schedule=(Hours(("MON", "FRI"), "09:00", "17:00", "Europe/Berlin"), Hours(begins="22:00", ends="02:00")),
    cost=2.5,
    expected_s=3600.0,
)
VALIDATOR = Draft202012Validator(schema())


def chart(profile: str, of_the_chart: str = "") -> str:
    return f"id: desk\n{of_the_chart}entry_points: {{WAITING: {{profile: {profile}}}}}\nstates:\n  WAITING:\n"


def profile_of(profile: str) -> Profile | None:
    return load(chart(profile)).entry_points["WAITING"].profile


def faults(profile: str) -> list[str]:
    with pytest.raises(InvalidChartError) as caught:
        load(chart(profile))
    return [str(fault) for fault in caught.value.faults]


def desk(own: Profile | None, default: Profile | None = None) -> AnyGraph:
    ringing = Transition("WAITING", "RANG", "TALKING")
    return StateTransitionGraph(
        "desk", transitions=ringing, entry_points=EntryPoint("WAITING", profile=own), profile=default
    )


def test_every_field_of_a_profile_and_of_its_hours_is_a_key() -> None:
    assert list(PROFILE_KEYS["profile"]) == [each.name for each in fields(Profile)]
    assert list(PROFILE_KEYS["hours"]) == [each.name for each in fields(Hours)]


def test_one_text_and_one_schedule_stand_without_a_list() -> None:
    found = profile_of("{domains: refunds, schedule: {days: SAT, begins: '10:00', ends: '12:00'}}")
    assert found == Profile(domains=("refunds",), schedule=(Hours(("SAT",), "10:00", "12:00"),))


def test_an_entry_point_takes_from_the_chart_what_its_own_profile_leaves_out() -> None:
    graph = load(chart("{domains: refunds}", "profile: {tier: 2, domains: orders, group: shop}\n"))
    assert graph.profile_at("WAITING") == Profile(domains=("refunds",), tier=2, group="shop")


@pytest.mark.parametrize("own", [None, Profile(), Profile(tier=1, cost=0.0), FULL])
@pytest.mark.parametrize("default", [None, Profile(), FULL])
@pytest.mark.parametrize("written", ["yaml", "json"])
def test_profiles_come_back_from_a_dump_as_they_were(
    own: Profile | None, default: Profile | None, written: str
) -> None:
    text = dump(desk(own, default), format=written)  # type: ignore[arg-type]
    again = load(text)
    assert (again.entry_points["WAITING"].profile, again.profile) == (own, default)
    VALIDATOR.validate(plain(text))


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ("expert", "WAITING.profile: expected keys with values, found 'expert'"),
        ("{domain: refunds}", "unknown key 'domain'; did you mean 'domains'?"),
        ("{tier: high}", "expected a tier, found 'high'; write a whole number from 1 to 1000"),
        ("{tier: 0}", "expected a tier, found 0"),
        ("{tier: 1000000000}", "expected a tier, found 1000000000; write a whole number from 1 to 1000"),
        ("{cost: 1.0e300}", "cost=1e+300 is no cost; pass a number from 0 to 1e+12"),
        ("{expected_s: 1.0e300}", "expected_s=1e+300 is no time; pass a number of seconds from 0 to 3155760000"),
        ("{tier: true}", "expected a tier, found True"),
        ("{cost: -1}", "expected a number, found -1"),
        ("{samples: [{text: hello}]}", "samples[0]: expected a text, found a mapping"),
        ("{schedule: {days: [MON, WEDNESDAY]}}", "days[1]: 'WEDNESDAY' is not a day"),
        ("{schedule: {days: []}}", "schedule: days [] is none"),
        ("{schedule: [{begins: '25:00'}]}", "schedule[0].begins: the time '25:00' is none; write it as '09:00'"),
        (
            "{schedule: {zone: Berlin}}",
            "schedule.zone: the zone 'Berlin' is none; write a name of the IANA database, such as 'Europe/Berlin'",
        ),
        ("{schedule: always}", "schedule: expected keys with values, found 'always'"),
    ],
)
def test_a_fault_says_where_it_is_and_what_would_have_worked(profile: str, told: str) -> None:
    (fault,) = faults(profile)
    assert told in fault
    assert not VALIDATOR.is_valid(plain(chart(profile))) or "is none" in told


def test_a_machine_of_xstate_has_no_profile() -> None:
    machine = '{"id": "x", "initial": "a", "profile": {}, "states": {"a": {}}}'
    with pytest.raises(InvalidChartError, match="unknown key 'profile'"):
        load(machine, dialect="xstate")
