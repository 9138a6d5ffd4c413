"""The second argument of an invoked function: recorded steps, tool calls, waits, progress and a stream."""

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

if TYPE_CHECKING:  # not loaded for functions without tool calls and transfers
    from gatechart.hosting.tool_calls import ToolCalls
    from gatechart.hosting.transfers import TransferDesk, TransferOutcome
    from gatechart.tools.definition import AnyTool, Tool
    from gatechart.tools.results import ToolResult
    from gatechart.tools.retries import RetryOn
    from gatechart.turn.transfer_offer import TransferOffer

UNDONE: Final = mark("undone")
"""The journal of an agent that records its compensating calls."""

ServicesT = TypeVar("ServicesT", default=Any)
T = TypeVar("T")
P = ParamSpec("P")


@value
class Step:
    """A recorded step with options, for `Work.step`, whose own keywords are passed to the function.

    retry: retries of a function that raises; without it the first exception is passed on. A wait is at least the
    `Retry-After` of an HTTP response on the exception; if that is more than a day, there is no retry.
    retry_on: exceptions that are retried, as classes or as a predicate.
    returns: the type of the result, if the function has no return annotation that names it.
    """

    name: str  # unique in the invocation
    retry: Retry | None = None
    retry_on: RetryOn = Exception
    returns: Any = None


class Work(Generic[ServicesT]):
    """The tools of one invocation, passed to the function as its second argument.

    Await the methods that wait: steps, sleeps, and progress reports, which are durable when they return. The other
    methods return at once. The annotation `work: Work[Services]` declares the type of `work.services`.
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

        journal: records of the invocation. idleness: tracks whether the attempt runs or waits. graph: of the agent.
        trail: of the agent; None if the graph has no signals.
        """
        self._host = host
        self._graph = graph
        self._trail = trail
        self._calls: ToolCalls | None = None  # created with the first call
        self._transfers: TransferDesk | None = None  # created when transfers are first used
        self._journal = journal
        self._idleness = idleness
        self._waits = Waits(host, journal, idleness)
        self._invocation = journal.invocation
        self._names: set[str] = set()  # of records that this run has used

    async def for_agent(self, journal: str) -> Work[ServicesT]:
        """Return the same tools with records that belong to the agent instead of this invocation.

        journal: name of the records. They stay when the state is left: later invocations of the agent that use the same
        journal read them, and do not repeat its steps. They are deleted with the agent.

        Raises PayloadError for a name that a store cannot keep, and InvocationOverError if the state has been left.
        """
        name = checked_step(journal, "journal")
        async with self._idleness.busy():
            if self._trail is not None:
                await self._trail.open()
            records = await AgentJournal.opened(self._host, self._invocation, name, self._journal.attempt)
        return Work(self._host, records, self._idleness, self._graph, self._trail)

    @property
    def journal(self) -> InvokeJournal:
        """The records of these tools, for libraries that extend them."""
        return self._journal

    @property
    def agent_id(self) -> AgentId:
        """The agent whose state invokes the function."""
        return self._invocation.agent_id

    @property
    def services(self) -> ServicesT:
        """The services passed to `Runtime.open`."""
        services: ServicesT = self._host.services
        return services

    @property
    def now(self) -> datetime:
        """The current time, aware, in UTC. Unlike the result of a step, it differs in a repeat of the invocation."""
        return self._host.now()

    @overload
    async def step(
        self, step: str | Step, function: Callable[P, Awaitable[T]], /, *args: P.args, **arguments: P.kwargs
    ) -> T: ...

    @overload
    async def step(self, step: str | Step, function: Callable[P, T], /, *args: P.args, **arguments: P.kwargs) -> T: ...

    async def step(self, step: str | Step, function: Callable[..., Any], /, *args: Any, **arguments: Any) -> Any:
        """Call the function with the arguments and record its result; a repeat of the invocation gets the record.

        step: name of the step, unique in the invocation, or a Step with options such as retries. All other arguments
        are passed to the function. function: async, or a plain function, which runs in a separate thread. The result is
        stored as JSON, and returned as the type from the function's annotation or the Step, else as plain JSON values.

        Raises PayloadError for a name that a store cannot keep or that starts with `gatechart.`, StepRepeatedError for
        a name that was used before, StepResultError for a result that cannot be stored, InvocationOverError if the
        state has been left, and the exceptions of the function.
        """
        options = step if isinstance(step, Step) else Step(step)
        self._claim(checked_step(options.name), options.name)
        returns = _return_type(function) if options.returns is None else options.returns
        kept = KeptResult(self.agent_id, options.name, returns)
        text = self._journal.recorded(options.name)
        if text is None:
            async with self._idleness.busy():
                result = await self._run_with_retries(options, partial(function, *args, **arguments))
                text = await self._journal.record(options.name, kept.written(result))
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
        """Call a tool of the services' tool box, through its policies, and record the result.

        tool: its name, or the tool itself, for its types. call_id: identity of the call, such as the id from a model;
        by default the tool, its arguments, and the number of equal calls before it in this run of the function. A
        repeat of the invocation gets the recorded result. A tool that must not be repeated is not called again if its
        process ended during the call: the result is then the failure OUTCOME_UNKNOWN.

        Failures are results, too, such as a value that a store cannot keep; `unwrap()` raises them. Raises
        NoToolBoxError, CallReusedError for the call_id of a different call, PayloadError for a call_id that a store
        cannot keep, and InvocationOverError if the state has been left.
        """
        call_id = arguments.pop("call_id", None)
        name = tool if isinstance(tool, str) else tool.name
        return await self._tool_calls().call(name, args, arguments, call_id=call_id)

    async def call_with(
        self, tool: str | AnyTool, arguments: Mapping[str, Any], /, *, call_id: str | None = None
    ) -> ToolResult[Any]:
        """Call a tool as `call` does, with its arguments as a mapping, so that they may have any names.

        Only this method can pass an argument named `call_id` to the tool.
        """
        name = tool if isinstance(tool, str) else tool.name
        return await self._tool_calls().call(name, (), arguments, call_id=call_id)

    def _tool_calls(self) -> ToolCalls:
        if self._calls is None:
            from gatechart.hosting.tool_calls import ToolCalls  # noqa: PLC0415  as above

            layers = tool_layers(self._graph, self._invocation.state)
            self._calls = ToolCalls(self._host, self._journal, self._idleness, layers, self._trail)
        return self._calls

    async def note(self, measure: str, number: float) -> None:
        """Record the value of a measure, such as a model's confidence, for the signals of the agent's graph.

        It is durable when this returns, and a repeat of the invocation does not record it again. If it makes a signal
        fire, this returns once the agent has answered. Without signals nothing is written.

        Raises PayloadError for a name that a store cannot keep and for a number that is not finite, and
        InvocationOverError if the state has been left.
        """
        await self._report(Noted(checked_key(measure, "measure"), _finite(measure, number)))

    async def reasoned(self, action: str, outcome: str, worker: str = "", *, name: str = "") -> None:
        """Record a step of reasoning for the signals of the agent's graph. Otherwise as `note`.

        action: the intended action; outcome: its result; worker: the agent or tool responsible. All are cut to 500
        characters. name: identity of the step in a repeat; by default its contents and the number of equal steps before
        it.
        """
        texts = _truncated(action, "action"), _truncated(outcome, "outcome"), _truncated(worker, "worker")
        await self._report(Reasoned(*texts), checked_key(name, "name") if name else "")

    async def _report(self, entry: Noted | Reasoned, name: str = "") -> None:
        if self._trail is not None:
            async with self._idleness.busy():
                await self._trail.tell(entry, name)

    async def escapes(self) -> Escapes:
        """Return the agent's record of its escapes. A requested escape is awaited first.

        Raises InvocationOverError if the state has been left, including by the escape.
        """
        async with self._idleness.busy():
            return await self._trail.escapes() if self._trail is not None and await self._trail.open() else NO_ESCAPES

    async def nudge(self) -> str:
        """Return the hint of an escape for the next decision: that the agent is going in circles, and how.

        Empty if there is none. The hint stays until the agent makes progress or takes another escape route. Raises as
        `escapes` does.
        """
        return (await self.escapes()).nudge

    async def take_back(self) -> dict[str, Any]:
        """Undo the calls that the agent rolls back past, the newest first, until a call cannot be undone.

        Return the tools called to undo them, and the problem with the tool that failed. For the state that escape plans
        add. Each call is recorded in a journal of the agent, so that it is made only once.
        """
        undone: list[str] = []
        async with self._idleness.busy():
            records = await AgentJournal.opened(self._host, self._invocation, UNDONE, self._journal.attempt)
        work: Work[ServicesT] = Work(self._host, records, self._idleness, self._graph, self._trail)
        for call in (await self.escapes()).undoing:
            calls, arguments = work._tool_calls(), revealed(call.arguments)
            result = await calls.call(call.tool, (), arguments, call_id=call.call_id, undoes=call.call_id)
            if result.failure is not None:
                problem = f"{call.tool} could not undo a call: {result.failure.kind}: {result.failure.message}"
                return {"undone": undone, "problem": problem, "tool": call.tool, "error": kind_of(result.failure)}
            undone.append(call.tool)
        return {"undone": undone, "problem": ""}

    def idempotency_key(self, name: str) -> str:
        """Return an idempotency key for other systems; a repeat of the invocation gets the same key.

        It stays the same if a migration renames the state. Raises PayloadError for a name that a store cannot keep.
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
        """Guard the block with a circuit breaker: it runs only if the breaker lets the call through.

        name: all calls of this home with the same name share a breaker. policy: by default the breaker opens for 300 s
        after 5 failures in a row. failures: exceptions that count as failures; any other counts as a success. Within
        the block, `fail(reason)` of the call reports a failure without an exception. In a step, use the breaker inside
        the step's function, so that a recorded result needs no permit.

        Entering raises BreakerOpenError, and PayloadError for a name that a store cannot keep.
        """
        call = GuardedCall(self._host.breakers, checked_key(name, "breaker"), policy, failures)
        async with self._idleness.busy(), call:
            yield call

    @overload
    async def sleep(self, name: str, delay: Delay, /) -> None: ...

    @overload
    async def sleep(self, delay: Delay, /) -> None: ...

    async def sleep(self, name: Delay, delay: Delay | None = None, /) -> None:
        """Wait by the runtime's clock: `sleep("cooling", "2d")` waits durably, `sleep(5)` pauses the function.

        name: unique among the invocation's waits. A wait with a name has a fixed end: a repeat of the invocation, such
        as after a crash, waits only for the rest. While the function does nothing else, the invocation is idle: it
        gives up its place under `Limits(invokes=)`, and its `timeout_s` is paused. A pause without a name is part of
        the function: it keeps its place, its `timeout_s` runs, and a repeat waits for the whole pause again.
        delay: "2d", "PT1H30M", a timedelta, or seconds.

        Raises ValueError for an invalid duration. A wait with a name also raises the errors of `step`, except the
        errors of the function and its result.
        """
        if delay is None:
            async with self._idleness.busy():
                await self._host.sleep(seconds_in(name))
            return
        wait_name, wait_s = checked_step(cast("str", name), "wait"), seconds_in(delay)
        self._claim(mark("sleep", wait_name), wait_name)
        async with self._idleness.busy():
            await self._waits.until_over(mark("sleep", wait_name), wait_s)

    @property
    def transfer_names(self) -> frozenset[str]:
        """Names of the tools of all transfers that the state declares."""
        declared = self._graph.nodes[self._invocation.state].transfers
        return frozenset() if declared is None else frozenset(target.tool for target in declared.targets)

    async def transfer_tools(self) -> TransferOffer:
        """Return the transfers that the state offers now: tools, a text for the model, and how many are left.

        There is a tool for each target whose guard allows the transfer; none if no transfer is left.
        """
        async with self._idleness.busy():
            return await self._desk().offer()

    async def transfer(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, call_id: str = ""
    ) -> TransferOutcome:
        """Choose one of the offered transfers by the name of its tool, and return the answer for the model.

        An accepted choice leaves the state and so ends this invocation. The first choice wins: later choices of the
        same run get an answer but have no effect, and so do unknown tools, withheld tools, and arguments that do not
        fit. The choice is recorded before it takes effect, so a repeat of the invocation gets the first outcome.

        call_id: the model's id of the call; by default its position among the choices of this attempt. With records
        that belong to the agent, a call that was accepted during an earlier stay in the state only gets its answer.
        Raises PayloadError, CallReusedError if the id belongs to another choice, InvocationOverError if the state has
        been left, and the errors of the turn.
        """
        async with self._idleness.busy():
            return await self._desk().choose(tool, arguments or {}, call_id)

    async def progress(self, payload: Any = None) -> None:
        """Send the agent the event `progress.invoke.<id>`. payload: as in `Agent.send`.

        Raises PayloadError, and InvocationOverError if the state has been left.
        """
        report = plain_payload(payload, "progress")
        async with self._idleness.busy():
            await self._host.progress(self._invocation, report)

    def publish(self, item: Any) -> None:
        """Pass the item to the current subscribers of the invoke, see `Runtime.stream`. It is not stored.

        It returns at once, so it is not awaited, and a step's plain function may call it from its thread.
        """
        self._host.publish(self._invocation, item)

    def _desk(self) -> TransferDesk:
        if self._transfers is None:
            from gatechart.hosting.transfers import TransferDesk  # noqa: PLC0415  as above

            self._transfers = TransferDesk(self._host, self._journal, self._graph)
        return self._transfers

    def _claim(self, record: str, name: str) -> None:
        """Mark the name of a record as used by this run of the function. Raises StepRepeatedError if it already is."""
        if record in self._names:
            raise StepRepeatedError(self.agent_id, self._invocation.invoke, name)
        self._names.add(record)

    async def _run_with_retries(self, step: Step, call: Callable[[], Any]) -> Any:
        failed = 0 if step.retry is None else await self._waits.tried(step.name)
        while True:
            try:
                return await _call_function(call)
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
        from gatechart.tools.retries import next_try_s  # noqa: PLC0415  as above

        draw = self._journal.draw(f"try {self._journal.attempt} {failed} {step.name}")
        return next_try_s(retry, failed, draw, error, step.retry_on, self.now)


def report_mail(now: datetime, invocation: Invocation, kind: str, payload: Mapping[str, Any]) -> Mail:
    """Return the mail `<kind>.invoke.<id>` from an invocation to its agent, valid while the state is active.

    It does not have a number yet.
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
    """Return the value of a measure. Raises PayloadError unless it is a finite number."""
    if is_number(number):
        return float(number)
    raise PayloadError(f"the measure {measure!r}", (f"it is {number!r}",), "a finite number, such as 0.5")


def _truncated(text: str, what: str) -> str:
    """Cut a text to the length that a trail keeps. Raises PayloadError if a store cannot keep it."""
    return checked_words(text[:LONGEST_TOLD] if isinstance(text, str) else text, what)


def _return_type(function: Callable[..., Any]) -> Any:
    """Return the function's annotated return type; Any if it has none."""
    function = unwrapped(function)
    annotated = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004
    try:
        return get_type_hints(annotated).get("return", Any)
    except (NameError, TypeError):
        return Any


async def _call_function(call: Callable[[], Any]) -> Any:
    function = unwrapped(call)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        return await call()
    result = await asyncio.to_thread(call_contained, call)
    return await result if inspect.isawaitable(result) else result
