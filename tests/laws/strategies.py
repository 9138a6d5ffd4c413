"""Charts of every kind of state, made up by hypothesis, whose guards answer by a table and whose actions tell."""

from __future__ import annotations

from hypothesis import strategies as st
from pydantic import Field

from gatechart import AgentContext
from gatechart.graph.definition import ANY, EntryPoint, Initial, Precedence, State, Transition
from gatechart.graph.graph import StateTransitionGraph

EVENTS = ("a", "b", "b.x", "c")
GUARDS = 4


class Trace(AgentContext):
    done: list[str] = Field(default_factory=list)
    answers: int = 0  # a bit for each guard and remainder of the number of things done


class Chart:
    """What a graph is built from, so that it can be built again."""

    def __init__(self, states, transitions):
        self.states = tuple(states)
        self.transitions = tuple(transitions)

    def __repr__(self):
        ways = [
            f"{each.label}{' if' * (each.guard is not None)}{' internal' * each.internal}" for each in self.transitions
        ]
        return "\n".join([*(_drawn(state) for state in self.states), *ways])

    def build(self):
        return StateTransitionGraph(
            "chart",
            context=Trace,
            states=self.states,
            transitions=self.transitions,
            precedence=Precedence.DOCUMENT,  # as the standard has it
            entry_points=[EntryPoint(state.name) for state in every(self.states)],
            max_microsteps=20,
        )


def _drawn(state):
    kind = "final" if state.final else state.history.value if state.history else "parallel" if state.parallel else ""
    start = f" -> {state.initial.targets[0]}" if state.initial else ""
    inside = f" ({', '.join(map(_drawn, state.states))})" if state.states else ""
    return f"{kind} {state.name}{start}{inside}".strip()


def note(what):
    def noting(context, event):
        context.done.append(what)

    return noting


def guard_of(number):
    """A guard that reads its answer from the table; what was done before moves the row."""

    def is_set(context, event):
        row = len(context.done) % 3
        return bool(context.answers >> (number + GUARDS * row) & 1)

    return is_set


def learn(context, event):
    if "answers" in event.payload:
        context.answers = event.payload["answers"]


def below(state):
    """Every state inside, in document order."""
    for child in state.states:
        yield child
        yield from below(child)


def every(states):
    return [each for state in states for each in (state, *below(state))]


@st.composite
def any_charts(draw):
    states = tuple(_state(draw, f"s{number}", depth=0) for number in range(draw(st.integers(2, 3))))
    inside = every(states)
    lines = _lines(states)
    transitions = [_transition(draw, inside, lines) for _ in range(draw(st.integers(4, 16)))]
    always = [Transition(ANY, event, actions=[learn]) for event in draw(st.sets(st.sampled_from(EVENTS), max_size=1))]
    return Chart(states, (*filter(None, transitions), *always))


@st.composite
def charts_with_ways_back(draw):
    """Regions in regions, with ways from leaves to the history states around them, near and far, and to leaves beside.

    These go wrong where what is entered for a history state ends short of what has stayed active.
    """
    states = (_atomic("s0"), _nest(draw, "s1", depth=0))
    inside = every(states)
    lines = _lines(states)
    ways = [Transition("s0", "a", "s1"), Transition("s1", "d", "s0", actions=[note("s1/d")])]
    for leaf in (each for each in inside[1:] if not each.states and each.history is None):
        back = [each.name for outer in lines[leaf.name] for each in outer.states if each.history is not None]
        beside = [each.name for each in lines[leaf.name][-1].states if each.history is None]
        for targets in (beside, back or beside):
            event, target = draw(st.sampled_from(EVENTS)), draw(st.sampled_from(targets))
            ways.append(Transition(leaf.name, event, target, actions=[note(f"{leaf.name}/{event}")]))
    return Chart(states, ways)


def _nest(draw, name, *, depth):
    """A compound or parallel state, its leaves two or three levels further in; the outermost has a history state."""
    parallel = depth < 2 and draw(st.booleans())
    inner = [depth < 2, depth < 2 and draw(st.integers(0, 2)) > 0]
    children = [
        _nest(draw, f"{name}{n}", depth=depth + 1) if is_nest else _atomic(f"{name}{n}")
        for n, is_nest in enumerate(inner)
    ]
    leaves = [each for each in every(children) if not each.states and each.history is None]
    history = _history(draw, f"{name}h", leaves) if depth == 0 or draw(st.booleans()) else []
    return State(name, states=[*history, *children], parallel=parallel, **_tells(name))


def _atomic(name):
    return State(name, **_tells(name))


def _tells(name):
    return {"on_entry": [note(f"+{name}")], "on_exit": [note(f"-{name}")]}


def charts():
    return any_charts() | charts_with_ways_back()


@st.composite
def stories(draw):
    """Events with the answers that guards are to give from then on."""
    return draw(st.lists(st.tuples(st.sampled_from((*EVENTS, "d")), st.integers(0, 2 ** (3 * GUARDS) - 1)), max_size=8))


def _state(draw, name, *, depth, may_be_final=True):
    inner = ["compound", "compound", "parallel", *["parallel"] * (not may_be_final)]  # regions are often parallel, too
    kinds = ["atomic", "atomic", *["final"] * may_be_final, *inner * (depth < 3)]
    kind = draw(st.sampled_from(kinds))
    tells = _tells(name)
    if kind == "final":
        return State(name, final=True, **tells)
    if kind == "atomic":
        return _atomic(name)
    parallel = kind == "parallel"
    count = draw(st.integers(2 if parallel else 1, 3 if depth < 2 else 2))
    children = [_state(draw, f"{name}{n}", depth=depth + 1, may_be_final=not parallel) for n in range(count)]
    history = _history(draw, f"{name}h", children) if draw(st.booleans()) else []
    initial = (
        None if parallel else draw(st.none() | st.sampled_from([each.name for each in (*every(children), *history)]))
    )
    start = initial and Initial(initial, actions=[note(f"!{name}")])
    return State(name, states=[*history, *children], parallel=parallel, initial=start, **tells)


def _history(draw, name, siblings):
    """A history state; its default is one state, so that it fits whatever surrounds it."""
    targets = [each.name for each in every(siblings) if each.history is None]
    recall = draw(st.sampled_from(["shallow", "deep"]))
    return [State(name, history=recall, initial=Initial(draw(st.sampled_from(targets)), actions=[note(f"!{name}")]))]


def _lines(states, line=()):
    """For each state, by name, the states around it, outermost first."""
    found = {}
    for state in states:
        found[state.name] = line
        found.update(_lines(state.states, (*line, state)))
    return found


def _transition(draw, inside, lines):
    sources = [state for state in inside if not state.final and state.history is None]
    source = draw(st.sampled_from([*(state.name for state in sources), ANY]))
    ended = [state.name for state in inside if state.states and source in (ANY, state.name)]
    event = draw(st.sampled_from((None, *EVENTS, *EVENTS, *(f"done.state.{name}" for name in ended))))
    guarded = draw(st.booleans()) or (event is None and draw(st.booleans()))
    within = [each for each in inside if source in (each.name, *(outer.name for outer in lines[each.name]))]
    stays = source != ANY and draw(st.booleans())
    targets = _targets(draw, within if stays else inside, lines)
    if event is None and not guarded and not targets:
        return None
    around = {each.name for outer in lines.get(source, ()) for each in outer.states if each.history is not None}
    if targets and around.issuperset(targets):
        stays = draw(st.booleans())  # where what the history states stand for lies inside the source
    return Transition(
        source,
        event,
        targets or None,
        guard=guard_of(draw(st.integers(0, GUARDS - 1))) if guarded else None,
        actions=[learn, note(f"{source}/{event}")],
        internal=stays and bool(targets),
    )


def _targets(draw, inside, lines):
    """None, one, or two that lie in different regions."""
    count = draw(st.sampled_from((0, 1, 1, 1, 2, 2)))
    if count == 0:
        return ()
    histories = [state for state in inside if state.history is not None]
    first = draw(st.sampled_from([*inside, *histories, *histories])).name
    beside = [each.name for each in inside if count == 2 and _are_parted_by_regions(first, each.name, lines)]
    return (first, draw(st.sampled_from(beside))) if beside else (first,)


def _are_parted_by_regions(first, second, lines):
    line, other = ([each.name for each in lines[name]] + [name] for name in (first, second))
    if first in other or second in line:
        return False
    common = [state for state, name in zip(lines[first], other, strict=False) if state.name == name]
    if not common or not common[-1].parallel:
        return False
    of_all_regions = {state.name for state in common[-1].states if state.history is not None}
    return of_all_regions.isdisjoint((first, second))
