from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gatechart import Runtime
from gatechart.contrib.human_desk import human_desk
from gatechart.testing import VirtualClock
from statecharts import customer_service, graphs, leave_approval, service_desk
from statecharts.scenario import Scenario, begin, play, tell
from statecharts.services import Services
from tests.statecharts.recorded_scenarios import SCENARIOS

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
each_third = pytest.mark.parametrize(
    "scenario",
    [pytest.param(each, id=each.name, marks=pytest.mark.slow if n % 3 else ()) for n, each in enumerate(SCENARIOS)],
)


@every_scenario
async def test_every_scenario_ends_as_it_must(scenario: Scenario, runtime: Runtime, clock: VirtualClock) -> None:
    agent = await play(scenario, runtime, clock=clock)
    assert agent.configuration == (scenario.ends_in,)
    context = agent.context
    assert {name: getattr(context, name) for name in scenario.expects} == scenario.expects


@every_scenario
async def test_each_event_of_a_scenario_is_one_turn_and_none_is_refused(
    scenario: Scenario, in_memory: Runtime, clock: VirtualClock
) -> None:
    agent = await begin(scenario, in_memory)
    for position in range(len(scenario.events)):
        outcome = await tell(agent, scenario, position, clock)
        assert outcome is None or outcome.applied, str(outcome)
        assert agent.snapshot.version == position + 2


@every_scenario
async def test_a_scenario_that_is_told_again_changes_nothing(
    scenario: Scenario, in_memory: Runtime, clock: VirtualClock
) -> None:
    agent = await play(scenario, in_memory, clock=clock)
    before = (agent.snapshot, clock.now())
    for position in range(len(scenario.events)):
        outcome = await tell(agent, scenario, position, clock)
        assert outcome is None or outcome.repeat
    assert before == (agent.snapshot, clock.now())


@each_third  # the others in the campaign
async def test_a_scenario_that_is_interrupted_after_every_event_ends_just_the_same(
    scenario: Scenario, in_memory: Runtime, clock: VirtualClock, tmp_path: Path
) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/agents.db"
    async with Runtime.open(url, graphs=graphs, services=Services(), clock=clock) as runtime:
        agent = await begin(scenario, runtime, "one")
    for position in range(len(scenario.events)):
        async with Runtime.open(url, graphs=graphs, services=Services(), clock=clock) as runtime:
            agent = await runtime.resume("one")
            await tell(agent, scenario, position, clock)
    played = (await play(scenario, in_memory, "one", clock)).snapshot
    assert replace(agent.snapshot, started=None, changed=None) == replace(played, started=None, changed=None)


@pytest.mark.parametrize("graph", [customer_service, leave_approval, service_desk], ids=lambda graph: graph.name)
async def test_the_scenarios_visit_every_state_and_every_entry_point(
    graph, in_memory: Runtime, clock: VirtualClock
) -> None:
    visited, entered = set(), set()
    for scenario in SCENARIOS:
        if scenario.graph == graph.name:
            history = await (await play(scenario, in_memory, clock=clock)).history()
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


async def test_a_scenario_that_takes_time_asks_for_a_clock(in_memory: Runtime) -> None:
    late = next(scenario for scenario in SCENARIOS if scenario.takes_time)
    with pytest.raises(ValueError, match="takes time; give it the runtime's VirtualClock"):
        await play(late, in_memory)


@pytest.mark.parametrize("graph", graphs, ids=lambda graph: graph.name)
def test_every_example_says_what_its_states_and_entry_points_are_for(graph) -> None:
    assert graph.description
    assert all(state.description for top in graph.tree for state in (top, *top.states))
    assert all(entry.description for entry in graph.entry_points.values())
    assert graph.name == human_desk.name or all(
        entry.opens_on or entry.name == "IDLE" for entry in graph.entry_points.values()
    )  # to a desk, other agents hand on
