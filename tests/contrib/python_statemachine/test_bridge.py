"""Classes of python-statemachine as graphs, with the library itself as the oracle."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest
from pydantic import Field

from gatechart import AgentContext
from gatechart.contrib.errors import NotCarriedError
from gatechart.contrib.python_statemachine import graph_from
from gatechart.errors import ActionFailedError
from gatechart.testing import rehearse

statemachine = pytest.importorskip("statemachine", reason="NOT TESTED on python-statemachine: it is not installed")
State, StateChart, StateMachine = statemachine.State, statemachine.StateChart, statemachine.StateMachine
HistoryState = statemachine.HistoryState


class Light(StateMachine):
    green, yellow, red = State(initial=True), State(), State()
    cycle = green.to(yellow) | yellow.to(red) | red.to(green)
    stop = green.to(red) | yellow.to(red)
    blink = yellow.to.itself() | red.to.itself(internal=True)


class Order(StateMachine):
    cart, paying, sent, lost = State(initial=True), State(), State(final=True), State(final=True)
    add = cart.to.itself(on="note_add")
    pay = cart.to(paying, cond="has_items") | paying.to(paying, unless="has_items")
    ship = paying.to(sent, validators="check_address", before="note_before", on="note_on", after="note_after")
    lose = cart.to(lost) | paying.to(lost, cond="has_items", unless="is_late")


class Player(StateChart):
    class on(State.Compound):  # noqa: N801
        low, high = State(initial=True), State()
        last = HistoryState()
        last.to(low)
        louder, quieter = low.to(high), high.to(low)

    off = State(initial=True)
    power = on.to(off) | off.to(on)
    resume = off.to(on.last)
    again = on.to.itself()


class Shop(StateChart):
    class hours(State.Compound):  # noqa: N801
        quiet, busy = State(initial=True, exit="note_out"), State(enter="note_in", exit="note_out")
        come, leave = quiet.to(busy), busy.to(quiet)

    closed = State()
    rush = hours.to(hours.busy, internal=True, on="note_on")
    close, reopen = hours.to(closed), closed.to(hours)


class Wild(StateChart):
    """Transitions in an order in which a broader one comes first."""

    a, b, c = State(initial=True), State(), State()
    broad = a.to(b, event="*") | b.to(c, event="go")
    narrow = a.to(c, event="go") | b.to(a, event="go.on")
    back = c.to(a, event="go")


class Crew(StateChart):
    class work(State.Parallel):  # noqa: N801
        class left(State.Compound):  # noqa: N801
            l1, l2 = State(initial=True), State(final=True)
            go_left = l1.to(l2)

        class right(State.Compound):  # noqa: N801
            r1, r2 = State(initial=True), State(final=True)
            go_right, stay = r1.to(r2), r1.to.itself()

    rest = State()
    done_state_work = work.to(rest)
    restart = rest.to(work)


class Deep(StateChart):
    class outer(State.Compound):  # noqa: N801
        class inner(State.Compound):  # noqa: N801
            x, y = State(initial=True), State()
            go = x.to(y)

        z = State()
        memory = HistoryState(type="deep")
        memory.to(inner)
        leave = inner.to(z) | z.to(inner)

    away = State()
    out = outer.to(away)
    back, fresh = away.to(outer.memory), away.to(outer)


class Notes(AgentContext):
    trail: list[str] = Field(default_factory=list)
    has_items: bool = False
    is_late: bool = False

    def note_add(self):
        self.trail.append("add")
        self.has_items = len(self.trail) % 3 != 0

    def note_before(self, event):
        self.trail.append(f"before {event}")

    def note_on(self, model):
        self.trail.append(f"on {model is self}")

    def note_in(self):
        self.trail.append("in")

    def note_out(self):
        self.trail.append("out")

    async def note_after(self, **brought):
        self.trail.append("after")

    def check_address(self, address="there"):
        if not address:
            raise ValueError("no address")

    def on_enter_paying(self):
        self.trail.append("+paying")

    def on_exit_cart(self):
        self.trail.append("-cart")


class Model:
    """What stands in for the context where the library runs."""

    state = None
    has_items = is_late = False

    def __init__(self):
        self.trail = []

    note_add = Notes.note_add
    check_address = Notes.check_address
    on_enter_paying = Notes.on_enter_paying
    on_exit_cart = Notes.on_exit_cart
    note_in, note_out = Notes.note_in, Notes.note_out

    def note_before(self, event):
        self.trail.append(f"before {event}")

    def note_on(self, model):
        self.trail.append(f"on {model is self}")

    def note_after(self):
        self.trail.append("after")


def leaves_of(machine):
    return {each.id for each in machine.configuration if not each.states}


@pytest.mark.parametrize("kind", [Light, Order, Player, Shop, Crew, Deep])
async def test_random_walks_end_as_in_the_library(kind):
    graph = graph_from(kind, context=Notes)
    random = Random(kind.__name__)
    events = sorted({str(event.id) for event in kind.events if "." not in event.id and not event.id.startswith("done")})
    for _ in range(40):
        machine = kind(Model())
        async with rehearse(graph) as agent:
            for event in random.choices(events, k=10):
                with suppress(Exception):  # not allowed there, denied by a validator, or at the end
                    machine.send(event)
                await agent.send(event)
                assert (event, set(agent.leaves), agent.context.trail) == (
                    event,
                    leaves_of(machine),
                    machine.model.trail,
                )


async def test_transitions_are_asked_in_the_order_of_the_class():
    random = Random("wild")
    graph = graph_from(Wild, context=Notes)
    for _ in range(20):
        machine = Wild(Model())
        async with rehearse(graph) as agent:
            for event in random.choices(["go", "go.on", "other"], k=6):
                machine.send(event)
                await agent.send(event)
                assert set(agent.leaves) == leaves_of(machine)


# What differs, as the bridge says; the library shows the other half of each sentence.


class Again(StateChart):
    a = State(initial=True, enter="note_in", exit="note_out")
    loop = a.to.itself(internal=True, on="note_on")


async def test_an_internal_transition_of_a_state_to_itself_leaves_it_too():
    machine = Again(Model())
    machine.send("loop")
    assert machine.model.trail == ["in", "on True", "in"]
    async with rehearse(graph_from(Again, context=Notes)) as agent:
        await agent.send("loop")
        assert agent.context.trail == ["in", "out", "on True", "in"]


class Failing(StateChart):
    a, b = State(initial=True), State()
    go, back = a.to(b, on="boom"), b.to(a)


class Handling(Failing):
    a, b, c = State(initial=True), State(), State()
    go, back = a.to(b, on="boom"), b.to(a) | c.to(a)
    rescue = b.to(c, event="error.execution")


class FailingContext(Notes):
    def boom(self):
        raise ValueError("no")


class FailingModel(Model):
    boom = FailingContext.boom


async def test_an_error_of_an_action_undoes_the_turn():
    machine = Failing(FailingModel())
    machine.send("go")
    assert leaves_of(machine) == {"b"}
    async with rehearse(graph_from(Failing, context=FailingContext)) as agent:
        with pytest.raises(ActionFailedError):
            await agent.send("go")
        assert agent.leaves == ("a",)


async def test_an_error_of_an_action_that_a_transition_takes_does_not():
    machine = Handling(FailingModel())
    machine.send("go")
    async with rehearse(graph_from(Handling, context=FailingContext)) as agent:
        await agent.send("go")
        assert leaves_of(machine) == set(agent.leaves) == {"c"}


async def test_a_validator_refuses_with_its_reason():
    graph = graph_from(Order, context=Notes)
    async with rehearse(graph) as agent:
        await agent.send("add")
        await agent.send("pay")
        outcome = await agent.send("ship", {"address": ""})
        assert not outcome.applied
        assert "no address" in str(outcome)
        assert agent.leaves == ("paying",)


class Odd(StateChart):
    a, b = State(initial=True, invoke="call"), State(final=True)
    go = a.to(b, cond="x and y", before="missing", on="ask_source")
    wait = a.to(b, validators="ask_later")

    def call(self):
        """Called by the library."""

    def on_exit_a(self):
        """Found by its name."""

    def x(self):
        """Asked by the library."""


class Partly(AgentContext):
    def call(self): ...

    def ask_source(self, source): ...

    async def ask_later(self): ...


def test_what_cannot_be_carried_over_is_named_all_at_once():
    with pytest.raises(NotCarriedError) as raised:
        graph_from(Odd, context=Partly)
    told = [str(fault) for fault in raised.value.faults]
    assert told == [
        "state 'a': its invoke is not carried over; write Invoke(...) in the graph's own state",
        "state 'a', exit: Partly has no 'on_exit_a'; give the context a method or field of this name",
        "transition 'go' from 'a', before: Partly has no 'missing'; give the context a method or field of this name",
        "transition 'go' from 'a', on: ask_source needs 'source', which is not available; "
        "use `event`, `model`, or values of the payload",
        "transition 'go' from 'a', cond: the expression 'x and y' is not carried over; write it as a method",
        "transition 'wait' from 'a', validator: ask_later is async; wait in an invoke, and check its result",
    ]
