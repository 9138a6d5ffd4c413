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

if TYPE_CHECKING:  # functions without tool calls and transfers do not load these modules
    from gatechart.hosting.tool_calls import ToolCalls
    from gatechart.hosting.transfers import TransferDesk, TransferOutcome
    from gatechart.tools.definition import AnyTool, Tool
    from gatechart.tools.results import ToolResult
    from gatechart.tools.retries import RetryOn
    from gatechart.turn.transfer_offer import TransferOffer

UNDONE: Final = mark("undone")
"""The journal of an agent that records the calls that undo others."""

ServicesT = TypeVar("ServicesT", default=Any)
T = TypeVar("T")
P = ParamSpec("P")


@value
class Step:
    """The options of a recorded step, for `Work.step`, which passes its keywords to the function.

    retry: how to retry a function that raises; without it the first exception is raised. If an exception has an HTTP
    response with `Retry-After`, the wait is at least that long; if it asks for more than a day, there is no retry.
    retry_on: the exceptions to retry: their classes, or a function that returns whether to retry.
    returns: the type of the result, if the function's return annotation does not name it.
    """

    name: str  # unique in the invocation
    retry: Retry | None = None
    retry_on: RetryOn = Exception
    returns: Any = None


class Work(Generic[ServicesT]):
    """The tools of one invocation. The function receives it as its second argument.

    Operations that wait are awaited: a step, a sleep, a progress report, which is durable when it returns. The others
    return at once. `work: Work[Services]` declares the type of `work.services` for type checkers.
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

        journal: the records of earlier attempts and of this one. idleness: notified when the function works or waits.
        graph: of the agent. trail: of the agent; None if the graph has no signals.
        """
        self._host = host
        self._graph = graph
        self._trail = trail
        self._calls: ToolCalls | None = None  # created by the first call
        self._transfers: TransferDesk | None = None  # created by the first use of transfers
        self._journal = journal
        self._idleness = idleness
        self._waits = Waits(host, journal, idleness)
        self._invocation = journal.invocation
        self._names: set[str] = set()

    async def for_agent(self, journal: str) -> Work[ServicesT]:
        """Return the same tools with records that belong to the agent instead of this invocation.

        journal: the name of the records. They stay when the agent leaves the state. Later invocations of the agent that
        open the same journal find them, and do not repeat the recorded steps. Erasing the agent deletes them.

        Raises PayloadError for a name that a store cannot keep, InvocationOverError if the state has been left.
        """
        name = checked_step(journal, "journal")
        async with self._idleness.busy():
            if self._trail is not None:
                await self._trail.open()
            records = await AgentJournal.opened(self._host, self._invocation, name, self._journal.attempt)
        return Work(self._host, records, self._idleness, self._graph, self._trail)

    @property
    def journal(self) -> InvokeJournal:
        """The journal that holds the records, for libraries that build on this class."""
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

        step: its name, unique in the invocation, or a Step, which can also define retries. All other arguments are
        passed to the function. function: async, or plain and then run in a separate thread. Results are stored as JSON
        and read back with the type in the function's annotation or the Step, or as plain JSON values without one.

        Raises PayloadError for a name that a store cannot keep or that starts with `gatechart.`, StepRepeatedError for
        a name that was used before, StepResultError for a result that cannot be stored, InvocationOverError if the
        state has been left, and the exceptions of the function.
        """
        options = step if isinstance(step, Step) else Step(step)
        name = options.name
        self._note(checked_step(name), name)
        kept = KeptResult(self.agent_id, name, _returned(function) if options.returns is None else options.returns)
        text = self._journal.recorded(name)
        if text is None:
            async with self._idleness.busy():
                result = await self._result_of(options, partial(function, *args, **arguments))
                text = await self._journal.record(name, kept.written(result))
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

        tool: its name, or the tool itself, for its types. call_id: the identity of the call, such as a model's call id;
        by default the tool, its arguments, and the number of equal calls before it in this run of the function. A
        repeat of the invocation gets the recorded result. If the process ended during the call of a tool that must not
        be repeated, the tool is not called again, and the result is the failure OUTCOME_UNKNOWN.

        Failures are results, too, such as a value that a store cannot keep; `unwrap()` raises them. Raises
        NoToolBoxError, CallReusedError for a call_id that was used with another tool or arguments, PayloadError for a
        call_id that a store cannot keep, and InvocationOverError if the state has been left.
        """
        call_id = arguments.pop("call_id", None)
        name = tool if isinstance(tool, str) else tool.name
        return await self._tool_calls().call(name, args, arguments, call_id=call_id)

    async def call_with(
        self, tool: str | AnyTool, arguments: Mapping[str, Any], /, *, call_id: str | None = None
    ) -> ToolResult[Any]:
        """Call a tool as `call` does, with its arguments as a mapping.

        Only this method can pass an argument named `call_id`.
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
        """Report the value of a measure to the signals of the agent's graph, such as a model's confidence.

        The value is durable when this returns, and a repeat of the invocation does not report it again. If it makes a
        signal fire, this returns once the agent has answered. Without signals nothing is written.

        Raises PayloadError for a name that a store cannot keep and for a value that is not a finite number,
        InvocationOverError if the state has been left.
        """
        await self._tell(Noted(checked_key(measure, "measure"), _finite(measure, number)))

    async def reasoned(self, action: str, outcome: str, worker: str = "", *, name: str = "") -> None:
        """Report a reasoning step to the signals of the agent's graph. Otherwise as `note`.

        action: the intended action; outcome: its result; worker: the assignee of the action. Each is cut to 500
        characters. name: identifies the step in a repeat; by default its content and the number of equal steps before.
        """
        texts = _kept(action, "action"), _kept(outcome, "outcome"), _kept(worker, "worker")
        await self._tell(Reasoned(*texts), checked_key(name, "name") if name else "")

    async def _tell(self, entry: Noted | Reasoned, name: str = "") -> None:
        if self._trail is not None:
            async with self._idleness.busy():
                await self._trail.tell(entry, name)

    async def escapes(self) -> Escapes:
        """Return the agent's record of its escapes, once it has taken any escape that it requested.

        Raises InvocationOverError if the state has been left, also by the escape.
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
        """Return the hint of an escape for the next decision, which describes the loop that the agent is stuck in.

        Empty without a hint. It stays until the agent makes progress or takes another escape. Raises as `escapes` does.
        """
        return (await self.escapes()).nudge

    async def take_back(self) -> dict[str, Any]:
        """Undo the calls that the agent rolls back over, newest first, until one cannot be undone.

        Returns the tools called to undo them, and the problem of the tool that failed. For the state that escape plans
        add. Each call is recorded with the agent, so that it is never repeated.
        """
        undone: list[str] = []
        async with self._idleness.busy():
            records = await AgentJournal.opened(self._host, self._invocation, UNDONE, self._journal.attempt)
        talk: Work[ServicesT] = Work(self._host, records, self._idleness, self._graph, self._trail)
        for undo in (await self.escapes()).undoing:
            calls, arguments = talk._tool_calls(), revealed(undo.arguments)
            result = await calls.call(undo.tool, (), arguments, call_id=undo.call_id, undoes=undo.call_id)
            if result.failure is not None:
                problem = f"{undo.tool} could not undo a call: {result.failure.kind}: {result.failure.message}"
                return {"undone": undone, "problem": problem, "tool": undo.tool, "error": kind_of(result.failure)}
            undone.append(undo.tool)
        return {"undone": undone, "problem": ""}

    def idempotency_key(self, name: str) -> str:
        """Return a key for outside systems that act once per key. A repeat of the invocation gets the same key.

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
        """Guard the call inside the block by a circuit breaker.

        name: all calls of this home with the same name share a breaker. policy: by default the breaker opens for 300 s
        after 5 failures in a row. failures: the exceptions that count as failures; any other one counts as a success of
        the service. Inside the block, `fail(reason)` of the call reports a failure without an exception. In a step, put
        the block inside the step's function, so that a recorded result needs no permit.

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
        """Wait by the runtime's clock: `sleep("cooling", "2d")` durably, `sleep(5)` as a pause of the function.

        name: unique among the invocation's waits. A named wait has a fixed end: a repeat of the invocation, also after
        a crash, waits only for the rest. While the function does nothing else, the invocation is idle: it does not
        count against `Limits(invokes=)`, and its `timeout_s` is paused. A pause without a name is part of the function:
        it counts against both, and a repeat restarts it. delay: "2d", "PT1H30M", a timedelta, or seconds.

        Raises ValueError for an invalid duration. With a name, raises as `step` does.
        """
        if delay is None:
            async with self._idleness.busy():
                await self._host.sleep(seconds_in(name))
            return
        wait_name, wait_s = checked_step(cast("str", name), "wait"), seconds_in(delay)
        self._note(mark("sleep", wait_name), wait_name)
        async with self._idleness.busy():
            await self._waits.until_over(mark("sleep", wait_name), wait_s)

    @property
    def transfer_names(self) -> frozenset[str]:
        """Names of the tools of all transfers that the state declares."""
        declared = self._graph.nodes[self._invocation.state].transfers
        return frozenset() if declared is None else frozenset(target.tool for target in declared.targets)

    async def transfer_tools(self) -> TransferOffer:
        """Return the transfers that the state offers now: tools, the text for the model, and the transfers left.

        Only targets whose guards hold have a tool. There are no tools if no transfer is left.
        """
        async with self._idleness.busy():
            return await self._desk().offer()

    async def transfer(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, call_id: str = ""
    ) -> TransferOutcome:
        """Choose one of the offered transfers by the name of its tool, and return the answer for the model.

        A choice that takes effect leaves the state and so ends this invocation. The first one wins. Later choices of
        the same run get an answer and change nothing; the same holds for unknown tools, withheld ones, and arguments
        that do not fit. The choice is recorded before it takes effect, so a repeat of the invocation gets the first
        outcome.

        call_id: the model's id of the call; by default the number of the choice in this attempt. With records that
        belong to the agent, a choice from an earlier entry of the state only gets an answer. Raises PayloadError,
        CallReusedError if the id belongs to another choice, InvocationOverError if the state has been left, and the
        errors of the turn.
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
        """Send the item to the invoke's current subscribers, see `Runtime.stream`. It is not stored.

        It does not block, so it is not awaited, and the plain function of a step may call it in its thread.
        """
        self._host.publish(self._invocation, item)

    def _desk(self) -> TransferDesk:
        if self._transfers is None:
            from gatechart.hosting.transfers import TransferDesk  # noqa: PLC0415  see above

            self._transfers = TransferDesk(self._host, self._journal, self._graph)
        return self._transfers

    def _note(self, record: str, name: str) -> None:
        """Reserve the name of a record in this run of the function. Raises StepRepeatedError if it is in use."""
        if record in self._names:
            raise StepRepeatedError(self.agent_id, self._invocation.invoke, name)
        self._names.add(record)

    async def _result_of(self, step: Step, call: Callable[[], Any]) -> Any:
        """Return the result of a step's function, with its retries."""
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

    The mail has no number yet.
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
    """Return the value of a measure. Raises PayloadError if it is not a finite number."""
    if is_number(number):
        return float(number)
    raise PayloadError(f"the measure {measure!r}", (f"it is {number!r}",), "a finite number, such as 0.5")


def _kept(text: str, what: str) -> str:
    """Return a text, cut to the length that a trail keeps. Raises PayloadError if a store cannot keep it."""
    return checked_words(text[:LONGEST_TOLD] if isinstance(text, str) else text, what)


def _returned(function: Callable[..., Any]) -> Any:
    """Return the function's annotated return type; Any without an annotation."""
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
