from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gatechart.context import read_context
from gatechart.errors import MicrostepLimitError
from gatechart.turn.turns import begin, take_turn
from gatechart.values.agents import Event, Outcome
from gatechart.values.commits import TurnRecord

from .appendix_d import Interpreter, TooManyMicrosteps
from .strategies import Trace

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def finish(turn):
    """What a turn without async actions returns."""
    try:
        turn.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("the turn waits for something")


def start(graph, door):
    """The first snapshot; None where the beginning does not come to rest."""
    try:
        return finish(begin(graph, graph.entry_point(door), None, "agent", Event("started", {}, NOW))).snapshot
    except MicrostepLimitError:
        return None


def tell(graph, snapshot, number, event, answers):
    """The snapshot after the event, and whether it took effect. A turn that does not come to rest is undone."""
    happened = Event(event, {"answers": answers}, NOW + timedelta(seconds=number))
    try:
        result = finish(take_turn(graph, snapshot, happened))
    except MicrostepLimitError:
        return snapshot, False
    if isinstance(result, Outcome):
        assert result.refusal is not None
        return snapshot, False
    assert isinstance(result, TurnRecord)
    return result.snapshot, True


def live(graph, snapshot, story):
    """Every snapshot of a story, the first one included."""
    snapshots = [snapshot]
    for number, (event, answers) in enumerate(story):
        snapshots.append(tell(graph, snapshots[-1], number, event, answers)[0])
    return snapshots


def told(graph, snapshot):
    return read_context(graph.context, snapshot.context_text).done


def life_told(graph, snapshot, story):
    """The leaves after each event, and all that was done."""
    return snapshot and [(each.configuration, told(graph, each)) for each in live(graph, snapshot, story)]


def life_by_the_standard(chart, door, story):
    """The same by Appendix D; None where the beginning does not come to rest."""
    machine, context = Interpreter(chart), Trace()
    try:
        machine.interpret(door, context, Event("started", {}, NOW))
    except TooManyMicrosteps:
        return None
    life = [(machine.leaves(), list(context.done))]
    for number, (event, answers) in enumerate(story):
        machine, context = _told_by_the_standard(machine, context, number, event, answers)
        life.append((machine.leaves(), list(context.done)))
    return life


def _told_by_the_standard(machine, context, number, event, answers):
    """The machine and its context after the event; as they were where it was refused or undone."""
    after, changed = machine.copied(), context.model_copy(deep=True)
    happened = Event(event, {"answers": answers}, NOW + timedelta(seconds=number))
    try:
        applied = after.running and after.external_event(changed, happened)
    except TooManyMicrosteps:
        applied = False
    return (after, changed) if applied else (machine, context)
