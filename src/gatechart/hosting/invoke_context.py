"""The second argument of an invoked function: recorded steps, idempotency keys, progress and a stream."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, cast, get_type_hints, overload

from typing_extensions import TypeVar

from gatechart.errors.event import PayloadError
from gatechart.errors.failures import ExitRaisedError, call_contained, is_failure
from gatechart.errors.operation import StepRepeatedError
from gatechart.graph.callables import unwrapped
from gatechart.graph.graph import AnyGraph
from gatechart.hosting.agent_journal import AgentJournal
from gatechart.hosting.breakers import BY_DEFAULT, GuardedCall
from gatechart.hosting.durable_waits import Waits
from gatechart.hosting.idleness import Idleness
from gatechart.hosting.invoke_host import InvokeHost
from gatechart.hosting.invoke_journal import InvokeJournal, checked_step, mark
from gatechart.hosting.invoke_trail import TrailDesk, kind_of
from gatechart.hosting.kept_results import KeptResult
from gatechart.hosting.tool_policies import tool_layers
from gatechart.turn.arguments import checked_key, checked_words, plain_payload
from gatechart.values.breakers import BreakerPolicy
from gatechart.values.delays import Delay, Retry, seconds_in
from gatechart.values.escapes import NO_ESCAPES, Escapes
from gatechart.values.frozen import value
from gatechart.values.mail import Invocation, Mail
from gatechart.values.names import AgentId, is_number
from gatechart.values.secrets import revealed
from gatechart.values.trail import LONGEST_TOLD, Noted, Reasoned

if TYPE_CHECKING:  # functions that call no tool and choose no transfer do without these modules
    from gatechart.hosting.tool_calls import ToolCalls
    from gatechart.hosting.transfers import TransferDesk, TransferOutcome
    from gatechart.tools.definition import AnyTool, Tool
    from gatechart.tools.results import ToolResult
    from gatechart.tools.retries import RetryOn
    from gatechart.turn.transfer_offer import TransferOffer

UNDONE: Final = mark("undone")
"""The journal of an agent in which calls that take others back are recorded."""

ServicesT = TypeVar("ServicesT", default=Any)
T = TypeVar("T")
P = ParamSpec("P")


@value
class Step:
    """A recorded step that is more than its name, for `Work.step`, whose keywords are those of the function.

    retry: how to retry a function that raises; without it the first exception is passed on. A wait is at least what an
    HTTP response on the exception asks for in `Retry-After`; one that asks for more than a day is not waited for.
    retry_on: the exceptions that are worth another try, their classes or a function that tells.
    returns: the type of the result, where the function's return annotation does not name it.
    """

    name: str  # unique in the invocation
    retry: Retry | None = None
    retry_on: RetryOn = Exception
    returns: Any = None


class Work(Generic[ServicesT]):
    """The tools of one invocation. The function receives it as its second argument.

    Await what waits: a step, a sleep, a progress report, which is durable when it returns. The others return at once.
    `work: Work[Services]` tells a type checker the type of `work.services`.
    """

    def __init__(
        self,
        host: InvokeHost,
        journal: InvokeJournal,
        idleness: Idleness,
        graph: AnyGraph,
        trail: TrailDesk | None = None,
    ) -> None:
        """Bind the tools to one attempt.

        journal: what earlier attempts recorded, and where this one records. idleness: what is told of what it does.
        graph: that of the agent. trail: the agent's; None if the graph has no signals.
        """
        self._host = host
        self._graph = graph
        self._trail = trail
        self._calls: ToolCalls | None = None  # made with the first call
        self._transfers: TransferDesk | None = None  # made with the first question about transfers
        self._journal = journal
        self._idleness = idleness
        self._waits = Waits(host, journal, idleness)
        self._invocation = journal.invocation
        self._names: set[str] = set()

    async def for_agent(self, journal: str) -> Work[ServicesT]:
        """Return the same tools with records that belong to the agent, and not to this invocation.

        journal: their name. The records stay when the state is left: each later invocation of the agent that asks for
        the same journal finds them, and steps under their names are not taken again. They are forgotten with the agent.

        Raises PayloadError for a name that no store can keep, InvocationOverError if the state has been left meanwhile.
        """
        name = checked_step(journal, "journal")
        async with self._idleness.busy():
            if self._trail is not None:
                await self._trail.open()
            records = await AgentJournal.opened(self._host, self._invocation, name, self._journal.attempt)
        return Work(self._host, records, self._idleness, self._graph, self._trail)

    @property
    def journal(self) -> InvokeJournal:
        """Where this is recorded, for what is built on it."""
        return self._journal

    @property
    def agent_id(self) -> AgentId:
        """The agent whose state invokes the function."""
        return self._invocation.agent_id

    @property
    def services(self) -> ServicesT:
        """The services that were given to `Runtime.open`."""
        services: ServicesT = self._host.services
        return services

    @property
    def now(self) -> datetime:
        """The current time, aware, in UTC. It differs in a repeat of the invocation; the result of a step does not."""
        return self._host.now()

    @overload
    async def step(
        self, step: str | Step, function: Callable[P, Awaitable[T]], /, *args: P.args, **arguments: P.kwargs
    ) -> T: ...

    @overload
    async def step(self, step: str | Step, function: Callable[P, T], /, *args: P.args, **arguments: P.kwargs) -> T: ...

    async def step(self, step: str | Step, function: Callable[..., Any], /, *args: Any, **arguments: Any) -> Any:
        """Call the function with the arguments and record its result; a repeat of the invocation gets the record.

        step: its name, unique in the invocation, or a Step, which also says how to retry it. All other arguments are
        the function's. function: async, or plain and then run in a separate thread. Results are stored as JSON and come
        back as the type that the function's annotation or the Step names, or as plain JSON values if there is none.

        Raises PayloadError for a name that no store can keep or that begins with `gatechart.`, StepRepeatedError for a
        name that was used before, StepResultError for a result that cannot be stored, InvocationOverError if the state
        has been left meanwhile, and whatever the function raises.
        """
        how = step if isinstance(step, Step) else Step(step)
        self._note(checked_step(how.name), how.name)
        kept = KeptResult(self.agent_id, how.name, _returned(function) if how.returns is None else how.returns)
        text = self._journal.recorded(how.name)
        if text is None:
            async with self._idleness.busy():
                result = await self._tried(how, partial(function, *args, **arguments))
                text = await self._journal.record(how.name, kept.written(result))
        return kept.read(text)

    @overload
    async def call(self, tool: Tool[P, Awaitable[T]], /, *args: P.args, **arguments: P.kwargs) -> ToolResult[T]: ...

    @overload
    async def call(self, tool: Tool[P, T], /, *args: P.args, **arguments: P.kwargs) -> ToolResult[T]: ...

    @overload
    async def call(
        self, tool: str | AnyTool, /, *, call_id: str | None = None, **arguments: Any
    ) -> ToolResult[Any]: ...

    async def call(self, tool: str | AnyTool, /, *args: Any, **arguments: Any) -> ToolResult[Any]:
        """Call a tool of the services' tool box, through its policies, and record what came of it.

        tool: its name, or the tool itself, for its types. call_id: the identity of the call, such as a model's own; by
        default the tool, its arguments, and how many equal calls this run of the function made before. A repeat of the
        invocation gets the recorded result. A tool that must not be repeated is not called again if its process ended
        in the midst of it: the result is then the failure OUTCOME_UNKNOWN.

        Failures are results, too, such as a value that no store can keep; `unwrap()` raises them. Raises
        NoToolBoxError, CallReusedError for a call_id under which something else was asked, PayloadError for one that no
        store can keep, and InvocationOverError if the state has been left meanwhile.
        """
        call_id = arguments.pop("call_id", None)
        name = tool if isinstance(tool, str) else tool.name
        return await self._tool_calls().call(name, args, arguments, call_id=call_id)

    async def call_with(
        self, tool: str | AnyTool, arguments: Mapping[str, Any], /, *, call_id: str | None = None
    ) -> ToolResult[Any]:
        """Call a tool as `call` does, with its arguments as a mapping, so that they may have any names.

        An argument named `call_id` can be given by this alone.
        """
        name = tool if isinstance(tool, str) else tool.name
        return await self._tool_calls().call(name, (), arguments, call_id=call_id)

    def _tool_calls(self) -> ToolCalls:
        if self._calls is None:
            from gatechart.hosting.tool_calls import ToolCalls  # noqa: PLC0415  see above

            layers = tool_layers(self._graph, self._invocation.state)
            self._calls = ToolCalls(self._host, self._journal, self._idleness, layers, self._trail)
        return self._calls

    async def note(self, measure: str, number: float) -> None:
        """Hand in the value of a measure for the signals of the agent's graph, such as a model's confidence.

        It is durable when this returns, and a repeat of the invocation does not hand it in again. If a signal fires by
        it, this returns once the agent has answered. Without signals nothing is written.

        Raises PayloadError for a name that no store can keep and for what is no finite number, InvocationOverError if
        the state has been left meanwhile.
        """
        await self._tell(Noted(checked_key(measure, "measure"), _finite(measure, number)))

    async def reasoned(self, action: str, outcome: str, worker: str = "", *, name: str = "") -> None:
        """Tell the signals of the agent's graph of a step of reasoning. Otherwise as `note`.

        action: what was to be done; outcome: what came of it; both are cut to 500 characters. worker: who was to do it.
        name: by which a repeat knows the step; by default by what it tells, and how many equal ones were told before.
        """
        told = _kept(action, "action"), _kept(outcome, "outcome"), _kept(worker, "worker")
        await self._tell(Reasoned(*told), checked_key(name, "name") if name else "")

    async def _tell(self, entry: Noted | Reasoned, name: str = "") -> None:
        if self._trail is not None:
            async with self._idleness.busy():
                await self._trail.tell(entry, name)

    async def escapes(self) -> Escapes:
        """Return the agent's record of its escapes, once it has taken a way out that it asked for.

        Raises InvocationOverError if the state has been left, by the way out too.
        """
        async with self._idleness.busy():
            return await self._trail.escapes() if self._trail is not None and await self._trail.open() else NO_ESCAPES

    async def rolled_back_at(self) -> int:
        """Return the version of the agent's newest rollback; 0 if there is none.

        Only agents whose models keep a journal record it. Raises InvocationOverError if the state has been left.
        """
        async with self._idleness.busy():
            return (await self._host.snapshot(self._invocation)).trail.escapes.rolled_back

    async def nudge(self) -> str:
        """Return what a way out wants whoever decides next to know: that the agent goes round in circles, and how.

        Empty if there is nothing. It stays until the agent makes progress or takes another way out. Raises as `escapes`
        does.
        """
        return (await self.escapes()).nudge

    async def take_back(self) -> dict[str, Any]:
        """Take back the calls over which the agent goes back, the newest first, until one cannot be taken back.

        Returns the tools that were called for it, and what went wrong with which. For the state that escape plans add.
        Each call is recorded with the agent, so that it is never made twice.
        """
        undone: list[str] = []
        async with self._idleness.busy():
            records = await AgentJournal.opened(self._host, self._invocation, UNDONE, self._journal.attempt)
        talk: Work[ServicesT] = Work(self._host, records, self._idleness, self._graph, self._trail)
        for each in (await self.escapes()).undoing:
            calls, arguments = talk._tool_calls(), revealed(each.arguments)
            result = await calls.call(each.tool, (), arguments, call_id=each.call_id, undoes=each.call_id)
            if result.failure is not None:
                told = f"{each.tool} could not take a call back: {result.failure.kind}: {result.failure.message}"
                return {"undone": undone, "problem": told, "tool": each.tool, "error": kind_of(result.failure)}
            undone.append(each.tool)
        return {"undone": undone, "problem": ""}

    def idempotency_key(self, name: str) -> str:
        """Return a key for outside systems that act once per key; a repeat of the invocation gets the same key.

        It stays the same if a migration renames the state. Raises PayloadError for a name that no store can keep.
        """
        return self._journal.key(checked_words(name, "key"))

    @asynccontextmanager
    async def breaker(
        self,
        name: str,
        policy: BreakerPolicy = BY_DEFAULT,
        *,
        failures: type[Exception] | tuple[type[Exception], ...] = Exception,
    ) -> AsyncIterator[GuardedCall]:
        """Call inside the block what a circuit breaker guards, if it lets the call through.

        name: all calls of this home with the same name share a breaker. policy: by default it opens for 300 s after 5
        failures in a row. failures: the exceptions that count as failures; after any other, what was called works.
        Within the block, `fail(reason)` of the call reports a failure that raises nothing. In a step, put it inside the
        step's function, so that a recorded result needs no permit.

        Entering raises BreakerOpenError, and PayloadError for a name that no store can keep.
        """
        call = GuardedCall(self._host.breakers, checked_key(name, "breaker"), policy, failures)
        async with self._idleness.busy(), call:
            yield call

    @overload
    async def sleep(self, name: str, delay: Delay, /) -> None: ...

    @overload
    async def sleep(self, delay: Delay, /) -> None: ...

    async def sleep(self, name: Delay, delay: Delay | None = None, /) -> None:
        """Wait by the runtime's clock: `sleep("cooling", "2d")` durably, `sleep(5)` as a pause of the function.

        name: unique among the invocation's waits. A wait with a name ends at one moment: a repeat of the invocation,
        after a crash too, waits only for the rest. While the function does nothing else, the invocation is idle: it
        holds no place under `Limits(invokes=)`, and its `timeout_s` stands still. A pause is part of the function: it
        keeps its place and takes time, and a repeat begins it anew. delay: "2d", "PT1H30M", a timedelta, or seconds.

        Raises ValueError for what is not a duration. With a name it raises what `step` does of its own.
        """
        if delay is None:
            async with self._idleness.busy():
                await self._host.sleep(seconds_in(name))
            return
        named, wait_s = checked_step(cast("str", name), "wait"), seconds_in(delay)
        self._note(mark("sleep", named), named)
        async with self._idleness.busy():
            await self._waits.until_over(mark("sleep", named), wait_s)

    @property
    def transfer_names(self) -> frozenset[str]:
        """Names of the tools of all transfers that the state declares."""
        declared = self._graph.nodes[self._invocation.state].transfers
        return frozenset() if declared is None else frozenset(each.tool for each in declared.targets)

    async def transfer_tools(self) -> TransferOffer:
        """Return the transfers that the state offers now: tools, what a model is to be told, and how many are left.

        The tools are those of the targets whose guards agree; there are none if no transfer is left.
        """
        async with self._idleness.busy():
            return await self._desk().offer()

    async def transfer(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, call_id: str = ""
    ) -> TransferOutcome:
        """Choose one of the offered transfers by the name of its tool, and return the answer for the model.

        A choice that is followed leaves the state and so ends this invocation. The first one wins: later ones of the
        same run are answered and change nothing, as are unknown tools, withheld ones, and arguments that do not fit.
        The choice is recorded before it takes effect, so a repeat of the invocation gets the first outcome.

        call_id: the model's own id of the call; by default its place among the choices of this attempt. With records
        that belong to the agent, a call that was followed when the agent was in the state before is only answered.
        Raises PayloadError, CallReusedError if the id stands for another choice, InvocationOverError if the state has
        been left meanwhile, and what the turn raises.
        """
        async with self._idleness.busy():
            return await self._desk().choose(tool, arguments or {}, call_id)

    async def progress(self, payload: Any = None) -> None:
        """Send the agent the event `progress.invoke.<id>`. payload: as in `Agent.send`.

        Raises PayloadError, and InvocationOverError if the state has been left meanwhile.
        """
        told = plain_payload(payload, "progress")
        async with self._idleness.busy():
            await self._host.progress(self._invocation, told)

    def publish(self, item: Any) -> None:
        """Give the item to the invoke's current subscribers, see `Runtime.stream`. It is not stored.

        It waits for nobody, so it is not awaited, and the plain function of a step may call it in its thread.
        """
        self._host.publish(self._invocation, item)

    def _desk(self) -> TransferDesk:
        if self._transfers is None:
            from gatechart.hosting.transfers import TransferDesk  # noqa: PLC0415  see above

            self._transfers = TransferDesk(self._host, self._journal, self._graph)
        return self._transfers

    def _note(self, record: str, name: str) -> None:
        """Note that this run of the function uses the name of a record. Raises StepRepeatedError if it did before."""
        if record in self._names:
            raise StepRepeatedError(self.agent_id, self._invocation.invoke, name)
        self._names.add(record)

    async def _tried(self, step: Step, call: Callable[[], Any]) -> Any:
        failed = 0 if step.retry is None else await self._waits.tried(step.name)
        while True:
            try:
                return await _called(call)
            except BaseException as error:
                if not is_failure(error):
                    raise
                failed += 1
                wait_s = None if step.retry is None else self._next_try_s(step, step.retry, failed, error)
                if wait_s is None:
                    raise
            await self._waits.before_next(step.name, failed, wait_s)

    def _next_try_s(self, step: Step, retry: Retry, failed: int, error: BaseException) -> float | None:
        if not isinstance(error, Exception):  # such as SystemExit
            error = ExitRaisedError(type(error).__name__)
        from gatechart.tools.retries import next_try_s  # noqa: PLC0415  see above

        draw = self._journal.draw(f"try {self._journal.attempt} {failed} {step.name}")
        return next_try_s(retry, failed, draw, error, step.retry_on, self.now)


def report_mail(now: datetime, invocation: Invocation, kind: str, payload: Mapping[str, Any]) -> Mail:
    """Return mail from an invocation to its agent, `<kind>.invoke.<id>`, valid while the state is active.

    It has no number yet.
    """
    return Mail(
        0,
        invocation.agent_id,
        f"{kind}.invoke.{invocation.invoke}",
        payload,
        now,
        state=invocation.state,
        epoch=invocation.epoch,
    )


def _finite(measure: str, number: object) -> float:
    """Return the value of a measure. Raises PayloadError for what is no finite number."""
    if is_number(number):
        return float(number)
    raise PayloadError(f"the measure {measure!r}", (f"it is {number!r}",), "a finite number, such as 0.5")


def _kept(text: str, what: str) -> str:
    """Return as much of a text as a trail keeps. Raises PayloadError if no store could keep it."""
    return checked_words(text[:LONGEST_TOLD] if isinstance(text, str) else text, what)


def _returned(function: Callable[..., Any]) -> Any:
    """Return the function's annotated return type; Any if it has none."""
    function = unwrapped(function)
    annotated = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    try:
        return get_type_hints(annotated).get("return", Any)
    except (NameError, TypeError):
        return Any


async def _called(call: Callable[[], Any]) -> Any:
    function = unwrapped(call)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await call()
    result = await asyncio.to_thread(call_contained, call)
    return await result if inspect.isawaitable(result) else result
