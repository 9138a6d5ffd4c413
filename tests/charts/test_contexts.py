"""The type of a chart's context: made from its values, bound to its name, or given to `load`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pydantic import Field

from gatechart.charts import dump, load
from gatechart.context import AgentContext
from gatechart.errors import InvalidChartError
from gatechart.testing import rehearse

CHART = """
id: desk
entry_points: [OPEN]
states:
  OPEN: {on: {CAME: {actions: {assign: {guests: context.guests + 1}}}}}
"""


class Desk(AgentContext):
    guests: int = 0
    names: list[str] = Field(default_factory=list)
    patience: timedelta = timedelta(minutes=1)


class Unset(AgentContext):
    guests: int


def chart(context: str = "") -> str:
    return CHART + (f"context: {context}\n" if context else "")


@pytest.mark.parametrize("written", ["", "Desk", "{guests: 0}", "{guests: 0, names: []}", "{patience: PT1M}"])
def test_a_given_type_is_the_one_of_the_context_if_the_chart_agrees(written):
    assert load(chart(written), context=Desk).context is Desk


async def test_an_agent_of_such_a_graph_has_a_context_of_that_type():
    async with rehearse(load(chart("{guests: 0}"), context=Desk)) as agent:
        await agent.send("CAME")
        assert agent.context == Desk(guests=1)


def test_a_graph_with_a_given_type_is_written_with_its_name_and_read_with_it_again():
    desk = load(chart("{guests: 0}"), context=Desk)
    assert load(dump(desk), context=Desk).fingerprint == desk.fingerprint


@pytest.mark.parametrize(
    ("written", "given", "told"),
    [
        ("Lamp", Desk, "the context is 'Lamp' here, and load was given 'Desk'; write 'Desk'"),
        ("{guests: 1}", Desk, "'guests' starts with 1 here, and with 0 in Desk; write the same"),
        ("{guests: 0}", Unset, "'guests' starts with 0 here, and Unset has no default for it; write one there"),
        ("{gests: 0}", Desk, "Desk has no field 'gests'; did you mean 'guests'?"),
        ("{model_dump: 0}", Desk, "'model_dump' cannot name a field; rename it"),
        ("{guests: 0}", int, "is not a context type; pass a subclass of AgentContext"),
        ("", Desk(), "is not a context type; pass a subclass of AgentContext"),
    ],
)
def test_a_given_type_that_the_chart_does_not_fit_is_a_fault_at_its_place(written, given, told):
    with pytest.raises(InvalidChartError) as raised:
        load(chart(written), context=given)
    (fault,) = raised.value.faults
    assert told in str(fault)


def test_without_a_type_a_context_takes_any_json_under_the_names_of_its_values():
    context = load(chart("{guests: 0}")).context
    assert {name: info.annotation for name, info in context.model_fields.items()} == {"guests": Any}
    assert load(chart()).context is AgentContext


def test_a_default_that_depends_on_other_fields_is_left_to_the_type():
    class Derived(AgentContext):
        guests: int = 0
        seats: int = Field(default_factory=lambda data: data["guests"] + 1)

    assert load(chart("{guests: 0, seats: 1}"), context=Derived).context is Derived
