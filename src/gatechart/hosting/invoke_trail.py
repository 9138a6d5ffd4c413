"""The entries of an invoke in the trail of its agent, and the wait for the agent after an entry fires a signal.

An invoke runs outside turns. Its entries are therefore evaluated here in the same way as by the turn of their mail. If
a signal fires, the function waits for that turn, and for the escape if the agent requests one. The function makes no
other call before the agent has answered.
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

if TYPE_CHECKING:  # not loaded for functions without tool calls
    from gatechart.tools.results import ToolFailure, ToolResult

Entry: TypeAlias = Called | Noted | Reasoned | Waited

NOTHING: Final = "null"
NOTHING_MORE: Final[Payload] = MappingProxyType({})


class TrailHost(Protocol):
    """The services of a runtime for invocations of agents with signals."""

    @property
    def services(self) -> Any:
        """The services passed to `Runtime.open`."""
        ...

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...

    async def snapshot(self, invocation: Invocation) -> Snapshot:
        """Return the agent's newest snapshot. Raises InvocationOverError if the state has been left."""
        ...

    async def answered(self, invocation: Invocation) -> Snapshot:
        """Return the agent's newest snapshot after it has processed all mail accepted so far.

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

        journal: of the invocation. context: as committed on entry of the state.
        """
        self._has_plans = has_plans(graph, host.services)
        self._has_others = journal.invocation.state in states_with_others(graph)
        self._host = host
        self._journal = journal
        self._idleness = idleness
        self._graph = graph
        self._context = context
        self._seen: Snapshot | None = None  # the agent after the turns of all entries; None until first read
        self._unseen: list[Event] = []  # events of entries that are not evaluated yet
        self._answering = asyncio.Lock()  # held during a wait for the agent
        self._owes_answer = False  # whether an answer may be due; stays True after an abandoned wait
        self._equal: Counter[str] = Counter()  # entries without a name so far, by their contents

    async def open(self) -> bool:
        """Wait until the agent has answered, and return whether it has signals. Call it while busy.

        An entry of an earlier attempt may need an answer, so the first call of an attempt waits. Entries of functions
        that run concurrently may also need an answer, and are not visible here: in states with such functions, each
        call waits. If the function catches the error or the cancellation of a wait, the next call waits again.
        """
        if self._is_unsure or self._answering.locked():
            async with self._idleness.waiting(), self._answering:
                if self._is_unsure:
                    self._seen = await self._answered()
        assert self._seen is not None
        return self._graph.signals_at(self._seen.trail.entry_point) is not None

    async def escapes(self) -> Escapes:
        """Return the agent's record of escapes, after any escape that is due. Call it while busy.

        Raises InvocationOverError if the state has been left. Does not query agents without escape plans.
        """
        if not self._has_plans:
            return NO_ESCAPES
        seen = await self._host.snapshot(self._journal.invocation)
        if seen.trail.escapes.is_due:
            async with self._idleness.waiting(), self._answering:
                self._seen = seen = await self._answered()
        return seen.trail.escapes

    async def _answered(self) -> Snapshot:
        """Return the agent's snapshot after it has answered, and taken an escape if it requested one.

        The agent requests an escape by mail to itself, so the next query waits for that mail. If the agent's version
        has not changed after that, the mail is lost or waits for a retry, and the wait ends.
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
        """Whether an answer of the agent may be due."""
        return self._seen is None or self._owes_answer or self._has_others

    @property
    def looks_back(self) -> bool:
        """Whether escapes may read the agent's past calls, so that entries contain the calls in full."""
        return looks_back(self._graph)

    def digest(self, values: Any) -> str:
        """Return the digest of JSON values without the ignored fields. Requires `open`."""
        terms = self._graph.signals_at(self._current.trail.entry_point)
        return digest_of(values, () if terms is None else terms.ignore)

    def called(self, tool: str, arguments: Payload, result: ToolResult[Any], value: str | None) -> Called:
        """Return the entry of a finished call. Requires `open`. value: the value of its result, as JSON text."""
        failure = result.failure
        return Called(
            tool,
            self.digest(arguments),
            ok=failure is None,
            outcome=self.digest(json.loads(value or NOTHING) if failure is None else _failure_payload(failure)),
            error="" if failure is None else kind_of(failure),
            attempts=result.attempts,
            task=self._current.trail.task,
            time_ms=int(self._host.now().timestamp() * 1000),
            until_ms=0 if failure is None or failure.retry_at is None else int(failure.retry_at.timestamp() * 1000),
        )

    async def tell(self, entry: Noted | Reasoned | Waited, name: str = "") -> None:
        """Write an entry, once in the invocation. Call it while busy. Raises InvocationOverError.

        name: identity of the entry in a repeat; by default its contents and the number of equal entries before it.
        """
        if not await self.open():
            return
        record = mark("told", f"named.{name}" if name else self._identity_of(entry))
        if self._journal.recorded(record) is None:
            await self.record(self._journal, record, NOTHING, entry)

    def _identity_of(self, entry: Entry) -> str:
        contents = f"{type(entry).__name__}.{digest_of(payload_of(entry)[1])}"
        self._equal[contents] += 1
        return f"{contents}.{self._equal[contents]}"

    async def begun(self, journal: InvokeJournal, name: str, text: str, facts: Payload) -> None:
        """Record a text together with the mail that reports the start of a call. Raises InvocationOverError."""
        call = journal.invocation
        payload = {**facts, "state": call.state, "epoch": call.epoch}
        mail = Mail(0, call.agent_id, BEGAN, payload, self._host.now())
        await journal.record(name, text, tells=mail)

    async def record(
        self, journal: InvokeJournal, name: str, text: str, entry: Entry, more: Payload = NOTHING_MORE
    ) -> str:
        """Record a text together with the mail of an entry, and return the recorded text.

        more: other fields of the mail. If the entry fires a signal, this returns after the agent has answered. Raises
        InvocationOverError if the state has been left, including by the answer.
        """
        event, payload = payload_during(entry, journal.invocation)
        mail = Mail(0, journal.invocation.agent_id, event, {**payload, **more}, self._host.now())
        recorded = await self._record_with_mail(journal, name, text, mail)
        self._unseen.append(mail.happens(mail.accepted))
        if not self._answering.locked():  # otherwise the entry is evaluated after the answer
            await self._evaluate()
        return recorded

    async def _record_with_mail(self, journal: InvokeJournal, name: str, text: str, mail: Mail) -> str:
        try:
            return await journal.record(name, text, tells=mail)
        except BaseException:  # the mail may have been accepted nevertheless
            self._owes_answer = True
            raise

    async def _evaluate(self) -> None:
        """Evaluate new entries, and wait for the agent if a signal fires.

        An entry written during a wait for the agent may already be in the snapshot, and then counts twice. At worst,
        this causes a wait without a pending answer.
        """
        while self._unseen:
            self._seen, fired = foreseen(self._graph, self._current, self._unseen.pop(0), self._context)
            if fired is not None:
                async with self._idleness.waiting(), self._answering:
                    self._seen = await self._answered()

    @property
    def _current(self) -> Snapshot:
        assert self._seen is not None
        return self._seen


def states_with_others(graph: AnyGraph) -> frozenset[StateName]:
    """Return the states whose functions may run concurrently with other functions of the agent. Cached per graph."""
    key = ("functions beside functions",)
    states: frozenset[StateName] | None = graph.memo.get(key)
    if states is None:
        states = graph.memo[key] = frozenset(_concurrent_states(graph))
    return states


def _concurrent_states(graph: AnyGraph) -> Iterator[StateName]:
    """Yield states with several functions, with functions also in an ancestor, or with functions in other regions."""
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
    """Return the type of the tool's exception; without one, or for a refused call, the kind of the failure."""
    return failure.kind.value if failure.is_refusal else failure.type or failure.kind.value


def _failure_payload(failure: ToolFailure) -> Payload:
    return {"type": kind_of(failure), "message": failure.message}
