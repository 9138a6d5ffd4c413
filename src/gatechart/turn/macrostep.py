"""The microsteps of a turn: choose transitions, apply their plans, and handle raised events.

Source: W3C SCXML, Appendix D, https://www.w3.org/TR/scxml/, `mainEventLoop`.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isawaitable, iscoroutine
from typing import Any

from gatechart.context import AgentContext
from gatechart.errors.event import MicrostepLimitError, PayloadError
from gatechart.errors.failures import is_failure
from gatechart.graph.callables import ActionCall, Ask
from gatechart.graph.compile import Edge
from gatechart.graph.graph import AnyGraph
from gatechart.handoff.conversation import ConversationContext
from gatechart.kernel.plan import Block, Done, Plan, plan_microstep
from gatechart.kernel.select import accepted_events, candidates, deferred_events, enabled
from gatechart.turn.arguments import plain_payload
from gatechart.turn.payloads import payload_data, with_data
from gatechart.turn.transfers import counted
from gatechart.turn.turn_context import (
    ERROR_EXECUTION,
    Failure,
    Raised,
    Turn,
    TurnLog,
    log_of,
    one_line,
    own_copy,
    refusal_raised,
    told,
)
from gatechart.values.agents import Event, GuardError, Refusal, RefusalReason, Refused, Snapshot, Status
from gatechart.values.fired_signals import FiredSignal
from gatechart.values.handoffs import OpenHandoff
from gatechart.values.names import AgentId, EventName, Memory, Payload, StateName
from gatechart.values.trail import NO_TRAIL, Trail
from gatechart.values.transfers import TransferCounts


class Macrostep:
    """The microsteps of one turn, until the configuration is stable."""

    __slots__ = (
        "_has_eventless",
        "_raised",
        "attended",
        "configuration",
        "context",
        "event",
        "explanations",
        "fired",
        "graph",
        "guard_errors",
        "is_final",
        "left",
        "log",
        "memory",
        "plans",
        "taken",
        "trail",
        "transfers",
        "turn",
    )

    def __init__(
        self,
        graph: AnyGraph,
        configuration: tuple[StateName, ...],
        memory: Memory,
        context: Any,
        turn: Turn,
        transfers: TransferCounts = (),
        trail: Trail = NO_TRAIL,
    ) -> None:
        self.graph = graph
        self.configuration = configuration
        self.memory = memory
        self.context = context
        self.turn = turn
        self.transfers = transfers  # counts of the graph's transfers so far
        self.trail = trail
        self.fired: FiredSignal | None = None  # signal that fired at the end of the turn
        self.event = turn.event  # the event of the current microstep
        self.plans: list[Plan] = []  # plans followed so far
        self.taken: list[str] = []
        self.guard_errors: list[GuardError] = []
        self.explanations: list[str] = []  # given by guards that returned false
        self.is_final = False
        self.left: list[StateName] = []  # states whose timers and invokes end with the turn
        self.attended: list[StateName] = []  # states whose timers and invokes start with the turn
        self._has_eventless = False  # whether the current configuration has eventless transitions
        self.log = log_of(turn)
        self.log.selectors = graph.selectors
        self._raised = self.log.raised

    @property
    def failed_in(self) -> StateName:
        """Final state that was reached, if it is declared a failure; otherwise empty."""
        ends = self.configuration if self.is_final else ()
        return next((leaf for leaf in ends if self.graph.nodes[leaf].failed), "")

    @property
    def status(self) -> Status:
        """Status of the agent after the turn."""
        if not self.is_final:
            return Status.ACTIVE
        return Status.FAILED if self.failed_in else Status.DONE

    async def react(self) -> None:
        """Take the transitions that the turn's event enables, then eventless ones and raised events."""
        await self._step(self.event.name)
        if self._raised or self._has_eventless:
            await self._settle()

    async def take(self, plan: Plan) -> None:
        """Take the planned transitions, then eventless ones and raised events."""
        self._note_taken(plan)
        await self.enter(plan)

    async def enter(self, plan: Plan) -> None:
        """Enter the planned states, then take eventless transitions and handle raised events."""
        await self._follow(plan)
        if self._raised or self._has_eventless:
            await self._settle()

    async def tell(self, refusal: Refusal) -> bool:
        """Take the transitions for the refusal of the turn's event, and return whether there was one."""
        self._raised.append(refusal_raised(self.turn.event, refusal))
        await self._settle()
        return bool(self.taken)

    async def answer(self, signal: Event) -> bool:
        """Take the transitions for a signal, then follow-up transitions. Return whether the signal had one."""
        self.event = self.log.signal = signal
        is_taken = await self._step(signal.name, is_raised=True)
        await self._settle()
        return is_taken

    def result(self) -> Payload:
        """Return the output of the final state; empty if the agent ended in several regions.

        Raises ActionFailedError if the state's `data` fails.
        """
        leaf = self.graph.nodes[self.configuration[0]]
        if leaf.data is None or len(self.configuration) > 1:
            return {}
        try:
            self.log.active = self._active_states()
            return plain_payload(self._data(leaf.data), self.event.name)
        except BaseException as error:
            if not is_failure(error):
                raise
            failure = Failure("data", f"final state {leaf.name}", self.event, error, undoes=True)
            raise failure.failed(self.turn.agent_id, self.turn.event.name) from error

    def refusal(self) -> Refusal:
        """Return why no transition was taken."""
        name = self.turn.event.name
        asked = [edge for edges in candidates(self.graph, self.configuration, name) for edge in edges]
        reason = RefusalReason.NO_TRANSITION
        if self.guard_errors:
            reason = RefusalReason.GUARD_RAISED
        elif asked:
            reason = RefusalReason.GUARDS_SAID_NO
        accepts = accepted_events(self.graph, self.configuration)
        guards = tuple(dict.fromkeys(edge.ask.name for edge in asked if edge.ask))
        explanations = tuple(dict.fromkeys(self.explanations))
        defers = deferred_events(self.graph, self.configuration)
        return Refusal(reason, self.configuration, accepts, guards, explanations=explanations, defers=defers)

    async def _settle(self) -> None:
        """Take eventless transitions first, then raised events, oldest first, until there are neither."""
        while not self.is_final:
            if self._has_eventless and await self._step(None):
                continue
            if not self._raised:
                return
            raised = self._raised.popleft()
            self.event = raised.event
            if self.graph.event_types and not self._is_read(raised):
                continue
            if not await self._step(self.event.name, is_raised=True):
                self._check(raised)
                self._has_eventless = bool(candidates(self.graph, self.configuration, None))  # also if nothing is taken
        for raised in self._raised:  # no transition handles events in a final state
            self._check(raised)

    def _is_read(self, raised: Raised) -> bool:
        """Read the payload of a raised event; if it does not fit, the action that raised it has failed."""
        event = raised.event
        declared = self.graph.event_types.get(event.name)
        if declared is None or declared.takes is None:
            return True
        try:
            self.event = with_data(event, payload_data(self.graph, event.name, event.payload))
        except PayloadError as error:
            failure = Failure("raise_event", f"event {event.name}", self.turn.event, error, undoes=True)
            self._raised.append(failure.raised())
            return False
        return True

    def _check(self, unhandled: Raised) -> None:
        """Undo the turn if no transition handled an action's exception."""
        failure = unhandled.failure
        if failure is not None and failure.undoes:
            raise failure.failed(self.turn.agent_id, self.turn.event.name)

    async def _step(self, name: EventName | None, *, is_raised: bool = False) -> bool:
        """Take one microstep; return whether there was a transition to take."""
        groups = candidates(self.graph, self.configuration, name, is_raised=is_raised)
        is_usual = len(groups) == 1 and groups[0][0].ask is None  # as in a flat chart
        edges = groups[0][:1] if is_usual else enabled(self.graph, groups, name, self._first)
        if edges:
            plan = plan_microstep(self.graph, self.configuration, self.memory, edges)
            self._note_taken(plan)
            await self._follow(plan)
        return bool(edges)

    def _first(self, edges: Sequence[Edge]) -> Edge | None:
        for edge in edges:
            ask = edge.ask
            if ask is None:
                return edge
            try:
                answer = self._answer(ask)
                if agrees(answer, ask.name):
                    return edge
                if isinstance(answer, Refused):
                    self.explanations.append(one_line(answer.reason))
            except BaseException as error:
                if not is_failure(error):
                    raise
                self._note_guard(edge, ask.name, error)
        return None

    def _answer(self, ask: Ask) -> object:
        if ask.takes_counts:
            return ask.function(self.transfers)
        if ask.takes_configuration:
            return ask.function(self.context, self.event, self._active_states())
        return ask.function(self.context, self.event)

    def _active_states(self) -> frozenset[StateName]:
        return active_states(self.graph, self.configuration)

    def _note_guard(self, edge: Edge, guard: str, error: BaseException) -> None:
        self.guard_errors.append(GuardError(guard, edge.label, told(error)))
        if self.event.name != ERROR_EXECUTION:  # a handler's own guard must not trigger the handler again
            failure = Failure(guard, f"guard of {edge.label}", self.event, error, undoes=False)
            self._raised.append(failure.raised())

    def _note_taken(self, plan: Plan) -> None:
        self.taken += plan.labels
        if len(self.taken) > self.graph.max_microsteps:
            cycle = tuple(self.taken[-_period(self.taken) - 1 :])
            raise MicrostepLimitError(self.turn.agent_id, self.turn.event.name, self.graph.max_microsteps, cycle)

    async def _follow(self, plan: Plan) -> None:
        self.plans.append(plan)
        self.configuration = plan.configuration
        self.memory = plan.memory
        self.is_final = plan.is_final
        self._has_eventless = plan.has_eventless
        if plan.left or plan.attended:
            self._attend(plan)
        if self.graph.choosing:
            self.transfers = counted(self.graph, self.transfers, plan, self.event, self.explanations)
        for deed in plan.deeds:
            if isinstance(deed, Done):
                self._raise_done(deed)
            else:
                await self._run(deed)

    async def _run(self, block: Block) -> None:
        self.log.active = block.active
        for step in block.steps:
            try:
                if step.takes_turn:
                    result = step.function(self.context, self.event, self.turn)
                else:
                    result = step.function(self.context, self.event)
                if step.is_async:
                    await result
                elif result is not None:
                    _refuse_awaitable(step.name, result, "declare it with async def")
            except BaseException as error:
                # SystemExit, too, is a failure of the action; the cancellation of this task is not.
                if not is_failure(error):
                    raise
                self._note_action(step, block, error)
                return

    def _attend(self, plan: Plan) -> None:
        """Record which states start and end. A state that is entered and left within the turn does neither."""
        passed = {state for state in plan.left if state in self.attended}
        self.left += [state for state in plan.left if state not in passed]
        self.attended = [state for state in self.attended if state not in passed] + list(plan.attended)

    def _note_action(self, step: ActionCall, block: Block, error: BaseException) -> None:
        self._raised.append(Failure(step.name, block.place, self.event, error, undoes=True).raised())

    def _raise_done(self, done: Done) -> None:
        try:
            self.log.active = done.active
            payload = plain_payload(self._data(done.data), done.event) if done.data else {}
        except BaseException as error:
            if not is_failure(error):
                raise
            failure = Failure("data", done.event, self.event, error, undoes=True)
            self._raised.append(failure.raised())
            payload = {}
        self.turn.raise_event(done.event, payload)

    def _data(self, data: ActionCall) -> Any:
        """Return the output of a final state; like actions, its function may take the turn."""
        return data.function(self.context, self.event, *([self.turn] if data.takes_turn else []))


def macrostep_of(
    graph: AnyGraph,
    previous: Snapshot | None,
    agent_id: AgentId,
    context: AgentContext | None,
    event: Event,
    handoffs: tuple[OpenHandoff, ...],
    services: Any,
    data: Any = None,
) -> Macrostep:
    """Prepare the microsteps of a turn.

    previous: None for an agent's first turn. context: None if the turn runs no application code, so that the event need
        not be copied. data: the event's payload, parsed as its declared type.
    """
    event = event if context is None else own_copy(event)
    event = event if data is None else with_data(event, data)
    if previous is None:
        turn = Turn(agent_id, 1, event, services, graph.name, handoffs, context)
        use_in_turn(context, turn)
        return Macrostep(graph, (), (), context, turn)
    leaves, version = previous.configuration, previous.version + 1
    turn = Turn(agent_id, version, event, services, graph.name, handoffs, context, TurnLog(leaves))
    use_in_turn(context, turn)
    return Macrostep(graph, leaves, previous.memory, context, turn, previous.transfers, previous.trail)


def use_in_turn(context: AgentContext | None, turn: Turn) -> None:
    """Set the turn of a conversation. The ids of its new messages follow from it. Other contexts have no turn."""
    if isinstance(context, ConversationContext):
        context.begin_turn(f"{turn.agent_id}\0{turn.version}")


def _period(taken: Sequence[str]) -> int:
    """Count the transitions between the last one and its previous occurrence."""
    return next((step for step in range(1, len(taken)) if taken[-1 - step] == taken[-1]), len(taken))


def active_states(graph: AnyGraph, configuration: Sequence[StateName]) -> frozenset[StateName]:
    """Return the active leaves with the states around them, without the root."""
    nodes = graph.nodes
    return frozenset(state for leaf in configuration for state in (leaf, *nodes[leaf].ancestors[:-1]))


def agrees(answer: object, guard: str) -> bool:
    """Return whether a guard agrees. Raises TypeError if it returned an awaitable, which is neither true nor false."""
    if answer is not True and answer is not False:
        _refuse_awaitable(guard, answer, "a guard must be a plain function")
    return bool(answer)


def _refuse_awaitable(function: str, result: object, remedy: str) -> None:
    """Raise TypeError for an awaitable that a plain function returned, because it would never be awaited."""
    if isawaitable(result):
        if iscoroutine(result):
            result.close()
        raise TypeError(f"{function} returned an awaitable; {remedy}")
