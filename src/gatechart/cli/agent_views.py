"""Agents, turns and mail as tables and as JSON with stable keys."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from rich.text import Text

from gatechart.api.codec import COUNTS, MAIL, OUTCOME, SNAPSHOT, TURN
from gatechart.cli.output import (
    Cell,
    Document,
    age_text,
    in_zone,
    moment_text,
    print_error,
    print_facts,
    print_hint,
    print_line,
    print_table,
    print_warning,
    status_text,
    zoned_text,
)
from gatechart.cli.signal_views import attempt_lines, fired_lines
from gatechart.drawing.text import function_text, visible
from gatechart.errors.root import nearest
from gatechart.graph.compile import Edge
from gatechart.graph.graph import AnyGraph
from gatechart.kernel.select import Configuration, awaited_events, candidates, deferred_events, sendable, without_hidden
from gatechart.turn.rollback import FORKED
from gatechart.values.agents import Event, Origin, Outcome, Refusal, RefusalReason, Snapshot, Status
from gatechart.values.failure_reports import FailureReport
from gatechart.values.frozen import value
from gatechart.values.mail import ActiveInvocation, Mail, MailStatus
from gatechart.values.names import EventName
from gatechart.values.possibilities import AcceptedEvent, Agrees
from gatechart.values.queries import GraphCount, HistoryEntry
from gatechart.values.secrets import hidden, shown
from gatechart.values.transfers import TRANSFER


@value
class Accepted:
    """The events that an agent accepts or defers, without regard to guards."""

    edges: Mapping[EventName, Sequence[Edge]]  # transitions of each accepted event, in the order of evaluation
    deferred: tuple[EventName, ...] = ()  # deferred unless a guard accepts them

    @property
    def events(self) -> tuple[EventName, ...]:
        """All events, accepted ones first."""
        return tuple(dict.fromkeys((*self.edges, *self.deferred)))


NOTHING: Final = Accepted({})


def snapshot_document(snapshot: Snapshot) -> Document:
    """Describe an agent as last committed."""
    return _without(SNAPSHOT.plain(snapshot), "memory", "entered", "handoffs", "transfers", "trail")


def outcome_document(agent_id: str, outcome: Outcome) -> Document:
    """Describe the outcome of an event; `refusal` is null if it was applied."""
    return {"agent_id": agent_id, **OUTCOME.plain(outcome)}


def counts_document(counts: Sequence[GraphCount]) -> Document:
    """Describe the numbers of agents."""
    document: Document = COUNTS.plain(counts)
    return document


def entry_document(entry: HistoryEntry) -> Document:
    """Describe a turn."""
    return _without(TURN.plain(entry), "agent_id")


def mail_document(mail: Mail) -> Document:
    """Describe mail; a timer has a `state` or a `key`."""
    return _without(MAIL.plain(mail), "epoch")


def _without(document: Document, *names: str) -> Document:
    return {name: value for name, value in document.items() if name not in names}


def running_document(running: ActiveInvocation) -> Document:
    """Describe a running invoke."""
    call = running.invocation
    return {"invoke": call.invoke, "state": call.state, "since_version": call.epoch}


def accepted_document(accepted: Accepted) -> list[Document]:
    """Describe the events that an agent accepts or defers, with their transitions in the order of evaluation."""
    return [
        {
            "event": event,
            "transitions": [_edge_document(edge) for edge in accepted.edges.get(event, ())],
            "deferred": event in accepted.deferred,
        }
        for event in accepted.events
    ]


def _edge_document(edge: Edge) -> Document:
    return {
        "source": edge.source,
        "targets": edge.targets,
        "guard": edge.ask.name if edge.ask else None,
        "actions": [step.name for step in edge.steps],
    }


_LONGEST: Final = 200  # characters of a value in a history; --json has all of it


def accepted_by(graph: AnyGraph, snapshot: Snapshot) -> Accepted:
    """Find the events that an agent accepts or defers now, without regard to guards."""
    if snapshot.status is not Status.ACTIVE:
        return NOTHING
    here = snapshot.configuration
    edges = {
        name: edges_of_event
        for event in awaited_events(graph, here)
        for name, edges_of_event in _taken(graph, here, event)
    }
    return Accepted(edges, deferred_events(graph, here))


def _taken(graph: AnyGraph, here: Configuration, event: EventName) -> Iterator[tuple[EventName, Sequence[Edge]]]:
    """Yield the part of an awaited descriptor that callers may send and no state defers, with its transitions."""
    whole = sendable(event)
    name = without_hidden(graph, here, whole)
    if name:
        names = [event] if name == whole else name.split()
        groups = [edges for each in names for edges in candidates(graph, here, each)]
        yield name, tuple(dict.fromkeys(edge for edges in groups for edge in edges))


def print_agent(graph: AnyGraph, snapshot: Snapshot) -> None:
    """Print an agent briefly: its state, and the events that it accepts or defers."""
    print_facts([*_agent_facts(snapshot), *_accepts_facts(graph, snapshot)])


def print_whole_agent(snapshot: Snapshot, accepted: Accepted) -> None:
    """Print an agent with its times, its context and its possible transitions."""
    print_facts([*_agent_facts(snapshot), *_times_facts(snapshot)])
    context = snapshot.context
    if context:
        print_line()
        print_table(("CONTEXT", ""), ((name, _plain(value)) for name, value in context.items()))
    if accepted.events:
        print_line()
        print_table(("ACCEPTS", "LEADS TO", "IF", "DOING"), _accepted_rows(accepted))


def print_outcome(graph: AnyGraph, snapshot: Snapshot, outcome: Outcome) -> None:
    """Print the outcome of an event, and the agent after it."""
    for guard in outcome.guard_errors:
        print_warning(f"guard {guard.guard} of {guard.transition} raised {guard.raised}; this counts as false")
    if outcome.refusal is not None:
        print_error(f"agent {snapshot.agent_id!r} {refusal_text(outcome.event, outcome.refusal)}")
        return
    if outcome.deferred:
        where = ", ".join(outcome.configuration)
        print_hint(f"{outcome.event} is deferred in {where}: it is now mail for a later state")
    elif outcome.repeat:
        print_hint(f"an event with this id was already applied, as version {outcome.version}; nothing was done again")
    took = [] if outcome.deferred else [("took", Text("\n".join(outcome.taken)))]
    print_facts([*took, *_agent_facts(snapshot), *_accepts_facts(graph, snapshot)])


def print_agents(agents: Sequence[Snapshot], now: datetime) -> None:
    """Print agents, one per row, and the number with each status."""
    columns = ("AGENT", "STATUS", "IDLE", "STATE", "GRAPH")
    print_table(columns, (_agent_row(agent, now) for agent in agents), whole=columns[:3])
    statuses = Counter(each.status for each in agents)
    counts = ", ".join(f"{statuses[status]:,} {status.value}" for status in Status if statuses[status])
    print_hint(f"{len(agents):,} agent{'s' * (len(agents) != 1)}: {counts}")


def print_counts(counts: Sequence[GraphCount]) -> None:
    """Print the numbers of agents: a row for each graph, followed by a row for each of its states."""
    print_table(("GRAPH", "STATE", "AGENTS"), (row for count in counts for row in _count_rows(count)))
    agents = sum(each.agents for each in counts)
    print_hint(f"{agents:,} agent{'s' * (agents != 1)} in {len(counts):,} graph{'s' * (len(counts) != 1)}")


def _count_rows(counted: GraphCount) -> Iterator[Sequence[Cell]]:
    statuses = ", ".join(f"{number:,} {status.value}" for status, number in counted.statuses.items())
    yield counted.graph, "", statuses
    for state, number in counted.states.items():
        yield "", state, f"{number:,}"


def print_history(entries: Sequence[HistoryEntry]) -> None:
    """Print turns, one per row."""
    columns = ("VERSION", in_zone("TIME"), "BY", "EVENT → STATE, TRANSITION, CHANGES")
    print_table(columns, map(_entry_row, entries), whole=columns[:2])


def _agent_facts(snapshot: Snapshot) -> Iterator[tuple[str, Cell]]:
    yield "agent", snapshot.agent_id
    yield "graph", f"{snapshot.graph}, version {snapshot.graph_version}"
    yield "state", ", ".join(snapshot.configuration)
    yield "status", status_text(snapshot.status)
    yield "version", str(snapshot.version)
    chosen = [f"{each.state}: {each.taken}" for each in snapshot.transfers if each.taken]
    if chosen:
        yield "transfers", ", ".join(chosen)


def _times_facts(snapshot: Snapshot) -> Iterator[tuple[str, Cell]]:
    for name, moment in (("started", snapshot.started), ("changed", snapshot.changed)):
        if moment is not None:
            yield name, zoned_text(moment)


def _accepts_facts(graph: AnyGraph, snapshot: Snapshot) -> Iterator[tuple[str, Cell]]:
    accepted = accepted_by(graph, snapshot)
    yield "accepts", ", ".join(accepted.edges) or "nothing"
    if accepted.deferred:
        yield "defers", ", ".join(accepted.deferred)


def _accepted_rows(accepted: Accepted) -> Iterator[Sequence[Cell]]:
    for event in accepted.events:
        edges = accepted.edges.get(event, ())
        for place, edge in enumerate(edges):
            implied = "else" if place else ""
            guard = function_text(edge.ask.name) if edge.ask else implied
            doing = ", ".join(function_text(step.name) for step in edge.steps)
            yield "" if place else event, ", ".join(edge.targets) or "(stays)", guard, doing
        if event in accepted.deferred:
            yield ("", "(deferred)", "else", "") if edges else (event, "(deferred)", "", "")


def refusal_text(event: EventName, refusal: Refusal) -> str:
    """Return why an event was refused, and suggest a similar one."""
    is_unknown = refusal.reason is RefusalReason.NO_TRANSITION
    near = nearest(event, (*refusal.accepts, *refusal.defers)) if is_unknown else ()
    meant = f". Did you mean {near[0]!r}?" if near else ""
    return f"refused {event!r}: {refusal}{meant}"


def _agent_row(snapshot: Snapshot, now: datetime) -> Sequence[Cell]:
    idle = "" if snapshot.changed is None else age_text(now - snapshot.changed)
    return snapshot.agent_id, status_text(snapshot.status), idle, ", ".join(snapshot.configuration), snapshot.graph


def _entry_row(entry: HistoryEntry) -> Sequence[Cell]:
    return str(entry.version), moment_text(entry.event.time), origin_text(entry.event), turn_text(entry)


def turn_text(entry: HistoryEntry) -> Text:
    """Write a turn: its event, target, transitions and changes."""
    entry = shown(entry)
    moved = "" if entry.source == entry.target else f" → {', '.join(entry.target)}"
    begins = not entry.source  # then every field has changed; show only fields with a value
    cell = Text(f"{entry.event.name}{moved}{_origin(entry.event)}")
    cell.append("".join(f"\n  {label}" for label in entry.taken), "dim cyan")
    cell.append("".join(f"\n  {line}" for line in (*_choice(entry.event), *attempt_lines(entry.event))), "dim")
    if entry.fired is not None:
        cell.append("".join(f"\n  {line}" for line in fired_lines(entry.fired)), "yellow")
    changes = [f"{name}={_short(value)}" for name, value in entry.changed.items() if value or not begins]
    changes += [f"{name}+={_short(list(items))}" for name, items in entry.appended.items()]
    return cell.append("".join(f"\n  {change}" for change in changes), "dim")


def _choice(event: Event) -> Iterator[str]:
    """Yield the transfer that a model chose, its arguments, and the number of choices left."""
    if event.name.startswith(TRANSFER) and "tool" in event.payload:
        chosen = event.payload
        given = ", ".join(f"{name}={_short(value)}" for name, value in chosen.get("arguments", {}).items())
        offered = ", ".join(chosen.get("offered", ()))
        yield f"chose {chosen['tool']}({given}) of {offered}; left: {chosen.get('left', 0)}"


def _origin(event: Event) -> str:
    """Return the agent and version that a new agent was copied from."""
    return ", as {agent} was at version {version}".format_map(event.payload) if event.name == FORKED else ""


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    text = visible(_plain(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_STYLES: Final = {
    MailStatus.WAITING: "green",
    MailStatus.REFUSED: "yellow",
    MailStatus.DEAD: "bold red",
    MailStatus.UNREADABLE: "bold red",
}


def print_mail(mail: Sequence[Mail]) -> None:
    """Print mail, one per row."""
    columns = ("MAIL", "STATUS", "AGENT", in_zone("WHEN"), "EVENT, REASON")
    print_table(columns, map(_mail_row, mail), whole=columns[:4])


def print_whole_mail(mail: Mail) -> None:
    """Print all details of mail."""
    facts: list[tuple[str, Cell]] = [
        ("mail", str(mail.number)),
        ("agent", mail.recipient),
        ("event", mail.event),
        ("payload", json.dumps(hidden(mail.payload), ensure_ascii=False)),
        ("status", _status_text(mail)),
    ]
    known: list[tuple[str, Cell | None]] = [
        ("id", mail.id),
        ("sender", mail.sender),
        ("origin", origin_text(mail.happens(mail.accepted))),
        ("accepted", _time(mail.accepted)),
        ("due", _time(mail.due)),
        ("of state", mail.state),
        ("key", mail.key),
        ("attempts", str(mail.attempts) if mail.attempts else None),
        ("next attempt", _time(mail.retry_at)),
        ("reason", mail.reason or None),
    ]
    print_facts([*facts, *((name, value) for name, value in known if value is not None)])


def origin_text(event: Event) -> str:
    """Return the origin of an event; for an operator, with the reason given."""
    if event.origin is Origin.OPERATOR:
        return f"operator: {event.operator_reason}"
    return f"agent {event.sender}" if event.origin is Origin.AGENT else event.origin.value


def print_waiting(mail: Sequence[Mail], running: Sequence[ActiveInvocation]) -> None:
    """Print the mail and the running invokes of an agent, if any."""
    if mail:
        print_line()
        print_table(("WAITS", in_zone("WHEN"), ""), [(each.event, _when(each), f"mail {each.number}") for each in mail])
    if running:
        print_line()
        rows = [(invocation.invocation.invoke, invocation.invocation.state) for invocation in running]
        print_table(("INVOKES", "IN"), rows)


def print_dead(mail: Sequence[Mail]) -> None:
    """Print the dead mail of an agent, if any."""
    if mail:
        print_line()
        rows = [(Text(each.event, _STYLES[MailStatus.DEAD]), f"mail {each.number}", each.reason) for each in mail]
        print_table(("DEAD", "", "REASON"), rows)


def _mail_row(mail: Mail) -> Sequence[Cell]:
    cell = Text(mail.event)
    if mail.reason:
        cell.append(f"\n{mail.reason}", "dim")
    return str(mail.number), _status_text(mail), mail.recipient, _when(mail), cell


def _status_text(mail: Mail) -> Text:
    tried = f", {mail.attempts} attempt{'s' * (mail.attempts != 1)}" if mail.attempts else ""
    return Text(f"{mail.status.value}{tried}", _STYLES[mail.status])


def _when(mail: Mail) -> str:
    """Return when waiting mail is due, or when other mail was accepted."""
    moment = (mail.retry_at or mail.due) if mail.status is MailStatus.WAITING else mail.accepted
    return _time(moment) or "at once"


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment_text(moment)


def print_accepted(events: Sequence[AcceptedEvent]) -> None:
    """Print the events that an agent could take or defer now, one row per transition."""
    if events:
        print_table(
            ("EVENT", "AGREES", "LEADS TO", "IF", "WHY NOT"), (row for each in events for row in accepted_rows(each))
        )
    else:
        print_hint("nothing is accepted")


def accepted_rows(event: AcceptedEvent) -> Iterator[Sequence[Cell]]:
    """Yield one row per transition, the first with the event: event, verdict, targets, guard, and why not."""
    if not event.transitions:
        yield event.event, _verdict(event), "", "", event.why_not
    for place, each in enumerate(event.transitions):
        guard = function_text(each.guard) if each.guard else "else" if place else ""
        first = ("", "") if place else (event.event, _verdict(event))
        yield *first, ", ".join(each.targets) or "(stays)", guard, each.why_not or each.raised


def _verdict(event: AcceptedEvent) -> str:
    """Return whether the event would be taken, by its guards, or deferred."""
    if not event.deferred:
        return event.agrees.value
    return "deferred" if event.agrees is Agrees.NO else f"{event.agrees.value}, else deferred"


def failure_document(failure: FailureReport) -> Document:
    """Describe the cause of an agent's failure as JSON values."""
    return {
        "version": failure.version,
        "at": failure.at.isoformat(),
        "event": failure.event,
        "source": failure.source,
        "state": failure.state,
        "type": failure.type,
        "message": failure.message,
        "traceback": failure.traceback,
        "code": failure.code,
        "attempts": failure.attempts,
        "tool": failure.tool,
        "arguments": failure.arguments,
        "reason": failure.reason,
    }


def print_failure(failure: FailureReport | None) -> None:
    """Print the cause of an agent's failure, if it failed, and how to continue."""
    if failure is None:
        return
    what = ": ".join(filter(None, (failure.type, failure.message)))
    facts = [("failed on", f"{failure.event} in {', '.join(failure.source)}"), ("because", what)]
    if failure.reason not in what:
        facts.append(("no escape from", failure.reason))
    facts += [("tool", f"{failure.tool} {failure.code}".strip()), ("attempts", str(failure.attempts or ""))]
    print_facts([(name, visible(text)) for name, text in facts if text])
    print_hint(
        f"`gatechart retry {failure.agent_id} --reason WHY` continues the agent from its version before the failure"
    )
