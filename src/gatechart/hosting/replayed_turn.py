"""One recorded turn, taken again by another version of its graph, and compared with the record."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any, Final

from gatechart.errors.operation import IncompatibleGraphError
from gatechart.errors.root import GatechartError
from gatechart.graph.graph import AnyGraph
from gatechart.graph.migration import way
from gatechart.handoff.reading import PacketMigration
from gatechart.hosting.migration import Pending, migrated
from gatechart.hosting.turn_guard import in_turn
from gatechart.kernel.legal import misfit
from gatechart.turn.handoff_acceptance import Rejection, Void
from gatechart.turn.replaying import replay_turn
from gatechart.values.agents import Event, Outcome, Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import ReplaceMail, compared
from gatechart.values.frozen import replaced
from gatechart.values.mail import Mail
from gatechart.values.names import RECURRING
from gatechart.values.replays import Difference
from gatechart.values.secrets import shown

_TIMERS: Final = ("after.", RECURRING)
_NUMBER: Final = 1  # of the mail as which an event goes through migrations


@dataclass(frozen=True, slots=True)
class Recorded:
    """One turn as it was recorded. before: None for a turn that started its agent."""

    before: Snapshot | None
    event: Event
    after: Snapshot


@dataclass(frozen=True, slots=True)
class Stage:
    """What turns are played with. services: stand-ins for those of actions. limit_s: for turns with async actions."""

    services: Any
    packet_migrations: Sequence[PacketMigration]
    limit_s: float


async def played(stage: Stage, graph: AnyGraph, turn: Recorded) -> TurnRecord | str:
    """Take the turn in the graph, migrated to it if need be. Return its record, or why the graph takes no such turn."""
    try:
        before, event = moved(graph, turn)
        agent_id = turn.after.agent_id
        taking = replay_turn(graph, before, event, agent_id, stage.services, stage.packet_migrations)
        result = await in_turn(graph, agent_id, event.name, taking, stage.limit_s)
    except GatechartError as error:
        return f"{type(error).__name__}: {error}"
    match result:
        case TurnRecord():
            return result
        case Outcome():
            return "the event is deferred" if result.deferred else f"the event is refused: {result.refusal}"
        case Rejection():
            return f"the offer is rejected: {result.settle.details}"
        case Void():
            return "nothing happens"


def moved(graph: AnyGraph, turn: Recorded) -> tuple[Snapshot | None, Event]:
    """Return the snapshot and the event of a turn as migrations to the graph would make them, else as they stand.

    Raises IncompatibleGraphError.
    """
    if turn.before is None:
        return None, turn.event
    before, event, mail = turn.before, turn.event, _as_mail(turn.before, turn.event)
    steps = way(graph.migrations, before.graph_version, graph.version)
    if before.graph_version == graph.version or steps is None:
        is_active = before.status is Status.ACTIVE
        problem = misfit(graph, before.configuration, before.memory) if is_active else None
        if problem:
            raise IncompatibleGraphError(before.agent_id, graph.name, problem)
        return _as_of(graph, before), event
    record = migrated(graph, steps, before, Pending((mail,), ()), event.time)
    amended = next((each.mail for each in record.effects if isinstance(each, ReplaceMail)), mail)
    if amended is None:
        problem = f"its migrations drop the event {event.name}"
        raise IncompatibleGraphError(before.agent_id, graph.name, problem)
    told = replaced(event, name=amended.event, payload=amended.payload)
    return replaced(record.snapshot, version=before.version), told


def expected(graph: AnyGraph, after: Snapshot, time: datetime) -> Snapshot:
    """Return what the record says of the agent after a turn, migrated to the graph if migrations lead there.

    Raises IncompatibleGraphError if they fail.
    """
    steps = way(graph.migrations, after.graph_version, graph.version)
    if after.graph_version == graph.version or steps is None:
        return _as_of(graph, after)
    moved_on = migrated(graph, steps, after, Pending((), ()), time).snapshot
    return replaced(moved_on, version=after.version)


def differences(recorded: Snapshot, got: TurnRecord) -> tuple[Difference, ...]:
    """Compare where a turn led with the record: states, status, what history states remember, transfers, context."""
    after = got.snapshot
    aspects: list[tuple[str, Any, Any]] = [
        ("configuration", list(recorded.configuration), list(after.configuration)),
        ("status", recorded.status.value, after.status.value),
        ("history memory", _plain_memory(recorded), _plain_memory(after)),
        ("transfers taken", _transfers_taken(recorded), _transfers_taken(after)),
    ]
    told, got_now = json.loads(recorded.context_text), json.loads(after.context_text)
    if "messages" in told and "messages" in got_now:
        got_now["messages"] = _with_ids_of(told["messages"], got_now["messages"])
    fields = dict.fromkeys((*told, *got_now))
    aspects += [(f"context.{name}", told.get(name), got_now.get(name)) for name in fields]
    return tuple(shown(Difference(*each)) for each in aspects if each[1] != each[2])


def effect_differences(before: TurnRecord, after: TurnRecord) -> tuple[Difference, ...]:
    """Compare what two versions of a graph ask of the outside in the same turn."""
    asked, now = list(_requests(before)), list(_requests(after))
    return () if asked == now else (shown(Difference("effects", asked, now)),)


def _with_ids_of(recorded: Any, messages: Any) -> Any:
    """Return messages without the ids that the recorded ones lack: they are of a version that gave no ids."""
    if not isinstance(recorded, list) or not isinstance(messages, list):
        return messages
    pairs = zip_longest(recorded[: len(messages)], messages)
    return [_without_id(new) if isinstance(old, dict) and not old.get("id") else new for old, new in pairs]


def _without_id(message: Any) -> Any:
    return {key: each for key, each in message.items() if key != "id"} if isinstance(message, dict) else message


def _as_of(graph: AnyGraph, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot as if this version of the graph had made it; states that it lacks stay as they are."""
    places = {name: number for number, name in enumerate(graph.nodes)}
    ordered = sorted(snapshot.configuration, key=lambda leaf: places.get(leaf, len(places)))
    return replaced(snapshot, graph_version=graph.version, fingerprint=graph.fingerprint, configuration=tuple(ordered))


def _as_mail(before: Snapshot, event: Event) -> Mail:
    """Return the event as mail that waited for the agent: a timer as one of the state that its name ends with."""
    epochs = dict(before.entered)
    timed = epochs if event.name.startswith(_TIMERS) else {}
    state = next((state for state in timed if event.name.endswith(f".{state}")), None)
    epoch = 0 if state is None else epochs[state]
    name, content = event.name, event.payload
    return Mail(_NUMBER, before.agent_id, name, content, event.time, event.id, event.sender, state=state, epoch=epoch)


def _plain_memory(snapshot: Snapshot) -> dict[str, list[str]]:
    return {state: list(leaves) for state, leaves in snapshot.memory}


def _transfers_taken(snapshot: Snapshot) -> dict[str, int]:
    return {each.state: each.taken for each in snapshot.transfers}


def _requests(turn: TurnRecord) -> Iterator[dict[str, Any]]:
    return filter(None, map(compared, turn.effects))
