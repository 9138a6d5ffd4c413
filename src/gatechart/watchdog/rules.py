"""The rules of the watchdog and of `gatechart doctor`: problems of agents, mail, breakers, hosts and sinks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from shlex import quote
from types import MappingProxyType
from typing import TypeAlias

from gatechart.values.agents import Origin, Snapshot
from gatechart.values.breakers import BreakerRecord, BreakerState
from gatechart.values.findings import FindingKind, HealthFinding
from gatechart.values.framework import (
    SINK_AGENT,
    is_framework_event,
    is_framework_id,
    loss_from,
)
from gatechart.values.homes import Role
from gatechart.values.hosts import HostRecord
from gatechart.values.mail import Mail
from gatechart.values.names import AgentId, Payload, StateName
from gatechart.values.trail import wait_under_way
from gatechart.watchdog.norms import Norm
from gatechart.watchdog.terms import SENT_WINDOW_S, WatchdogTerms


def found_stuck(
    snapshot: Snapshot, norms: Mapping[StateName, Norm], pending: Sequence[str], now: datetime
) -> Iterator[HealthFinding]:
    """Find an agent without a turn for longer than the norm of one of its states.

    pending: its pending work, in words. With pending work, a declared norm still applies; a learned one does not,
    because the work may take any time. No norm applies while a call of the agent waits for a circuit breaker, which
    has a separate finding.
    """
    known = [(norms[leaf].seconds, leaf) for leaf in snapshot.configuration if leaf in norms]
    since, version = quiet_since(snapshot)
    if not known or since is None:
        return
    _, leaf = min(known)
    norm, silent_s = norms[leaf], (now - since).total_seconds()
    if silent_s <= norm.seconds or (pending and not norm.is_declared) or _waits_for_breaker(snapshot, now):
        return
    earlier = "" if norm.is_declared else f", based on {norm.known} earlier waits"
    normal = f"{_lasting(norm.seconds)} is normal there{earlier}"
    typed = quote(snapshot.agent_id)
    evidence = {
        "states": list(snapshot.configuration),
        "silent_s": round(silent_s, 3),
        "normal_s": round(norm.seconds, 3),
        "learned_from": norm.known,
        "pending": list(pending),
        "version": version,
    }
    yield HealthFinding(
        FindingKind.STUCK,
        snapshot.agent_id,
        since,
        f"no turn for {_lasting(silent_s)} in {leaf}; {normal}",
        f"`gatechart show {typed}` shows what it waits for; `gatechart accepts {typed}` lists the events it accepts",
        snapshot.graph,
        evidence,
    )


def _waits_for_breaker(snapshot: Snapshot, now: datetime) -> bool:
    try:
        wait = wait_under_way(snapshot.trail.text)
    except ValueError:  # damaged, which the signals report
        return False
    return wait is not None and now.timestamp() * 1000 < wait.until_ms


def quiet_since(snapshot: Snapshot) -> tuple[datetime | None, int]:
    """Return the time of an agent's last sign of life, and its version then.

    A turn with a failed restart request from the watchdog does not count, so that the finding persists.
    """
    in_vain = next((finding for finding in snapshot.trail.escapes.open if finding.vain_at == snapshot.version), None)
    return (snapshot.changed, snapshot.version) if in_vain is None else (in_vain.quiet_since, in_vain.vain_at - 1)


def found_mail(
    mail: Iterable[Mail], existing: Collection[AgentId], terms: WatchdogTerms, now: datetime
) -> Iterator[HealthFinding]:
    """Find mail that waits too long, fails, or is dead: one finding for each agent and kind.

    existing: the recipients that exist. mail: without mail that an agent's states defer.
    """
    by_kind: defaultdict[tuple[FindingKind, AgentId], list[Mail]] = defaultdict(list)
    for message in mail:
        kind = _kind_of(message, existing, terms, now)
        if kind is not None:
            by_kind[kind, message.recipient].append(message)
    for (kind, recipient), messages in by_kind.items():
        yield _mail_finding(kind, recipient, messages)


def _kind_of(mail: Mail, existing: Collection[AgentId], terms: WatchdogTerms, now: datetime) -> FindingKind | None:
    if mail.status == "dead":
        return FindingKind.DEAD
    if mail.status != "waiting":
        return None
    if mail.attempts:
        return FindingKind.FAILING if mail.attempts >= terms.failures else None
    waited_s = (now - (mail.due or mail.accepted)).total_seconds()
    if mail.recipient not in existing:
        return FindingKind.UNCLAIMED if waited_s > terms.unclaimed_s else None
    return FindingKind.WAITING if waited_s > terms.mail_s else None


_SAYS = {
    FindingKind.DEAD: "{count} mail failed at every attempt",
    FindingKind.FAILING: "{count} mail fails and is retried, so its turns are rolled back",
    FindingKind.WAITING: "{count} mail could be applied but waits",
    FindingKind.UNCLAIMED: "{count} mail waits for an agent that does not exist",
}
_HELPS = {
    FindingKind.DEAD: "`gatechart mail --agent {agent} --status dead` lists it; `gatechart mail retry NUMBER` retries "
    "it, `gatechart mail discard NUMBER` discards it",
    FindingKind.FAILING: "`gatechart mail --agent {agent}` shows the reason; fix the cause, and the mail is "
    "retried automatically",
    FindingKind.WAITING: "start `gatechart run` if no process hosts the agents; `gatechart show {agent}` "
    "shows what the agent does",
    FindingKind.UNCLAIMED: "`gatechart start GRAPH --at ENTRY_POINT --id {agent}` starts the agent, which accepts or "
    "refuses the mail; to delete the mail, run `gatechart erase {agent}` afterwards",
}
_SINK_HELPS = (
    "the host of the agents has no sink {sink!r}: add a table [sinks.{sink}] to the file of "
    "`gatechart run --alerts-file FILE`, and the alerts are delivered"
)


def _mail_finding(kind: FindingKind, recipient: AgentId, messages: Sequence[Mail]) -> HealthFinding:
    oldest = min(messages, key=lambda message: message.due or message.accepted)
    evidence = {
        "mail": [message.number for message in messages[:20]],
        "count": len(messages),
        "events": sorted({message.event for message in messages})[:20],
        "reason": oldest.reason[:1000],
    }
    is_alert = kind is FindingKind.UNCLAIMED and recipient.startswith(SINK_AGENT)
    helps = _SINK_HELPS.format(sink=recipient.removeprefix(SINK_AGENT)) if is_alert else _HELPS[kind]
    because = f": {oldest.reason[:200]}" if oldest.reason else ""
    return HealthFinding(
        kind,
        recipient,
        oldest.due or oldest.accepted,
        _SAYS[kind].format(count=len(messages)) + because,
        helps.format(agent=quote(recipient)),
        evidence=evidence,
    )


Troubles: TypeAlias = Mapping[str, Mapping[AgentId, Payload]]
"""Reports of hosts on events whose senders waited: count, start and reason, by kind and agent."""


def troubles_of(hosts: Iterable[HostRecord], terms: WatchdogTerms, now: datetime) -> Troubles:
    """Return the reports of all hosts that are alive. Each agent is reported by the host that runs it."""
    troubles: dict[str, dict[AgentId, Payload]] = {"refused": {}, "undone": {}}
    for host in hosts:
        if now - host.seen <= timedelta(seconds=terms.silent_s):
            for kind, by_agent in host.facts.get("troubles", {}).items():
                troubles.setdefault(kind, {}).update(by_agent)
    return troubles


def found_refused(
    mail: Iterable[Mail], terms: WatchdogTerms, sent: Mapping[AgentId, Payload] = MappingProxyType({})
) -> Iterator[HealthFinding]:
    """Find agents that refused many events. mail: refused mail of the window. sent: see `troubles_of`.

    Refusals of the framework's events, such as an alarm, are normal and do not count. Events for the framework's own
    agents, such as an alert for a sink, are reported after the first refusal.
    """
    by_agent: defaultdict[AgentId, list[Mail]] = defaultdict(list)
    for message in mail:
        if message.origin is not Origin.FRAMEWORK or is_framework_event(message.event):
            by_agent[message.recipient].append(message)
    for recipient in dict.fromkeys((*by_agent, *sent)):
        messages, trouble = by_agent[recipient], sent.get(recipient, {})
        is_lost = any(is_framework_event(message.event) for message in messages)
        if is_lost or len(messages) + trouble.get("count", 0) >= terms.refusals:
            yield _refused(recipient, messages, trouble, terms)


def _refused(recipient: AgentId, messages: Sequence[Mail], trouble: Payload, terms: WatchdogTerms) -> HealthFinding:
    """Return the finding of refusals, with separate counts of mail and sent events, as their windows differ."""
    counted = (("mail", len(messages), terms.window_s), ("sent events", trouble.get("count", 0), SENT_WINDOW_S))
    counts = " and ".join(f"{count} {what} within {_lasting(window_s)}" for what, count, window_s in counted if count)
    reason = messages[-1].reason if messages else trouble["reason"]
    sent_since = [datetime.fromisoformat(trouble["since"])] if trouble else []
    return HealthFinding(
        FindingKind.REFUSED,
        recipient,
        min([*(message.accepted for message in messages), *sent_since]),
        f"{counts} were refused: {reason[:200]}",
        f"`gatechart mail --agent {quote(recipient)} --status refused` lists the refused mail; "
        f"`gatechart accepts {quote(recipient)}` lists the accepted events",
        evidence={
            "mail_count": len(messages),
            "mail_window_s": terms.window_s,
            "sent_count": trouble.get("count", 0),
            "sent_window_s": SENT_WINDOW_S,
            "events": sorted({message.event for message in messages})[:20],
            "reason": reason[:1000],
        },
    )


def found_undone(sent: Mapping[AgentId, Payload], terms: WatchdogTerms) -> Iterator[HealthFinding]:
    """Find agents whose turns raise for events that others send them. sent: see `troubles_of`."""
    for agent_id, trouble in sent.items():
        if trouble["count"] >= terms.undone:
            yield HealthFinding(
                FindingKind.UNDONE,
                agent_id,
                datetime.fromisoformat(trouble["since"]),
                f"{trouble['count']} sent events raised, and their turns were rolled back: {trouble['reason'][:200]}",
                f"fix the action that raises; `gatechart show {quote(agent_id)}` shows the state of the agent",
                evidence=dict(trouble),
            )


def found_breakers(breakers: Iterable[BreakerRecord], terms: WatchdogTerms, now: datetime) -> Iterator[HealthFinding]:
    """Find circuit breakers that have been open too long. A breaker that an operator isolated is not a problem."""
    for breaker in breakers:
        open_s = (now - breaker.since).total_seconds()
        if breaker.state is not BreakerState.ISOLATED and open_s > terms.breaker_s:
            yield HealthFinding(
                FindingKind.BREAKER,
                breaker.name,
                breaker.since,
                f"open for {_lasting(open_s)}: {breaker.reason[:200]}",
                f"fix the guarded service; the breaker closes after a successful trial call, or at once by "
                f"`gatechart breakers close {quote(breaker.name)}`",
                evidence={"state": breaker.state.value, "breaks": breaker.breaks, "reason": breaker.reason[:1000]},
            )


_REPLACED = "no other action is needed"
_ALONE = "then start `gatechart run`, or `gatechart run --take-over` if that process hangs"


def found_hosts(hosts: Sequence[HostRecord], terms: WatchdogTerms, now: datetime) -> Iterator[HealthFinding]:
    """Find hosts without a recent heartbeat, and hosts that are busy without a turn."""
    alive = [host for host in hosts if now - host.seen <= timedelta(seconds=terms.silent_s)]
    is_owned = any(host.role is not Role.STANDBY for host in alive)
    for host in hosts:
        silent_s = (now - host.seen).total_seconds()
        busy_s = host.facts.get("busy_s", 0.0)
        usage = {name: value for name, value in host.facts.items() if name != "troubles"}  # these are other findings
        facts = {"machine": host.machine, "pid": host.pid, "role": host.role.value, **usage}
        if silent_s > terms.silent_s:
            instead = "another host has taken over" if is_owned else "no other host owns the database"
            yield HealthFinding(
                FindingKind.SILENT,
                host.id,
                host.seen,
                f"{host.name} has sent no heartbeat for {_lasting(silent_s)}; {instead}",
                f"check process {host.pid} on {host.machine}; {_REPLACED if is_owned else _ALONE}",
                evidence={**facts, "silent_s": round(silent_s, 3), "is_replaced": is_owned},
            )
        elif busy_s > terms.busy_s:
            yield HealthFinding(
                FindingKind.BUSY,
                host.id,
                host.seen - timedelta(seconds=busy_s),
                f"{host.name} has used its processors for {_lasting(busy_s)} without a turn",
                f"check what process {host.pid} on {host.machine} does, such as with `py-spy dump --pid {host.pid}`",
                evidence=facts,
            )


def found_undelivered(sinks: Iterable[tuple[str, int, Sequence[str], datetime | None]]) -> Iterator[HealthFinding]:
    """Find sinks that take no alerts. sinks: name, number of alerts pending after a failure, problems, and start."""
    for sink, count, problems, since in sinks:
        if count:
            yield HealthFinding(
                FindingKind.UNDELIVERED,
                sink,
                since,
                f"{count} alerts could not be delivered to sink {sink!r}: {problems[-1][:200]}",
                f"`gatechart show {quote(f'{SINK_AGENT}{sink}')}` shows them; fix the sink, and they are retried "
                f"automatically",
                evidence={"count": count, "problems": list(problems)[-5:]},
            )


def found_misplaced(agents: Iterable[Snapshot]) -> Iterator[HealthFinding]:
    """Report agents of an application with ids or graphs of the framework, see `is_misplaced`. agents: only these."""
    for agent in agents:
        what = "its id" if is_framework_id(agent.agent_id) else f"the name of its graph, {agent.graph!r},"
        yield HealthFinding(
            FindingKind.MISPLACED,
            agent.agent_id,
            agent.started,
            f"{what} belongs to gatechart itself, so {loss_from(agent.agent_id)}",
            _remedy_for(agent),
            graph=agent.graph,
            evidence={"status": agent.status.value, "loss": loss_from(agent.agent_id)},
        )


def _remedy_for(misplaced: Snapshot) -> str:
    typed = quote(misplaced.agent_id)
    if not is_framework_id(misplaced.agent_id):
        return f"rename the graph for new agents; `gatechart erase {typed}` deletes this one"
    return (
        f"`gatechart fork {typed} {misplaced.version} --id NEW_ID` continues it under another id; `gatechart mail "
        f"--agent {typed}` lists the mail that it refused; then run `gatechart erase {typed}` and restart the host"
    )


def _lasting(seconds: float) -> str:
    """Return a duration in its largest fitting unit.

    >>> [_lasting(seconds) for seconds in (0.5, 90, 7200, 200_000)]
    ['0.5 s', '1.5 min', '2 h', '2.3 d']
    """
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{seconds:.1f}".removesuffix(".0") + " s"
