"""Migration of stored agents to the newest version of their graph, in one atomic turn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from pydantic import ValidationError

from gatechart.context import problems_of, read_context, rewritten
from gatechart.errors.event import ContextInvalidError, PayloadError
from gatechart.errors.failures import contained, failure_in
from gatechart.errors.operation import IncompatibleGraphError
from gatechart.graph.callables import callable_name
from gatechart.graph.graph import AnyGraph
from gatechart.graph.migration import Migration
from gatechart.hosting.registry import Registry
from gatechart.kernel.legal import misfit
from gatechart.ports import Store
from gatechart.turn.arguments import checked_due, plain_payload, raised_name
from gatechart.turn.handoff_state import Standing, still_awaited
from gatechart.turn.handoff_turns import delegated
from gatechart.turn.noticing import with_trail_of
from gatechart.turn.rollback import attended
from gatechart.turn.turn_context import told
from gatechart.turn.turns import beginnings
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import Effect, ReplaceInvocation, ReplaceMail
from gatechart.values.frozen import value
from gatechart.values.handoffs import OpenHandoff
from gatechart.values.mail import ActiveInvocation, Invocation, Mail, MailStatus
from gatechart.values.migrations import Stored
from gatechart.values.names import HIGHEST_NUMBER, AgentId, StateName
from gatechart.values.queries import MailQuery
from gatechart.values.secrets import revealed_text

MIGRATED: Final = "agent.migrated"
PAGE: Final = 1000


@value
class PendingWork:
    """An agent's waiting mail and active invocations in the store."""

    mail: tuple[Mail, ...]
    running: tuple[ActiveInvocation, ...]


async def read_pending(store: Store, agent_id: AgentId) -> PendingWork:
    """Read the agent's waiting mail and active invocations from the store."""
    mail = await waiting_mail(store, agent_id)
    running = await store.running(agent_id=agent_id, after=0, limit=HIGHEST_NUMBER)
    return PendingWork(tuple(mail), tuple(invocation for _, invocation in running))


async def waiting_mail(store: Store, agent_id: AgentId) -> Sequence[Mail]:
    """Read the agent's waiting mail from the store, in the order of acceptance."""
    mail: list[Mail] = []
    while page := await store.mail(MailQuery(agent_id, MailStatus.WAITING, mail[-1].number if mail else 0, PAGE)):
        mail += page
        if len(page) < PAGE:
            break
    return mail


async def is_known(store: Store, mail: Mail) -> bool:
    """Return whether the recipient has mail with this id, or has applied an event with it."""
    if mail.id is None:
        return False
    if await store.applied(mail.recipient, mail.id) is not None:
        return True
    return any(waiting.id == mail.id for waiting in (await read_pending(store, mail.recipient)).mail)


def as_of_today(registry: Registry, snapshot: Snapshot, now: datetime) -> tuple[AnyGraph, Snapshot]:
    """Return the graph version that would run the agent next, and the snapshot migrated to it.

    Nothing is stored, and mail and invokes are ignored. Raises as `Registry.graph_for` does.
    """
    graph = registry.graph_for(snapshot)
    if graph.version == snapshot.graph_version:
        return graph, snapshot
    return graph, migrated(graph, registry.way_for(snapshot), snapshot, PendingWork((), ()), now).snapshot


def migrated(
    graph: AnyGraph, steps: Sequence[Migration], before: Snapshot, pending: PendingWork, now: datetime
) -> TurnRecord:
    """Return the turn that migrates the agent to the graph's version. Raises IncompatibleGraphError."""
    context = json.loads(revealed_text(before.context_text))
    stored = Stored(
        before.configuration,
        context,
        before.memory,
        before.entered,
        pending.mail,
        pending.running,
        before.handoffs,
        before.transfers,
    )
    for step in steps:
        stored = _stepped(step, graph, before, stored)
    try:
        return _record(graph, before, pending, stored, now)
    except (
        TypeError,
        ValueError,
        AttributeError,
        PayloadError,
    ) as error:  # the fields of a Stored are unchecked
        raise _unfit(graph, before, f"its migrations returned an invalid agent: {told(error)}") from error


def _record(graph: AnyGraph, before: Snapshot, pending: PendingWork, stored: Stored, now: datetime) -> TurnRecord:
    problem = misfit(graph, stored.configuration, stored.memory)
    if problem:
        raise _unfit(graph, before, problem)
    version = before.version + 1
    epochs = dict(stored.entered)
    states = attended(graph, stored.configuration) if before.status is Status.ACTIVE else ()
    event = Event(MIGRATED, {"before": before.graph_version, "after": graph.version}, now)
    moved = replace(
        before,
        graph_version=graph.version,
        fingerprint=graph.fingerprint,
        configuration=tuple(name for name in graph.nodes if name in stored.configuration),
        context_text=_context_text(graph, before, stored),
        version=version,
        memory=stored.memory,
        entered=tuple((state, epochs.get(state, version)) for state in states),
        changed=now,
        transfers=tuple(count for count in stored.transfers if count.state in graph.choosing),
    )
    entered = [state for state in states if state not in epochs]
    kept = still_awaited(before.handoffs, lambda handoff: _waits(graph, stored, handoff))
    standing = _delegated(graph, replace(moved, handoffs=kept.handoffs), entered, event)
    after, timer = with_trail_of(graph, replace(moved, handoffs=standing.handoffs), now)
    effects = (
        *_mail_effects(pending.mail, stored, after),
        *_call_effects(pending.running, stored, after, graph),
        *(effect for state in entered for effect in beginnings(graph, state, now)),
        *timer,
        *kept.effects,
        *standing.effects,
    )
    return TurnRecord(before, after, event, (), 0, effects=effects)


def _waits(graph: AnyGraph, stored: Stored, handoff: OpenHandoff) -> tuple[StateName, ...]:
    """Return the active states where the agent still waits for a handoff.

    For the handoff of an invoke, only states that still declare the invoke count.
    """
    active = {state for leaf in stored.configuration for state in (leaf, *graph.nodes[leaf].ancestors)}
    waiting = next((kept.states for kept in stored.handoffs if kept.id == handoff.id), ())
    return tuple(
        state
        for state in waiting
        if state in active
        and (not handoff.invoke or handoff.invoke in [invoke.id for invoke in graph.nodes[state].invokes])
    )


def _delegated(graph: AnyGraph, after: Snapshot, states: Sequence[StateName], event: Event) -> Standing:
    try:
        with contained():
            return delegated(graph, after, states, event)
    except Exception as error:
        problem = f"the new state cannot request the agent that it invokes: {told(failure_in(error))}"
        raise _unfit(graph, after, problem) from error


def _stepped(step: Migration, graph: AnyGraph, before: Snapshot, stored: Stored) -> Stored:
    """Return the agent after one migration. Raises IncompatibleGraphError."""
    name = callable_name(step.function)
    try:
        with contained():
            result = step.function(stored)
    except Exception as error:
        problem = f"migration {name} from {step.before!r} to {step.after!r} raised {told(failure_in(error))}"
        raise _unfit(graph, before, problem) from error
    if not isinstance(result, Stored):
        raise _unfit(graph, before, f"migration {name} returned a {type(result).__name__}, not a Stored")
    return result


def _context_text(graph: AnyGraph, before: Snapshot, stored: Stored) -> str:
    cause: Exception
    try:
        with contained():
            context = read_context(graph.context, json.dumps(stored.context))
            return rewritten(context, None, before.agent_id, MIGRATED)[0]
    except ContextInvalidError as error:
        problems, cause = "; ".join(error.problems), error
    except ValidationError as error:
        problems, cause = "; ".join(problems_of(error)), error
    except Exception as error:
        problems, cause = told(error), error
    raise _unfit(graph, before, f"its context would not be a valid {graph.context.__name__}: {problems}") from cause


def _mail_effects(before: Sequence[Mail], stored: Stored, after: Snapshot) -> Iterator[Effect]:
    """Yield the changes to the agent's mail. Mail for a state that has been left is deleted."""
    kept = {
        mail.number: mail for mail in stored.mail if mail.state is None or (mail.state, mail.epoch) in after.entered
    }
    for mail in before:
        if kept.get(mail.number) != mail:
            amended = kept.get(mail.number)
            yield ReplaceMail(mail.number, None if amended is None else _sound(amended))


def _sound(mail: Mail) -> Mail:
    """Return the mail in a form that every store accepts. Raises PayloadError."""
    return replace(mail, payload=plain_payload(mail.payload, raised_name(mail.event)), due=checked_due(mail.due))


def _call_effects(
    before: Sequence[ActiveInvocation], stored: Stored, after: Snapshot, graph: AnyGraph
) -> Iterator[Effect]:
    """Yield the changes to the invocations. Declared ones restart and keep their steps; the others end."""
    kept = {(running.invocation.epoch, running.invocation.invoke): running for running in stored.running}
    for running in before:
        call = running.invocation
        moved = kept.get((call.epoch, call.invoke))
        if moved is not None and _is_declared(graph, moved.invocation, after):
            yield ReplaceInvocation(call, replace(moved, graph_version=graph.version, context=after.context_text))
        else:
            yield ReplaceInvocation(call, None)


def _is_declared(graph: AnyGraph, call: Invocation, after: Snapshot) -> bool:
    is_entered = (call.state, call.epoch) in after.entered
    return is_entered and call.invoke in [invoke.id for invoke in graph.nodes[call.state].invokes]


def _unfit(graph: AnyGraph, before: Snapshot, problem: str) -> IncompatibleGraphError:
    return IncompatibleGraphError(before.agent_id, graph.name, problem)
