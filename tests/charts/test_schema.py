"""The schema that editors get."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from gatechart.charts import dump, schema
from gatechart.charts.schema import KEYS, MEANINGS
from statecharts.customer_service import customer_service
from statecharts.leave_approval import leave_approval
from statecharts.service_desk import service_desk
from tests.charts.chart_samples import DATA
from tests.charts.machines import ORDER, UPLOADS
from tests.charts.player_machines import MACHINE
from tests.charts.schemas import plain

VALIDATOR = Draft202012Validator(schema())


def test_the_schema_is_one():
    Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("text", [DATA, *map(dump, (customer_service, leave_approval, service_desk))])
def test_right_charts_fit(text):
    from textwrap import dedent

    VALIDATOR.validate(plain(dedent(text)))


def test_a_failure_fits_in_both_dialects():
    failed = {"type": "final", "failed": True}
    chart = {"id": "x", "entry_points": ["A"], "states": {"A": failed}}
    VALIDATOR.validate(chart)
    meta = {"gatechart": {"failed": True}, "others": 1}
    machine = {"dialect": "xstate", "states": {"a": {"type": "final", "meta": meta}}}
    VALIDATOR.validate(machine)
    assert not VALIDATOR.is_valid(chart | {"states": {"A": {"type": "final", "failed": 1}}})
    assert not VALIDATOR.is_valid({"dialect": "xstate", "states": {"a": failed}})
    meta["gatechart"] = {"faild": True}
    assert not VALIDATOR.is_valid(machine)


@pytest.mark.parametrize("machine", [MACHINE, ORDER, UPLOADS], ids=lambda machine: machine["id"])
def test_an_exported_machine_fits(machine):
    VALIDATOR.validate(machine | {"dialect": "xstate"})


def test_editors_know_the_codes_that_can_be_allowed():
    chart = {"id": "x", "entry_points": ["A"], "states": {"A": None}}
    allow = {"code": "GC102", "place": "state 'A'", "reason": "so it is"}
    VALIDATOR.validate(chart | {"allow": [allow]})
    for wrong in ({"code": "GC999"}, {"why": "so it is"}):
        assert not VALIDATOR.is_valid(chart | {"allow": [allow | wrong]})
    assert not VALIDATOR.is_valid(chart | {"allow": [{"code": "GC102", "place": "state 'A'"}]})


@pytest.mark.parametrize(
    "chart",
    [
        {},
        [],
        {"id": "x", "entry_points": [], "states": {}},
        {"id": "x", "entry_points": ["A"], "states": {"A": {"onn": {}}}},
        {"id": "x", "entry_points": ["A"], "states": {"A": {"on": {"GO": {"reenter": True}}}}},
        {"id": "x", "entry_points": ["A"], "states": {"A": {"on": {"GO": None}}}},
        {"id": "x", "entry_points": ["A"], "states": {"A": {"on": [{"target": "A"}]}}},
        {"id": "x", "entry_points": ["A"], "states": {"A": {"type": "fnal"}}},
        {"id": "x", "entry_points": ["A"], "states": {"A": {"invoke": {"id": "y"}}}},
        {"id": "x", "entry_points": [{"name": "A"}], "states": {"A": None}},
        {"id": "x", "entry_points": ["A"], "states": {"A": None}, "max_microsteps": 0},
        {"id": "x", "entry_points": ["A"], "states": {"A": None}, "dialect": "other"},
        {"dialect": "xstate", "states": {"a": {"on": {"GO": {"internal": True}}}}},
    ],
)
def test_wrong_charts_do_not_fit(chart):
    assert not VALIDATOR.is_valid(chart)


def test_every_reference_of_the_schema_leads_somewhere():
    definitions = schema()["$defs"]
    found = []

    def walk(node):
        if isinstance(node, dict):
            found.extend([node["$ref"]] if "$ref" in node else [])
            for each in node.values():
                walk(each)
        elif isinstance(node, list):
            for each in node:
                walk(each)

    walk(schema())
    assert {reference.removeprefix("#/$defs/") for reference in found} <= set(definitions)


def test_every_meaning_is_that_of_a_key():
    parts = [each for dialect in KEYS.values() for each in dialect.items()]
    known = {name for part, keys in parts for key in keys for name in (key, f"{part}.{key}")}
    assert set(MEANINGS) <= known
