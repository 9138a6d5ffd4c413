"""What an invoke tells the trail of its agent, and the wait for the agent once a signal fires by that.

An invoke runs outside turns. So what it tells is looked at here as the turn of its mail will look at it. Where a signal
fires, the function waits for that turn, and for the way out if the agent asks for one: it calls nothing more before the
agent has answered.
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

if TYPE_CHECKING:  # functions that call no tool do without this module
    from gatechart.tools.results import ToolFailure, ToolResult

Entry: TypeAlias = Called | Noted | Reasoned | Waited

NOTHING: Final = "null"
NOTHING_MORE: Final[Payload] = MappingProxyType({})


class TrailHost(Protocol):
    """What a runtime does for invocations of agents with signals."""

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
        """Return the agent's newest snapshot once it has taken all mail that was accepted before.

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

        journal: of the invocation. context: that of the commit that entered the state.
        """
        self._has_plans = has_plans(graph, host.services)
        self._has_others = journal.invocation.state in states_with_others(graph)
        self._host = host
        self._journal = journal
        self._idleness = idleness
        self._graph = graph
        self._context = context
        self._seen: Snapshot | None = None  # as the turns of what was told will leave it; None until first asked for
        self._unseen: list[Event] = []  # told, and not looked at yet
        self._answering = asyncio.Lock()  # held while the agent is waited for
        self._owes_answer = False  # whether the agent may have something to answer; also once the wait was given up
        self._equal: Counter[str] = Counter()  # entries without a name so far, by what they tell

    async def open(self) -> bool:
        """Wait until the agent has answered, and return whether it has signals. To be called while busy.

        An earlier attempt may have told it something to answer, so each attempt waits at first. So may functions that
        are under way beside this one, of whose calls nothing is seen here, so where there may be some, each call waits.
        A function may catch the error or the cancellation that ends a wait: the next call then begins it again.
        """
        if self._is_unsure or self._answering.locked():
            async with self._idleness.waiting(), self._answering:
                if self._is_unsure:
                    self._seen = await self._answered()
        assert self._seen is not None
        return self._graph.signals_at(self._seen.trail.entry_point) is not None

    async def escapes(self) -> Escapes:
        """Return the agent's record of escapes once no way out is due. To be called while busy.

        Raises InvocationOverError if the state has been left. Agents that try no ways out are not asked.
        """
        if not self._has_plans:
            return NO_ESCAPES
        seen = await self._host.snapshot(self._journal.invocation)
        if seen.trail.escapes.is_due:
            async with self._idleness.waiting(), self._answering:
                self._seen = seen = await self._answered()
        return seen.trail.escapes

    async def _answered(self) -> Snapshot:
        """Return the agent's snapshot once it has answered, with a way out if it asked for one.

        It asks by mail to itself, which the next question comes behind. If that finds the agent as it was, the mail is
        lost or waits to be tried again, and nothing more is waited for.
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
        """Whether it is not known here that the agent has nothing to answer."""
        return self._seen is None or self._owes_answer or self._has_others

    @property
    def looks_back(self) -> bool:
        """Whether the agent may go back over what it did, so that its calls are told in full."""
        return looks_back(self._graph)

    def digest(self, told: Any) -> str:
        """Return the digest of JSON values without the fields that make no difference, in a desk that is open."""
        terms = self._graph.signals_at(self._opened.trail.entry_point)
        return digest_of(told, () if terms is None else terms.ignore)

    def called(self, tool: str, arguments: Payload, result: ToolResult[Any], value: str | None) -> Called:
        """Return the entry of a call that has ended, in a desk that is open. value: of its result, as JSON text."""
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
        """Write an entry, once in the invocation. To be called while busy. Raises InvocationOverError.

        name: by which a repeat knows it; by default what it tells, and how many equal ones this attempt told before.
        """
        if not await self.open():
            return
        record = mark("told", f"named.{name}" if name else self._place_of(entry))
        if self._journal.recorded(record) is None:
            await self.record(self._journal, record, NOTHING, entry)

    def _place_of(self, entry: Entry) -> str:
        told = f"{type(entry).__name__}.{digest_of(payload_of(entry)[1])}"
        self._equal[told] += 1
        return f"{told}.{self._equal[told]}"

    async def begun(self, journal: InvokeJournal, name: str, text: str, told: Payload) -> None:
        """Record a text together with the mail that a call has begun. Raises InvocationOverError."""
        it = journal.invocation
        mail = Mail(0, it.agent_id, BEGAN, {**told, "state": it.state, "epoch": it.epoch}, self._host.now())
        await journal.record(name, text, tells=mail)

    async def record(
        self, journal: InvokeJournal, name: str, text: str, entry: Entry, more: Payload = NOTHING_MORE
    ) -> str:
        """Record a text together with the mail that tells of an entry, and return what is recorded.

        more: what the mail tells beside the entry. If a signal fires by it, the agent has answered when this returns.
        Raises InvocationOverError if the state has been left, by the answer too.
        """
        event, payload = payload_during(entry, journal.invocation)
        mail = Mail(0, journal.invocation.agent_id, event, {**payload, **more}, self._host.now())
        kept = await self._recorded(journal, name, text, mail)
        self._unseen.append(mail.happens(mail.accepted))
        if not self._answering.locked():  # otherwise it is looked at after the answer
            await self._look()
        return kept

    async def _recorded(self, journal: InvokeJournal, name: str, text: str, mail: Mail) -> str:
        try:
            return await journal.record(name, text, tells=mail)
        except BaseException:  # the mail may be on its way all the same
            self._owes_answer = True
            raise

    async def _look(self) -> None:
        """Look at what was told, and wait for the agent where a signal fires.

        What is told while the agent is waited for may be in the snapshot already, and then counts twice. At worst that
        is a wait for an agent that has nothing to answer.
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
    """Return the states whose functions may be under way at the same time as others of the agent. Worked out once."""
    key = ("functions beside functions",)
    found: frozenset[StateName] | None = graph.memo.get(key)
    if found is None:
        found = graph.memo[key] = frozenset(_side_by_side(graph))
    return found


def _side_by_side(graph: AnyGraph) -> Iterator[StateName]:
    """Yield states that invoke several functions, that do inside another that does, or in two regions of one."""
    functions = Counter(node.name for node in graph.nodes.values() for each in node.invokes if not each.agent)
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
    """Return the type of the tool's exception, or the kind of the failure if there is none or a breaker refused it."""
    return failure.kind.value if failure.is_refusal else failure.type or failure.kind.value


def _shown(failure: ToolFailure) -> Payload:
    return {"type": kind_of(failure), "message": failure.message}
