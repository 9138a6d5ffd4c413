"""The rules of the watchdog and of `gatechart doctor`: what is wrong with agents, mail, breakers, hosts and sinks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from shlex import quote
from types import MappingProxyType
from typing import TypeAlias

from gatechart.values import (
    AgentId,
    BreakerRecord,
    BreakerState,
    FindingKind,
    HealthFinding,
    HostRecord,
    Mail,
    Origin,
    Payload,
    Role,
    Snapshot,
    StateName,
    wait_under_way,
)
from gatechart.values.framework import (
    SINK_AGENT,
    is_framework_event,
    is_framework_id,
    loss_from,
)
from gatechart.watchdog.norms import Norm
from gatechart.watchdog.terms import SENT_WINDOW_S, WatchdogTerms


def found_stuck(
    snapshot: Snapshot, norms: Mapping[StateName, Norm], pending: Sequence[str], now: datetime
) -> Iterator[HealthFinding]:
    """Find an agent that has had no turn for longer than is normal in one of its states.

    pending: what it waits for, in words. A norm that is declared holds all the same; one that was learned does not,
    because something that is on its way may take as long as it takes. Neither does while a call of the agent waits for
    a circuit breaker, which is found for itself.
    """
    known = [(norms[leaf].seconds, leaf) for leaf in snapshot.configuration if leaf in norms]
    since, version = quiet_since(snapshot)
    if not known or since is None:
        return
    _, leaf = min(known)
    norm, silent_s = norms[leaf], (now - since).total_seconds()
    if silent_s <= norm.seconds or (pending and not norm.is_declared) or _waits_for_breaker(snapshot, now):
        return
    earlier = "" if norm.is_declared else f", by {norm.known} earlier ones"
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
        f"`gatechart show {typed}` shows what it waits for, `gatechart accepts {typed}` what can be sent to it",
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
    """Return when an agent gave its last sign of life, and its version then.

    A turn in which the watchdog asked it in vain to begin anew is none, so that such a finding lasts.
    """
    in_vain = next((each for each in snapshot.trail.escapes.open if each.vain_at == snapshot.version), None)
    return (snapshot.changed, snapshot.version) if in_vain is None else (in_vain.quiet_since, in_vain.vain_at - 1)


def found_mail(
    mail: Iterable[Mail], existing: Collection[AgentId], terms: WatchdogTerms, now: datetime
) -> Iterator[HealthFinding]:
    """Find mail that waits too long, fails, or is dead: for each agent one finding of a kind.

    existing: the agents among the recipients that exist. Mail that an agent's states defer is not to be among it.
    """
    sorted_out: defaultdict[tuple[FindingKind, AgentId], list[Mail]] = defaultdict(list)
    for each in mail:
        kind = _kind_of(each, existing, terms, now)
        if kind is not None:
            sorted_out[kind, each.recipient].append(each)
    for (kind, recipient), found in sorted_out.items():
        yield _mail_finding(kind, recipient, found)


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
    FindingKind.FAILING: "{count} mail fails and is tried again, so its turns are undone",
    FindingKind.WAITING: "{count} mail could be applied, and waits",
    FindingKind.UNCLAIMED: "{count} mail waits for an agent that does not exist",
}
_HELPS = {
    FindingKind.DEAD: "`gatechart mail --agent {agent} --status dead` shows it; `gatechart mail retry NUMBER` tries it "
    "again, `gatechart mail discard NUMBER` gives it up",
    FindingKind.FAILING: "`gatechart mail --agent {agent}` shows why; mend the cause, it is tried again by itself",
    FindingKind.WAITING: "`gatechart run` hosts agents, if nobody does; `gatechart show {agent}` shows what it does",
    FindingKind.UNCLAIMED: "`gatechart start GRAPH --at ENTRY_POINT --id {agent}` starts the agent, which takes the "
    "mail or refuses it; to give the mail up, `gatechart erase {agent}` after that",
}
_SINK_HELPS = (
    "the host of the agents has no sink {sink!r}: write a table [sinks.{sink}] in the file of "
    "`gatechart run --alerts-file FILE`, which then delivers them"
)


def _mail_finding(kind: FindingKind, recipient: AgentId, found: Sequence[Mail]) -> HealthFinding:
    oldest = min(found, key=lambda each: each.due or each.accepted)
    evidence = {
        "mail": [each.number for each in found[:20]],
        "count": len(found),
        "events": sorted({each.event for each in found})[:20],
        "reason": oldest.reason[:1000],
    }
    is_alert = kind is FindingKind.UNCLAIMED and recipient.startswith(SINK_AGENT)
    helps = _SINK_HELPS.format(sink=recipient.removeprefix(SINK_AGENT)) if is_alert else _HELPS[kind]
    because = f": {oldest.reason[:200]}" if oldest.reason else ""
    return HealthFinding(
        kind,
        recipient,
        oldest.due or oldest.accepted,
        _SAYS[kind].format(count=len(found)) + because,
        helps.format(agent=quote(recipient)),
        evidence=evidence,
    )


Troubles: TypeAlias = Mapping[str, Mapping[AgentId, Payload]]
"""What hosts tell of events whose senders waited: by kind and agent how often it was, since when, and why."""


def troubles_of(hosts: Iterable[HostRecord], terms: WatchdogTerms, now: datetime) -> Troubles:
    """Return what hosts tell that gave a sign of life lately. Of one agent, the host tells that has it."""
    found: dict[str, dict[AgentId, Payload]] = {"refused": {}, "undone": {}}
    for host in hosts:
        if now - host.seen <= timedelta(seconds=terms.silent_s):
            for kind, told in host.facts.get("troubles", {}).items():
                found.setdefault(kind, {}).update(told)
    return found


def found_refused(
    mail: Iterable[Mail], terms: WatchdogTerms, sent: Mapping[AgentId, Payload] = MappingProxyType({})
) -> Iterator[HealthFinding]:
    """Find agents that refused much of what others sent them. mail: refused, of the window. sent: see `troubles_of`.

    An agent may refuse the framework's events, such as an alarm. The events for the framework's own agents, such as an
    alert for a sink, are reported after the first refusal.
    """
    by_agent: defaultdict[AgentId, list[Mail]] = defaultdict(list)
    for each in mail:
        if each.origin is not Origin.FRAMEWORK or is_framework_event(each.event):
            by_agent[each.recipient].append(each)
    for recipient in dict.fromkeys((*by_agent, *sent)):
        found, told = by_agent[recipient], sent.get(recipient, {})
        is_lost = any(is_framework_event(each.event) for each in found)
        if is_lost or len(found) + told.get("count", 0) >= terms.refusals:
            yield _refused(recipient, found, told, terms)


def _refused(recipient: AgentId, found: Sequence[Mail], told: Payload, terms: WatchdogTerms) -> HealthFinding:
    """Return what is found of refusals. Mail and sent events are told apart, since each has a window of its own."""
    counted = (("mail", len(found), terms.window_s), ("sent events", told.get("count", 0), SENT_WINDOW_S))
    counts = " and ".join(f"{count} {what} within {_lasting(window_s)}" for what, count, window_s in counted if count)
    reason = found[-1].reason if found else told["reason"]
    sent_since = [datetime.fromisoformat(told["since"])] if told else []
    return HealthFinding(
        FindingKind.REFUSED,
        recipient,
        min([*(each.accepted for each in found), *sent_since]),
        f"{counts} were refused: {reason[:200]}",
        f"`gatechart mail --agent {quote(recipient)} --status refused` shows those that came as mail; "
        f"`gatechart accepts {quote(recipient)}` says what is accepted",
        evidence={
            "mail_count": len(found),
            "mail_window_s": terms.window_s,
            "sent_count": told.get("count", 0),
            "sent_window_s": SENT_WINDOW_S,
            "events": sorted({each.event for each in found})[:20],
            "reason": reason[:1000],
        },
    )


def found_undone(sent: Mapping[AgentId, Payload], terms: WatchdogTerms) -> Iterator[HealthFinding]:
    """Find agents whose turns raise for those who send them events. sent: see `troubles_of`."""
    for agent_id, told in sent.items():
        if told["count"] >= terms.undone:
            yield HealthFinding(
                FindingKind.UNDONE,
                agent_id,
                datetime.fromisoformat(told["since"]),
                f"{told['count']} events that were sent raised, and their turns were undone: {told['reason'][:200]}",
                f"mend the action that raises; `gatechart show {quote(agent_id)}` shows where the agent is",
                evidence=dict(told),
            )


def found_breakers(breakers: Iterable[BreakerRecord], terms: WatchdogTerms, now: datetime) -> Iterator[HealthFinding]:
    """Find circuit breakers that have been open for a while. One that an operator isolated is as it should be."""
    for each in breakers:
        open_s = (now - each.since).total_seconds()
        if each.state is not BreakerState.ISOLATED and open_s > terms.breaker_s:
            yield HealthFinding(
                FindingKind.BREAKER,
                each.name,
                each.since,
                f"open for {_lasting(open_s)}: {each.reason[:200]}",
                f"mend what it guards; a call after its break tries it, `gatechart breakers close {quote(each.name)}` "
                f"at once",
                evidence={"state": each.state.value, "breaks": each.breaks, "reason": each.reason[:1000]},
            )


_REPLACED = "nothing else is to be done"
_ALONE = "`gatechart run` hosts the agents, `gatechart run --take-over` if that process hangs"


def found_hosts(hosts: Sequence[HostRecord], terms: WatchdogTerms, now: datetime) -> Iterator[HealthFinding]:
    """Find hosts that gave no sign of life, and those that are busy without a turn."""
    alive = [each for each in hosts if now - each.seen <= timedelta(seconds=terms.silent_s)]
    is_owned = any(each.role is not Role.STANDBY for each in alive)
    for each in hosts:
        silent_s = (now - each.seen).total_seconds()
        busy_s = each.facts.get("busy_s", 0.0)
        usage = {name: value for name, value in each.facts.items() if name != "troubles"}  # which are other findings
        facts = {"machine": each.machine, "pid": each.pid, "role": each.role.value, **usage}
        if silent_s > terms.silent_s:
            instead = "another host has taken over" if is_owned else "no other host owns the database"
            yield HealthFinding(
                FindingKind.SILENT,
                each.id,
                each.seen,
                f"{each.name} gave no sign of life for {_lasting(silent_s)}; {instead}",
                f"look at process {each.pid} on {each.machine}; {_REPLACED if is_owned else _ALONE}",
                evidence={**facts, "silent_s": round(silent_s, 3), "is_replaced": is_owned},
            )
        elif busy_s > terms.busy_s:
            yield HealthFinding(
                FindingKind.BUSY,
                each.id,
                each.seen - timedelta(seconds=busy_s),
                f"{each.name} has used its processors for {_lasting(busy_s)} without a turn",
                f"look at what process {each.pid} on {each.machine} does, as with `py-spy dump --pid {each.pid}`",
                evidence=facts,
            )


def found_undelivered(sinks: Iterable[tuple[str, int, Sequence[str], datetime | None]]) -> Iterator[HealthFinding]:
    """Find sinks that take no alerts. sinks: name, how many are pending after a failure, the problems, since when."""
    for sink, count, problems, since in sinks:
        if count:
            yield HealthFinding(
                FindingKind.UNDELIVERED,
                sink,
                since,
                f"{count} alerts could not be delivered to sink {sink!r}: {problems[-1][:200]}",
                f"`gatechart show {quote(f'{SINK_AGENT}{sink}')}` shows them; mend the sink, they are tried again by "
                f"themselves",
                evidence={"count": count, "problems": list(problems)[-5:]},
            )


def found_misplaced(agents: Iterable[Snapshot]) -> Iterator[HealthFinding]:
    """Find agents of an application whose ids or graphs belong to the framework. agents: those, see `is_misplaced`."""
    for each in agents:
        what = "its id" if is_framework_id(each.agent_id) else f"the name of its graph, {each.graph!r},"
        yield HealthFinding(
            FindingKind.MISPLACED,
            each.agent_id,
            each.started,
            f"{what} belongs to gatechart itself, so {loss_from(each.agent_id)}",
            _way_from(each),
            graph=each.graph,
            evidence={"status": each.status.value, "loss": loss_from(each.agent_id)},
        )


def _way_from(misplaced: Snapshot) -> str:
    typed = quote(misplaced.agent_id)
    if not is_framework_id(misplaced.agent_id):
        return f"rename the graph for new agents; `gatechart erase {typed}` deletes this one"
    return (
        f"`gatechart fork {typed} {misplaced.version} --id NEW_ID` lets it go on under another id; `gatechart mail "
        f"--agent {typed}` shows what it refused; then `gatechart erase {typed}`, and start the host again"
    )


def _lasting(seconds: float) -> str:
    """Return a duration as people say it.

    >>> [_lasting(each) for each in (0.5, 90, 7200, 200_000)]
    ['0.5 s', '1.5 min', '2 h', '2.3 d']
    """
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{seconds:.1f}".removesuffix(".0") + " s"
