"""Report entries of an invoke to the trail of its agent, and wait for the agent when a signal fires.

An invoke runs outside turns. So this module evaluates its entries in advance, as the turn of their mail will do. If a
signal fires, the function waits for that turn, and for the escape if the agent requests one. It makes no further calls
before the agent has answered.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from gatechart.escape.scene import looks_back
from gatechart.graph.compile import Kind
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.idleness import Idleness
from gatechart.hosting.invoke_journal import InvokeJournal, mark
from gatechart.turn.escape_requests import has_plans
from gatechart.turn.noticing import foreseen
from gatechart.turn.trail_mail import BEGAN, payload_during, payload_of
from gatechart.values.agents import Event, Snapshot
from gatechart.values.escapes import NO_ESCAPES, Escapes
from gatechart.values.mail import Invocation, Mail
from gatechart.values.names import Payload, StateName
from gatechart.values.trail import Called, Noted, Reasoned, Waited, digest_of

if TYPE_CHECKING:  # functions without tool calls do not load this module
    from gatechart.tools.results import ToolFailure, ToolResult

Entry: TypeAlias = Called | Noted | Reasoned | Waited

NOTHING: Final = "null"
NOTHING_MORE: Final[Payload] = MappingProxyType({})


class TrailHost(Protocol):
    """The services of a runtime for invocations of agents with signals."""

    @property
    def services(self) -> Any:
        """The services that the runtime was opened with."""
        ...

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...

    async def snapshot(self, invocation: Invocation) -> Snapshot:
        """Return the agent's newest snapshot. Raises InvocationOverError if the state has been left."""
        ...

    async def answered(self, invocation: Invocation) -> Snapshot:
        """Return the agent's newest snapshot once it has processed all mail accepted before this call.

        Raises InvocationOverError if the state has been left.
        """
        ...


class TrailDesk:
    """The trail of an agent with signals, for one attempt at an invocation's function."""

    def __init__(
        self,
        host: TrailHost,
        journal: InvokeJournal,
        idleness: Idleness,
        graph: AnyGraph,
        context: Any,
    ) -> None:
        """Bind to an attempt.

        journal: of the invocation. context: from the commit that entered the state.
        """
        self._has_plans = has_plans(graph, host.services)
        self._has_others = journal.invocation.state in states_with_others(graph)
        self._host = host
        self._journal = journal
        self._idleness = idleness
        self._graph = graph
        self._context = context
        self._seen: Snapshot | None = None  # expected after the turns of the reported entries; None before first use
        self._unseen: list[Event] = []  # reported, and not yet evaluated
        self._answering = asyncio.Lock()  # held while waiting for the agent
        self._owes_answer = False  # whether the agent may still have to answer; also after an abandoned wait
        self._equal: Counter[str] = Counter()  # entries without a name so far, by content

    async def open(self) -> bool:
        """Wait until the agent has answered, and return whether it has signals. Call it while busy.

        An earlier attempt may have reported an entry that needs an answer, so every attempt waits at first. A function
        that runs in parallel may do so as well, and its calls are not visible here. So in states where other functions
        may run, every call waits. A function may catch the error or the cancellation that ends a wait: the next call
        then waits again.
        """
        if self._is_unsure or self._answering.locked():
            async with self._idleness.waiting(), self._answering:
                if self._is_unsure:
                    self._seen = await self._answered()
        assert self._seen is not None
        return self._graph.signals_at(self._seen.trail.entry_point) is not None

    async def escapes(self) -> Escapes:
        """Return the agent's record of escapes once no escape is due. Call it while busy.

        Raises InvocationOverError if the state has been left. Agents without escape plans have an empty record.
        """
        if not self._has_plans:
            return NO_ESCAPES
        seen = await self._host.snapshot(self._journal.invocation)
        if seen.trail.escapes.is_due:
            async with self._idleness.waiting(), self._answering:
                self._seen = seen = await self._answered()
        return seen.trail.escapes

    async def _answered(self) -> Snapshot:
        """Return the agent's snapshot once it has answered, and has taken the escape that it requested.

        The agent requests an escape by mail to itself, so the next read waits for that mail. If the agent has not
        changed by then, the mail is lost or waits for a retry, and the wait ends.
        """
        self._owes_answer = True
        seen, before = await self._host.answered(self._journal.invocation), 0
        while seen.trail.escapes.is_due and seen.version > before:
            before = seen.version
            seen = await self._host.answered(self._journal.invocation)
        self._owes_answer = False
        return seen

    @property
    def _is_unsure(self) -> bool:
        """Whether the agent may have something to answer."""
        return self._seen is None or self._owes_answer or self._has_others

    @property
    def looks_back(self) -> bool:
        """Whether the agent may roll back over its calls, so that they are reported in full."""
        return looks_back(self._graph)

    def digest(self, values: Any) -> str:
        """Return the digest of JSON values without the ignored fields. The desk must be open."""
        terms = self._graph.signals_at(self._opened.trail.entry_point)
        return digest_of(values, () if terms is None else terms.ignore)

    def called(self, tool: str, arguments: Payload, result: ToolResult[Any], value: str | None) -> Called:
        """Return the entry of an ended call. The desk must be open. value: of the result, as JSON text."""
        failure = result.failure
        return Called(
            tool,
            self.digest(arguments),
            ok=failure is None,
            outcome=self.digest(json.loads(value or NOTHING) if failure is None else _shown(failure)),
            error="" if failure is None else kind_of(failure),
            attempts=result.attempts,
            task=self._opened.trail.task,
            time_ms=int(self._host.now().timestamp() * 1000),
            until_ms=0 if failure is None or failure.retry_at is None else int(failure.retry_at.timestamp() * 1000),
        )

    async def tell(self, entry: Noted | Reasoned | Waited, name: str = "") -> None:
        """Write an entry, once in the invocation. Call it while busy. Raises InvocationOverError.

        name: identifies the entry in a repeat; by default its content and the number of equal entries before it in
        this attempt.
        """
        if not await self.open():
            return
        record = mark("told", f"named.{name}" if name else self._default_name(entry))
        if self._journal.recorded(record) is None:
            await self.record(self._journal, record, NOTHING, entry)

    def _default_name(self, entry: Entry) -> str:
        content = f"{type(entry).__name__}.{digest_of(payload_of(entry)[1])}"
        self._equal[content] += 1
        return f"{content}.{self._equal[content]}"

    async def begun(self, journal: InvokeJournal, name: str, text: str, facts: Payload) -> None:
        """Record a text together with mail that reports the start of a call. Raises InvocationOverError."""
        call = journal.invocation
        payload = {**facts, "state": call.state, "epoch": call.epoch}
        mail = Mail(0, call.agent_id, BEGAN, payload, self._host.now())
        await journal.record(name, text, tells=mail)

    async def record(
        self, journal: InvokeJournal, name: str, text: str, entry: Entry, more: Payload = NOTHING_MORE
    ) -> str:
        """Record a text together with mail that reports an entry, and return the recorded text.

        more: further facts for the mail. If the entry makes a signal fire, the agent has answered when this returns.
        Raises InvocationOverError if the state has been left, also by the answer.
        """
        event, payload = payload_during(entry, journal.invocation)
        mail = Mail(0, journal.invocation.agent_id, event, {**payload, **more}, self._host.now())
        kept = await self._recorded(journal, name, text, mail)
        self._unseen.append(mail.happens(mail.accepted))
        if not self._answering.locked():  # otherwise it is evaluated after the answer
            await self._look()
        return kept

    async def _recorded(self, journal: InvokeJournal, name: str, text: str, mail: Mail) -> str:
        try:
            return await journal.record(name, text, tells=mail)
        except BaseException:  # the mail may have been accepted anyway
            self._owes_answer = True
            raise

    async def _look(self) -> None:
        """Evaluate the reported entries, and wait for the agent if a signal fires.

        An entry reported during a wait for the agent may already be in the snapshot, and then counts twice. The worst
        result is a wait for an agent that has nothing to answer.
        """
        while self._unseen:
            self._seen, fired = foreseen(self._graph, self._opened, self._unseen.pop(0), self._context)
            if fired is not None:
                async with self._idleness.waiting(), self._answering:
                    self._seen = await self._answered()

    @property
    def _opened(self) -> Snapshot:
        assert self._seen is not None
        return self._seen


def states_with_others(graph: AnyGraph) -> frozenset[StateName]:
    """Return the states whose functions may run at the same time as others of the agent. Computed once per graph."""
    key = ("functions beside functions",)
    states: frozenset[StateName] | None = graph.memo.get(key)
    if states is None:
        states = graph.memo[key] = frozenset(_states_in_parallel(graph))
    return states


def _states_in_parallel(graph: AnyGraph) -> Iterator[StateName]:
    """Yield the states whose functions can run at the same time as another one.

    The other function belongs to the same state, to an outer or inner state, or to another region of a parallel state.
    """
    functions = Counter(node.name for node in graph.nodes.values() for invoke in node.invokes if not invoke.agent)
    yield from (state for state, count in functions.items() if count > 1)
    regions: defaultdict[StateName, defaultdict[StateName, list[StateName]]] = defaultdict(lambda: defaultdict(list))
    for state in functions:
        for inner, outer in pairwise((state, *graph.nodes[state].ancestors)):
            if outer in functions:
                yield from (state, outer)
            if graph.nodes[outer].kind is Kind.PARALLEL:
                regions[outer][inner].append(state)
    for states in regions.values():
        if len(states) > 1:
            yield from chain(*states.values())


def kind_of(failure: ToolFailure) -> str:
    """Return the type of the tool's exception; the kind of the failure without one, or if a breaker refused it."""
    return failure.kind.value if failure.is_refusal else failure.type or failure.kind.value


def _shown(failure: ToolFailure) -> Payload:
    return {"type": kind_of(failure), "message": failure.message}
