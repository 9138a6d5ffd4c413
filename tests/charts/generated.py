"""Graphs of any shape, with everything that a chart can hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial

from hypothesis import strategies as st

from gatechart import EscapePlan
from gatechart.chartfiles.contexts import context_of
from gatechart.chartfiles.model import Except, Fixed
from gatechart.charts import Cel
from gatechart.checks import RULES
from gatechart.escape import CutOut, Nudge, Reroute, Rollback, SwitchTool, ToHuman
from gatechart.graph.definition import ANY, Allow, EntryPoint, Initial, Invoke, OnRefusal, State, Then, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.handoff import Accepts, Fallbacks, Handoff, Human, OtherGraph, SameTarget
from gatechart.graph.selection import Best, NeedRule
from gatechart.values.delays import Retry
from gatechart.values.handoffs import Mode, Reason
from gatechart.values.profiles import Hours, Needs, Profile
from gatechart.values.recurrence import Every
from tests.charts.functions import (
    Brought,
    Case,
    CaseFile,
    add,
    filled,
    is_alone,
    is_below,
    is_ready,
    is_welcome,
    living,
    look_up,
    note,
    result,
    search,
    tell,
    wait,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
ODD = st.sampled_from(["on", "null", "~", "true", "1", "1.5", "a.b", ".a", "#a", "a: b", "- a", "é\u2028", " a ", "<<"])
NAMES = (st.from_regex(r"[a-z]{1,3}(\.[a-z])?", fullmatch=True) | ODD | TEXTS).filter(lambda name: name != ANY)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
GUARDS = st.sampled_from(
    [
        is_ready,
        is_alone,
        Cel("context.retries < 3"),
        partial(is_below, limit=2),
        Except(("x", "y")),
        Except(("x",), note),
    ]
)
PROFILES = st.sampled_from(
    [
        Profile(),
        Profile(capabilities=("on", "é\u2028"), domains=("null",), tier=1, languages=("de",), group="1"),
        Profile(samples=(" a ", "a: b"), cost=0.5, tier=9),
        Profile(schedule=(Hours(), Hours(("MON", "SUN"), "09:00", "17:30", "Europe/Berlin")), cost=1e6),
        Profile(schedule=(Hours(ends="00:00"),), samples=("~",)),
    ]
)
FALLBACKS = st.none() | st.lists(
    st.sampled_from(
        [
            SameTarget(),
            SameTarget(5, first_s=0.5, factor=1),
            OtherGraph("orders", at="LATE"),
            OtherGraph("orders", at="on", agent="a1"),
            Human("desk", at="NORMAL"),
            Best(),
            Best(Needs(tier=2), order=("tier", "load")),
        ]
    ),
    max_size=3,
).map(lambda steps: Fallbacks(*steps))
SELECTIONS = st.sampled_from(
    [
        Best(),
        Best(Needs(("on",), ("é\u2028", "null"), tier=3, all=True), name="null"),
        Best(scorers={"text": 4.0, note: 0.5}, filters=("local", note), least=0.25, name="1"),
        Best(rules=[NeedRule(Needs(("a: b",)), reason=Reason.TOOL_FAILURE, mentions=("~",))], filters=("person",)),
        Best(rules=[NeedRule(Needs(tier=2)), NeedRule(Needs(), mentions=("true",))], order=("tier", "load")),
    ]
)
CHOSEN = st.builds(Handoff, SELECTIONS, mode=st.sampled_from(Mode), fallbacks=FALLBACKS)
HANDOFFS = CHOSEN | st.builds(
    Handoff,
    st.sampled_from(["orders", "null", "1"]),
    at=st.sampled_from(["EARLY", "on"]),
    mode=st.sampled_from(Mode),
    reason=st.sampled_from(Reason),
    deadline=st.sampled_from([None, "30s", 0, 1.5, 90]),
    fallbacks=FALLBACKS,
    packet=st.none() | st.just(tell),
    agent=st.none() | st.just(living),
    achieved=st.none() | st.just(tell),
)
ACTIONS = st.lists(st.sampled_from([note, add, look_up, partial(add, amount=2)]) | HANDOFFS, max_size=2)
AGENTS = st.builds(
    Invoke,
    id=st.sampled_from(["", "helper"]),
    agent=st.sampled_from(["orders", "on"]),
    at=st.just("EARLY"),
    timeout_s=st.none() | st.just(30),
    packet=st.none() | st.just(tell),
    fallbacks=FALLBACKS,
)
PLANS = st.none() | st.sampled_from(
    [
        EscapePlan({"1": [Nudge("a: b"), CutOut()], "*": Rollback("checkpoint", allow="on")}, shared=True),
        EscapePlan({}, tools={"~": {"*": [SwitchTool("é\u2028"), Reroute(payload=is_welcome)]}}, last=ToHuman(at="on")),
    ]
)
ACCEPTS = st.builds(Accepts, st.sampled_from([None, 0, 3]), st.sampled_from([None, is_welcome]))
DELAYS = st.sampled_from(["500ms", "30s", "2m", " 1h", 7, 1.5])
RECURRENCES = st.sampled_from(["1d", " 90m", 60, 0.5, timedelta(days=2)]).map(Every) | st.sampled_from(
    [
        Every("1w", missed="each"),
        Every(timedelta(hours=3), missed="none"),
        Every(cron="0 9 * * MON-FRI", zone="Europe/Berlin"),
        Every(cron="*/5 * * * *", missed="none"),
    ]
)


@st.composite
def graphs(draw: st.DrawFn) -> StateTransitionGraph:
    names = draw(st.lists(NAMES, min_size=2, max_size=9, unique=True))
    tree, parents = _tree(draw, names)
    states = [_state(draw, name, tree, parents, names) for name in tree[None]]
    wait_in = [name for name in names if tree["kinds"][name] not in ("final", "history")]
    transitions = [_transition(draw, wait_in, parents, names) for _ in range(draw(st.integers(0, 8)))]
    doors = draw(st.lists(st.sampled_from([*names, ANY]), min_size=1, max_size=3, unique=True))
    firsts = [name for name in tree[None] if tree["kinds"][name] != "history"]
    graph = partial(
        StateTransitionGraph,
        draw(TEXTS),
        version=draw(TEXTS),
        context=draw(st.sampled_from([Case, context_of({"query": "", "retries": [1, {"a": None}]})])),
        states=states,
        transitions=transitions,
        entry_points=[_entry_point(draw, state, number) for number, state in enumerate(doors)],
        initial=draw(st.none() | st.sampled_from(firsts).map(lambda name: Initial(name, actions=draw(ACTIONS)))),
        on_refusal=draw(st.sampled_from(OnRefusal)),
        description=draw(st.just("") | TEXTS),
        max_microsteps=draw(st.sampled_from([1, 100])),
        accepts=draw(ACCEPTS),
        escape=draw(PLANS),
    )
    return graph(allow=draw(st.lists(_allowances(graph()), max_size=2)))


def _allowances(graph):
    labels = [edge.label for node in graph.nodes.values() for edge in node.edges]
    places = [f"state {name!r}" for name in graph.nodes] + [f"transition {label!r}" for label in labels]
    return st.builds(
        Allow, st.sampled_from([rule.code for rule in RULES]), st.sampled_from(places), TEXTS.filter(str.strip)
    )


def _tree(draw, names):
    """Children by parent, None for the root, and kinds by name under "kinds"; parents by name."""
    parents = {names[0]: None}
    for index, name in enumerate(names[1:], 1):
        parents[name] = draw(st.sampled_from([None, *names[:index]]))
    tree = {parent: [name for name in names if parents[name] == parent] for parent in (None, *names)}
    kinds = {}
    for name in names:
        if tree[name]:
            kinds[name] = draw(st.sampled_from(["compound", "parallel"]))
        else:
            siblings = tree[parents[name]]
            in_region = kinds.get(parents[name]) == "parallel"
            allowed = ["atomic", *([] if in_region else ["final"]), *(["history"] if name != siblings[0] else [])]
            kinds[name] = draw(st.sampled_from(allowed))
    return {**tree, "kinds": kinds}, parents


def _state(draw, name, tree, parents, names):
    kind = tree["kinds"][name]
    description = draw(st.just("") | TEXTS)
    if kind == "history":
        first = next(each for each in tree[parents[name]] if tree["kinds"][each] != "history")
        default = Initial(first, actions=draw(ACTIONS))
        return State(name, history=draw(st.sampled_from(["shallow", "deep"])), initial=default, description=description)
    children = [_state(draw, child, tree, parents, names) for child in tree[name]]
    real = [child for child in tree[name] if tree["kinds"][child] != "history"]
    waits = kind != "final"
    ends = parents[name] is None and _can_end(kind, children)
    return State(
        name,
        on_entry=draw(ACTIONS),
        on_exit=draw(ACTIONS),
        after=draw(st.dictionaries(DELAYS, st.lists(_thens(names), min_size=1, max_size=2), max_size=2))
        if waits
        else {},
        every=draw(st.dictionaries(RECURRENCES, st.lists(_thens(names), min_size=1, max_size=2), max_size=2))
        if waits
        else {},
        invoke=_told_apart((*draw(st.sampled_from(INVOKES)), *draw(st.lists(AGENTS, max_size=1))), name, names)
        if waits
        else (),
        states=children,
        initial=draw(st.none() | st.sampled_from(real)) if kind == "compound" else None,
        parallel=kind == "parallel",
        final=kind == "final" or (ends and draw(st.booleans())),
        failed=kind == "final" and parents[name] is None and draw(st.booleans()),
        data=draw(st.sampled_from([None, result, Fixed({"a": [1, {"b": None}]})])) if kind == "final" else None,
        description=description,
        checkpoint=kind == "atomic" and draw(st.booleans()),
        escape=draw(PLANS) if kind == "atomic" and name == names[0] else None,
    )


def _can_end(kind, children):
    """Whether a state with such children may end the agent; not all that might is found."""
    if kind == "parallel":
        return all(_can_end("compound", child.states) for child in children if child.history is None)
    return any(child.final for child in children)


INVOKES = (
    (),
    (search,),
    (Invoke(search, "other", timeout_s=30), Invoke(partial(wait, for_s=2), timeout_s=0), search),
    (
        Invoke(search, retry=Retry()),
        Invoke(wait, retry=Retry(attempts=3, first_s=0.5, factor=1.0, most_s=7, jitter=0.1)),
    ),
)


def _told_apart(invokes, name, names):
    """With ids of the state's own, for those active together must differ; one state keeps what goes without saying."""
    if name == next(iter(names)):
        return invokes
    given = (each if isinstance(each, Invoke) else Invoke(each) for each in invokes)
    return [replace(each, id=f"{each.id} of {name}") for each in given]


def _thens(names):
    return st.builds(Then, st.none() | st.sampled_from(names), guard=st.none() | GUARDS, actions=ACTIONS)


def _transition(draw, sources, parents, names):
    source = draw(st.sampled_from([ANY, *sources]))
    event = draw(st.none() | st.sampled_from(["a", "b.c", "*", "error.*", "done.state.x", "null"]) | NAMES)
    inside = [name for name in names if source in (name, *_above(parents, name))]
    internal = bool(inside) and draw(st.booleans())
    target = draw(st.none() | st.sampled_from(inside if internal else names))
    guard = draw(GUARDS) if event is None else draw(st.none() | GUARDS)
    description = draw(st.just("") | TEXTS)
    return Transition(
        source, event, target, guard=guard, actions=draw(ACTIONS), internal=internal, description=description
    )


def _above(parents, name):
    while name is not None:
        yield name
        name = parents[name]


def _entry_point(draw, state, number):
    takes, maps = draw(
        st.sampled_from([(None, None), (CaseFile, None), (Brought, {"text": "query"}), (Brought, filled)])
    )
    return EntryPoint(
        state,
        draw(st.just("") | TEXTS.map(lambda name: f"{name} {number}")),
        opens_on=draw(st.sampled_from([(), (f"T{number}",), (f"T{number}", f"U{number}")])),
        takes=takes,
        maps=maps,
        guard=draw(st.none() | GUARDS),
        description=draw(st.just("") | TEXTS),
        profile=draw(st.none() | PROFILES),
    )
