"""Replay one recorded turn in another version of its graph, and compare the result with the record."""

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
from gatechart.hosting.migration import PendingWork, migrated
from gatechart.hosting.turn_guard import in_turn
from gatechart.kernel.legal import misfit
from gatechart.turn.handoff_acceptance import RejectedOffer, Void
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
_NUMBER: Final = 1  # number of the mail that carries an event through migrations


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A recorded turn. before: None for a turn that started its agent."""

    before: Snapshot | None
    event: Event
    after: Snapshot


@dataclass(frozen=True, slots=True)
class Stage:
    """The environment of replayed turns. services: stand-ins for actions. limit_s: for turns with async actions."""

    services: Any
    packet_migrations: Sequence[PacketMigration]
    limit_s: float


async def played(stage: Stage, graph: AnyGraph, turn: RecordedTurn) -> TurnRecord | str:
    """Replay the turn in the graph, migrated if necessary. Return its record, or the reason why it has none."""
    try:
        before, event = moved(graph, turn)
        agent_id = turn.after.agent_id
        turn_again = replay_turn(graph, before, event, agent_id, stage.services, stage.packet_migrations)
        result = await in_turn(graph, agent_id, event.name, turn_again, stage.limit_s)
    except GatechartError as error:
        return f"{type(error).__name__}: {error}"
    match result:
        case TurnRecord():
            return result
        case Outcome():
            return "the event is deferred" if result.deferred else f"the event is refused: {result.refusal}"
        case RejectedOffer():
            return f"the offer is rejected: {result.settle.details}"
        case Void():
            return "nothing happens"


def moved(graph: AnyGraph, turn: RecordedTurn) -> tuple[Snapshot | None, Event]:
    """Return the snapshot and event of a turn, migrated to the graph if it has migrations from their version.

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
    record = migrated(graph, steps, before, PendingWork((mail,), ()), event.time)
    amended = next((effect.mail for effect in record.effects if isinstance(effect, ReplaceMail)), mail)
    if amended is None:
        problem = f"its migrations drop the event {event.name}"
        raise IncompatibleGraphError(before.agent_id, graph.name, problem)
    migrated_event = replaced(event, name=amended.event, payload=amended.payload)
    return replaced(record.snapshot, version=before.version), migrated_event


def expected(graph: AnyGraph, after: Snapshot, time: datetime) -> Snapshot:
    """Return the recorded snapshot after a turn, migrated to the graph if it has migrations from that version.

    Raises IncompatibleGraphError if they fail.
    """
    steps = way(graph.migrations, after.graph_version, graph.version)
    if after.graph_version == graph.version or steps is None:
        return _as_of(graph, after)
    moved_on = migrated(graph, steps, after, PendingWork((), ()), time).snapshot
    return replaced(moved_on, version=after.version)


def differences(recorded: Snapshot, got: TurnRecord) -> tuple[Difference, ...]:
    """Compare the result of a turn with the record: states, status, history memory, transfers, context."""
    after = got.snapshot
    aspects: list[tuple[str, Any, Any]] = [
        ("configuration", list(recorded.configuration), list(after.configuration)),
        ("status", recorded.status.value, after.status.value),
        ("history memory", _plain_memory(recorded), _plain_memory(after)),
        ("transfers taken", _transfers_taken(recorded), _transfers_taken(after)),
    ]
    old_context, new_context = json.loads(recorded.context_text), json.loads(after.context_text)
    if "messages" in old_context and "messages" in new_context:
        new_context["messages"] = _with_ids_of(old_context["messages"], new_context["messages"])
    fields = dict.fromkeys((*old_context, *new_context))
    aspects += [(f"context.{name}", old_context.get(name), new_context.get(name)) for name in fields]
    return tuple(shown(Difference(name, old, new)) for name, old, new in aspects if old != new)


def effect_differences(before: TurnRecord, after: TurnRecord) -> tuple[Difference, ...]:
    """Compare the effects that two versions of a graph request in the same turn."""
    old, new = list(_requests(before)), list(_requests(after))
    return () if old == new else (shown(Difference("effects", old, new)),)


def _with_ids_of(recorded: Any, messages: Any) -> Any:
    """Return messages without the ids that the recorded ones lack. Their version did not assign ids."""
    if not isinstance(recorded, list) or not isinstance(messages, list):
        return messages
    pairs = zip_longest(recorded[: len(messages)], messages)
    return [_without_id(new) if isinstance(old, dict) and not old.get("id") else new for old, new in pairs]


def _without_id(message: Any) -> Any:
    return {key: value for key, value in message.items() if key != "id"} if isinstance(message, dict) else message


def _as_of(graph: AnyGraph, snapshot: Snapshot) -> Snapshot:
    """Return the snapshot as this version of the graph would have written it. It keeps states that the graph lacks."""
    positions = {name: number for number, name in enumerate(graph.nodes)}
    ordered = sorted(snapshot.configuration, key=lambda leaf: positions.get(leaf, len(positions)))
    return replaced(snapshot, graph_version=graph.version, fingerprint=graph.fingerprint, configuration=tuple(ordered))


def _as_mail(before: Snapshot, event: Event) -> Mail:
    """Return the event as pending mail of the agent. A timer belongs to the state that its name ends with."""
    epochs = dict(before.entered)
    timed = epochs if event.name.startswith(_TIMERS) else {}
    state = next((state for state in timed if event.name.endswith(f".{state}")), None)
    epoch = 0 if state is None else epochs[state]
    name, content = event.name, event.payload
    return Mail(_NUMBER, before.agent_id, name, content, event.time, event.id, event.sender, state=state, epoch=epoch)


def _plain_memory(snapshot: Snapshot) -> dict[str, list[str]]:
    return {state: list(leaves) for state, leaves in snapshot.memory}


def _transfers_taken(snapshot: Snapshot) -> dict[str, int]:
    return {count.state: count.taken for count in snapshot.transfers}


def _requests(turn: TurnRecord) -> Iterator[dict[str, Any]]:
    return filter(None, map(compared, turn.effects))
