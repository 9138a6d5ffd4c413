from __future__ import annotations

from pathlib import Path

import pytest

from gatechart import Runtime
from statecharts import customer_service, graphs, leave_approval, service_desk
from statecharts.customer_service import scenarios as of_customer_service
from statecharts.leave_approval import scenarios as of_leave_approval
from statecharts.scenario import Scenario, begin, play
from statecharts.service_desk import scenarios as of_service_desk

SCENARIOS = (*of_customer_service, *of_leave_approval, *of_service_desk)
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


@every_scenario
async def test_every_scenario_ends_as_it_must(scenario: Scenario, runtime: Runtime) -> None:
    agent = await play(scenario, runtime)
    assert agent.configuration == (scenario.ends_in,)
    context = agent.context
    assert {name: getattr(context, name) for name in scenario.expects} == scenario.expects


@every_scenario
async def test_no_event_of_a_scenario_is_refused(scenario: Scenario, in_memory: Runtime) -> None:
    agent = await begin(scenario, in_memory)
    for event, payload in scenario.events:
        outcome = await agent.send(event, payload)
        assert outcome.applied, str(outcome.refusal)


@every_scenario
async def test_a_scenario_that_is_interrupted_after_every_event_ends_just_the_same(
    scenario: Scenario, in_memory: Runtime, tmp_path: Path
) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/agents.db"
    async with Runtime.open(url, graphs=graphs) as runtime:
        agent = await begin(scenario, runtime, "one")
    for event, payload in scenario.events:
        async with Runtime.open(url, graphs=graphs) as runtime:
            agent = await runtime.resume("one")
            await agent.send(event, payload)
    assert agent.snapshot == (await play(scenario, in_memory, "one")).snapshot


@pytest.mark.parametrize("graph", [customer_service, leave_approval, service_desk], ids=lambda graph: graph.name)
async def test_the_scenarios_visit_every_state_and_every_entry_point(graph, in_memory: Runtime) -> None:
    visited, entered = set(), set()
    for scenario in SCENARIOS:
        if scenario.graph == graph.name:
            history = await (await play(scenario, in_memory)).history()
            visited |= {state for entry in history for state in entry.target}
            entered.add(history[0].entry_point)
    assert visited == {leaf for state in graph.states for leaf in graph.leaves(state)}
    assert entered == set(graph.entry_points)


def test_the_names_of_scenarios_are_unique() -> None:
    assert len({scenario.name for scenario in SCENARIOS}) == len(SCENARIOS)


def test_a_scenario_begins_in_one_way_only() -> None:
    with pytest.raises(ValueError, match="'both' begins either at an entry point or on a trigger"):
        Scenario("both", "", "customer_service", at="IDLE", on="CUSTOMER_INITIATED_CHAT")
    with pytest.raises(ValueError, match="'neither' begins"):
        Scenario("neither", "", "customer_service")


@pytest.mark.parametrize("graph", graphs, ids=lambda graph: graph.name)
def test_every_example_says_what_its_states_and_entry_points_are_for(graph) -> None:
    assert graph.description
    assert all(state.description for top in graph.tree for state in (top, *top.states))
    assert all(entry.description for entry in graph.entry_points.values())
    assert all(entry.opens_on or entry.name == "IDLE" for entry in graph.entry_points.values())
