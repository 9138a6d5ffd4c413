"""What checks say of circles holds for every chart and every run: no agent comes round sooner."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import pairwise

from hypothesis import event, given, settings
from hypothesis import strategies as st

from gatechart.checks import check
from gatechart.errors import MicrostepLimitError
from gatechart.graph.definition import ANY, EntryPoint, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.signals import Signal, Signals
from gatechart.rules.analysis import Analysis
from gatechart.signals import Noticed, Repeats
from gatechart.signals.shortest_circles import Circles
from gatechart.turn.turns import take_turn
from gatechart.values.agents import Event
from gatechart.values.commits import TurnRecord
from gatechart.values.detectors import Detector, Evidence, Look

from .strategies import EVENTS, GUARDS, Chart, Trace, charts, every, guard_of, learn, note
from .support import NOW, finish, start

timeless = settings(deadline=None, max_examples=200)  # these are laws, however busy the machine


@dataclass(frozen=True, slots=True)
class Places(Detector):
    """Remembers, outside the agent, whence and where each of its moves led since it last made progress."""

    seen: list[tuple[tuple[str, ...], tuple[str, ...]]] = field(compare=False)

    def after(self, slot: str, look: Look) -> str:
        if look.is_told:
            self.seen.clear()
        if look.move:
            self.seen.append((look.before, look.after))
        return ""

    def evidence(self, slot: str, look: Look) -> Evidence:
        return {}


def is_odd(trail: object, context: Trace) -> bool:
    return len(context.done) % 5 < 2


def progressing(states, names):
    return tuple(
        replace(state, progress=state.name in names and state.history is None, states=progressing(state.states, names))
        for state in states
    )


@st.composite
def rings(draw):
    """Charts with few ways: from each state to the one beside it, from the last one round or out, and some across."""
    states = [ring(draw, f"s{number}", depth=0) for number in range(draw(st.integers(2, 4)))]
    ways = [way for row in rows(states) for way in around(draw, row)]
    named = [each.name for each in every(states)]
    sources = st.sampled_from([each.name for each in every(states) if each.history is None and not each.final])
    for _ in range(draw(st.integers(0, 2))):
        guard = guard_of(draw(st.integers(0, GUARDS - 1)))
        happening = draw(st.sampled_from([None, "a", "b", "c"]))
        ways.append(Transition(draw(sources), happening, draw(st.sampled_from(named)), guard=guard, actions=learn))
    return Chart(states, ways)


def ring(draw, name, *, depth):
    kind = draw(st.sampled_from(["atomic", "atomic", "compound", "parallel"])) if depth < 2 else "atomic"
    if kind == "atomic":
        return State(name)
    inside = [ring(draw, f"{name}{number}", depth=depth + 1) for number in range(draw(st.integers(2, 4)))]
    if kind == "compound" and draw(st.booleans()):
        inside.append(State(f"{name}h", history=draw(st.sampled_from(["shallow", "deep"])), initial=f"{name}0"))
    if kind == "compound" and draw(st.booleans()):
        inside.append(State(f"{name}f", final=True))
    return State(name, states=inside, parallel=kind == "parallel")


def rows(states, *, are_regions=False):
    """The states that follow each other: those at the top, and those in each compound state."""
    if not are_regions:
        yield [each for each in states if each.history is None]
    for state in states:
        if state.states:
            yield from rows(state.states, are_regions=state.parallel)


def around(draw, row):
    """Ways from each state in a row to the one beside it, by events that come, or within a turn."""
    last = draw(st.sampled_from([[], row[:1], row[:1], row[:1]]))
    for one, other in pairwise([*row, *last]):
        if not one.final:
            ended = [f"done.state.{one.name}"] if any(each.final for each in one.states) else []
            happening = draw(st.sampled_from(["a", "a", "a", "a", "b", None, *ended, *ended]))
            yield Transition(one.name, happening, other.name, actions=note(one.name))


@st.composite
def watched(draw, *more):
    """A graph with some states whose entry is progress, perhaps answers to a signal, and these detectors."""
    chart = draw(rings() | charts())
    names = [state.name for state in every(chart.states)]
    sources = [state.name for state in every(chart.states) if not state.final and state.history is None]
    ways = st.builds(Transition, st.sampled_from([*sources, ANY]), st.just("signal.odd"), st.sampled_from(names))
    answers = draw(st.just([]) | st.just([]) | st.lists(ways, min_size=1, max_size=3))
    signals = [*(Signal(each, f"own{place}") for place, each in enumerate(more)), Signal(Noticed(is_odd), "odd")]
    return StateTransitionGraph(
        "chart",
        context=Trace,
        states=progressing(chart.states, draw(st.sets(st.sampled_from(names), max_size=3))),
        transitions=(*chart.transitions, *answers),
        entry_points=[EntryPoint(name) for name in names],
        signals=Signals(signals, ignore="answers"),
        max_microsteps=20,
    )


@st.composite
def lives(draw):
    """A few events, over and over, with what guards answer from then on."""
    answers = st.integers(0, 2 ** (3 * GUARDS) - 1)
    events = st.sampled_from(("a", "a", "a", *EVENTS, "d"))
    block = draw(st.lists(st.tuples(events, answers), min_size=1, max_size=5))
    return block * draw(st.integers(3, 12))


def fired_in(graph, door, story):
    """The names of the signals that fire in a story. A turn that does not come to rest is undone."""
    snapshot, fired = start(graph, door), []
    for number, (name, answers) in enumerate(story if snapshot else ()):
        happened = Event(name, {"answers": answers}, NOW + timedelta(seconds=number))
        try:
            record = finish(take_turn(graph, snapshot, happened))
        except MicrostepLimitError:
            continue
        if isinstance(record, TurnRecord):
            snapshot = record.snapshot
            found = record.fired
            fired += [] if found is None else [found.signal, *(each["signal"] for each in found.others)]
    return fired


@timeless
@given(st.data(), lives())
def test_no_agent_comes_back_to_a_leaf_in_fewer_moves_than_the_shortest_circle_through_it_has(data, life):
    seen = []
    graph = data.draw(watched(Places(seen)))
    fired_in(graph, data.draw(st.sampled_from([*graph.entry_points])), life)
    circles = Circles(Analysis(graph), graph.progress_states)
    for leaf, moves in ways_back(seen):
        circle = circles.back_to(leaf)
        assert circle is not None, leaf
        assert circle.moves <= moves, (leaf, circle)
        event(f"circle of {circle.moves}, came round in {moves}")


def ways_back(seen):
    """Yield each leaf that an agent came back to, with the moves since it was there."""
    last = {}
    for number, (before, after) in enumerate(seen):
        for leaf in after:
            if leaf in last and leaf not in before:
                yield leaf, number - last[leaf]
            last[leaf] = number


@timeless
@given(st.data(), lives())
def test_repeats_that_are_said_to_be_out_of_reach_never_fire(data, life):
    period, times = data.draw(st.none() | st.integers(1, 4)), data.draw(st.none() | st.integers(2, 4))
    graph = data.draw(watched(Repeats(period, times, data.draw(st.integers(2, 12)))))
    is_told = any(each.code == "GC701" and each.place == "signals, own0" for each in check(graph))
    fired = fired_in(graph, data.draw(st.sampled_from([*graph.entry_points])), life)
    event(f"told: {is_told}, fired: {'own0' in fired}")
    assert not (is_told and "own0" in fired)
