"""The turn of an escape: try the strategies for a signal in order, until one has an open route."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter_ns
from typing import Any, Final

from gatechart.context import AgentContext, compact_json, new_context, values_of
from gatechart.errors.event import PayloadError
from gatechart.errors.failures import is_failure
from gatechart.escape.attempts import Tactic, after_try, next_tries, without_answer, without_way
from gatechart.escape.calls import CallsMade
from gatechart.escape.restarts import restart_tactic
from gatechart.escape.scene import Scene
from gatechart.graph.compile import ROOT, Edge
from gatechart.graph.definition import EntryPoint
from gatechart.graph.escape import UNDOING, Strategy
from gatechart.graph.graph import AnyGraph
from gatechart.kernel.plan import plan_entry, plan_microstep
from gatechart.turn.alerts import alert_effects
from gatechart.turn.arguments import fit_payload
from gatechart.turn.conversation_cut import cut_out
from gatechart.turn.entities import with_remedy
from gatechart.turn.escape_requests import answer_to
from gatechart.turn.handoff_turns import unmoved
from gatechart.turn.lessons import attempt_lesson, judgements, life_of
from gatechart.turn.macrostep import Macrostep, macrostep_of
from gatechart.turn.noticing import begin_anew, begun_anew, with_timer
from gatechart.turn.resumption import resumption, route_json
from gatechart.turn.rollback import GoingBack, rolled_back
from gatechart.turn.talk import states_with_talk
from gatechart.turn.turn_context import one_line
from gatechart.turn.turn_context import told as told_error
from gatechart.turn.turns import ask_entry_guard, beginning_context, committed_context, entry_fields, recorded
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.alerts import AlertMessage
from gatechart.values.breakers import BreakerState
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import CancelAll, Effect, Send
from gatechart.values.escapes import (
    ESCAPE_DUE,
    MOST_KEYS,
    AwaitBreakers,
    BreakerWait,
    CutBlock,
    EnterAt,
    Escapes,
    GoBack,
    NoWay,
    SendAlert,
    SignalFinding,
    SwitchTo,
    TakeTransition,
    TellModel,
    Undoing,
    Way,
)
from gatechart.values.framework import WATCHDOG_AGENT
from gatechart.values.frozen import replaced
from gatechart.values.mail import Mail
from gatechart.values.names import Payload, StateName
from gatechart.values.texts import shortened

LONGEST_TITLE: Final = 300  # characters of an alert's line

_EVIDENCE: Final = ("signal", "reason", "evidence", "others")
_SOURCE: Final = ("state", "at")  # whose invoke reported it, or where to restart; optional


def asks_for_way_out(mail: Mail | Event, agent_id: str) -> bool:
    """Return whether mail asks the home for an escape. Only the agent itself and the watchdog may ask."""
    name = mail.event if isinstance(mail, Mail) else mail.name
    return name == ESCAPE_DUE and mail.sender in (agent_id, WATCHDOG_AGENT)


def tactic_of(scene: Scene, services: Any = None) -> Tactic | None:
    """Return the tactic for a scene; None if no escape is due. services: the home's services."""
    if scene.snapshot.status is not Status.ACTIVE or not scene.finding.is_due:
        return None
    answer = restart_tactic(scene) or answer_to(scene.graph, scene.leaves, scene.report, services)
    return answer or without_answer(scene)


async def take_way_out(scene: Scene, tactic: Tactic, go_back: GoingBack, services: Any = None) -> TurnRecord:
    """Try the next strategies. Return the turn of the first open route, with the skipped strategies.

    If no route is open, the turn only records why.
    """
    attempt = _Attempt(scene, tactic, go_back, services)
    if "goes_on" in scene.event.payload:
        turn = await attempt.resume(tactic)
        if turn is not None:
            return turn  # the turn that started to undo calls sent the lesson of this attempt
    for attempted in next_tries(tactic, scene, scene.snapshot.trail.escapes):
        if attempted.strategy in attempt.strategies:  # its calls could not be undone
            continue
        attempt.strategies.append(attempted.strategy)
        if attempted.why:
            attempt.pass_over(attempted.strategy, attempted.why)
            attempt.is_waiting |= attempted.is_waiting
            continue
        turn = await attempt.first_open(attempted.strategy)
        if turn is not None:
            has_lesson = "goes_on" in scene.event.payload  # the turn that started to undo calls sent it
            return attempt.with_news(turn, *(() if has_lesson else (attempt_lesson(scene),)))
    return attempt.with_news(attempt.without_escape())


class _Attempt:
    """One attempt to escape."""

    def __init__(self, scene: Scene, tactic: Tactic, go_back: GoingBack, services: Any) -> None:
        self.scene = scene
        self.plan = tactic.plan
        self.strategies: list[Strategy] = []  # tried or skipped
        self._go_back = go_back
        self._services = services
        self._passed: list[Payload] = []  # skipped strategies and routes, each with the reason
        self.calls = CallsMade(())  # calls that the current route would roll back past
        self.is_waiting = False  # whether a skipped strategy can be tried soon
        self._since = 0  # version after which `calls` began
        self._to_alert: list[SendAlert] = []
        self._alerting: list[str] = []  # names of the strategies that alert

    def pass_over(self, strategy: Strategy, why: str) -> None:
        """Record why a strategy, or one of its routes, is skipped."""
        self._passed.append({"strategy": strategy.name, "why": why})

    @property
    def number(self) -> int:
        """The number of the attempt, now or once its calls are undone."""
        return self.scene.snapshot.trail.escapes.count + 1

    def with_news(self, turn: TurnRecord, *lessons: Send) -> TurnRecord:
        """Return the turn with the alerts of the attempt and these lessons."""
        return replaced(turn, effects=(*turn.effects, *self._alerts(), *lessons))

    def _alerts(self) -> Iterator[Send]:
        """Yield the alerts of the attempt, also if no route was open. A repeated attempt uses the same ids."""
        scene = self.scene
        agent = scene.snapshot
        details = {name: scene.evidence[name] for name in ("signal", "reason", "evidence")}
        for request in self._to_alert:
            alert = AlertMessage(
                f"escape:{life_of(agent)}:{scene.finding.number}:{self.number}:{request.sink}",
                "escape",
                shortened(one_line(request.text), LONGEST_TITLE),
                scene.event.time,
                agent_id=agent.agent_id,
                graph=scene.graph.name,
                details=details,
            )
            yield from alert_effects(request.sink, alert)

    async def first_open(self, strategy: Strategy) -> TurnRecord | None:
        """Return the turn of the first open route of a strategy; None if every route is closed."""
        ways = self._ways(strategy)
        while True:
            try:
                way = next(ways, None)
                turn = None if way is None else await self._follow_way(strategy, way)
            except BaseException as error:
                if not is_failure(error):
                    raise
                turn = told_error(error)
            if not isinstance(turn, str):
                return turn
            if turn:
                self.pass_over(strategy, turn)

    def _ways(self, strategy: Strategy) -> Iterator[Way]:
        """Yield the routes of a strategy. As a generator, it ends once the strategy raises."""
        yield from strategy.ways(self.scene)

    async def resume(self, tactic: Tactic) -> TurnRecord | None:
        """Return the turn of a rollback whose calls have been undone; None if undoing failed or the route is closed."""
        request = resumption(self.scene.event.payload)
        name = request.stored_route.strategy
        strategy = next(
            (candidate for candidate in (*tactic.strategies, tactic.last) if candidate and candidate.name == name), None
        )
        if strategy is None:
            return None
        self.strategies.append(strategy)
        turn: TurnRecord | str = request.problem
        try:
            turn = turn or await self._move(strategy, request.stored_route.route(), is_undone=True)
        except BaseException as error:
            if not is_failure(error):
                raise
            turn = told_error(error)
        if isinstance(turn, TurnRecord):
            return turn
        self.pass_over(strategy, turn)
        return None

    def without_escape(self) -> TurnRecord:
        """Return the turn that records why no route is open. It resets the trail, so that the signal can fire again.

        If the watchdog reported the agent as stuck, this turn does not count as activity, so it is not reported again.
        """
        before, finding = self.scene.snapshot, self._alerted
        how = "no way is open" if self.strategies else "no plan answers it any more"
        turn = self._stay_put(self._event("escape.none", how))
        if self.scene.event.sender == WATCHDOG_AGENT and not self.is_waiting:
            finding = replaced(finding, vain_at=before.version + 1, quiet_since=before.changed)
        return _with_escapes(turn, without_way(before.trail.escapes, finding))

    @property
    def _alerted(self) -> SignalFinding:
        """The finding with alerting strategies marked as tried, for turns that do not record the attempt."""
        finding = self.scene.finding
        return replaced(finding, tried=tuple(dict.fromkeys((*finding.tried, *self._alerting))))

    async def _follow_way(self, strategy: Strategy, way: Way) -> TurnRecord | str:
        """Return the turn of a route, or why it is closed; an empty text if the route only sends an alert."""
        match way:
            case NoWay(why):
                return why
            case SwitchTo() | AwaitBreakers() | TellModel() | CutBlock() if self.scene.is_undoing:
                return "the agent has left the state where that would help"
            case SendAlert():
                self._to_alert.append(way)
                self._alerting.append(strategy.name)
                return ""
            case SwitchTo(tool, alternative):
                return self._stay(strategy, f"{alternative} in place of {tool}", switched=(tool, alternative))
            case AwaitBreakers(awaited):
                return self._stay(strategy, _describe_awaited(awaited), awaited=awaited)
            case TellModel(text):
                return self._stay(strategy, "the model is told", nudge=text)
            case _:
                return await self._move(strategy, way)

    async def _move(
        self, strategy: Strategy, way: TakeTransition | EnterAt | GoBack | CutBlock, *, is_undone: bool = False
    ) -> TurnRecord | str:
        if isinstance(way, GoBack) or (isinstance(way, EnterAt) and way.is_fresh):
            self.calls = await self._calls_since(way)
            if not is_undone and (instead := await self._undo_before(strategy, way)):
                return instead
        match way:
            case TakeTransition(event):
                return await self._by_transition(strategy, event or strategy.event)
            case EnterAt():
                return await self._by_entry(strategy, way)
            case GoBack(version, keep):
                return await self._go_back_to(strategy, version, keep)
            case CutBlock():
                return await self._cut(strategy, way)
            case _:  # from an application's strategy
                return f"{way!r} is not an escape route; yield one from gatechart.values, such as EnterAt(...)"

    async def _calls_since(self, way: GoBack | EnterAt) -> CallsMade:
        """Return the calls that a route would roll back past. Invokes that were running at the target restart."""
        if isinstance(way, EnterAt):
            self._since = 0
            return self.scene.calls_since(0)
        entered = (await self._go_back(way.version)).entered
        self._since = min((way.version, *(epoch - 1 for _, epoch in entered)))
        return self.scene.calls_since(way.version, entered)

    async def _undo_before(self, strategy: Strategy, way: GoBack | EnterAt) -> TurnRecord | str:
        """Return why a rollback is closed, or the turn that undoes calls first; an empty text if it is open."""
        keeper = self.scene.kept_by(self._since, self.calls, way.allow)
        if keeper or not self.calls.undoing:
            return keeper
        return await self._undo_first(strategy, way, self.calls.undoing)

    async def _undo_first(
        self, strategy: Strategy, way: GoBack | EnterAt, undoing: tuple[Undoing, ...]
    ) -> TurnRecord | str:
        """Return the turn that enters the state `UNDOING`, which undoes calls. No exit action runs."""
        scene, before = self.scene, self.scene.snapshot
        if UNDOING not in scene.graph.escape_states:
            return f"{strategy.name} does not declare goes_back, so the graph has no state for undoing calls"
        if before.handoffs:
            return f"handoff {before.handoffs[-1].id} is open, so calls cannot be undone first"
        how = f"takes back {len(undoing)} calls first"
        macrostep = self._macrostep(strategy, how)
        await self._enter_fresh(macrostep, UNDOING)
        macrostep.taken.insert(0, f"{strategy.event} --> {UNDOING}")
        signal_facts = {name: scene.evidence[name] for name in (*_EVIDENCE, *_SOURCE) if name in scene.evidence}
        then = {
            **signal_facts,
            "finding": scene.finding.number,
            "leaves": [*scene.leaves],
            "goes_on": route_json(strategy.name, way),
        }
        waiting = before.trail.escapes.with_finding(replaced(self._alerted, is_due=False))
        begin_anew(macrostep, before.configuration, replaced(waiting, undoing=undoing, then=then))
        return recorded(macrostep, before, macrostep.turn.event, perf_counter_ns(), before=(CancelAll(),))

    async def _enter_fresh(self, macrostep: Macrostep, state: StateName) -> None:
        """Enter a state as a new agent would. No exit action runs."""
        macrostep.left = [state_left for state_left, _ in self.scene.snapshot.entered]
        macrostep.trail = replaced(macrostep.trail, is_timed=False)
        await macrostep.enter(plan_entry(self.scene.graph, (state,)))

    async def _by_transition(self, strategy: Strategy, name: str) -> TurnRecord | str:
        macrostep = self._macrostep(strategy, f"by a transition for {name}", name)
        await macrostep.react()
        if not macrostep.taken:
            return f"no transition for {name} is enabled"
        return self._record_move(macrostep, self._escapes_after(f"by a transition for {name}"))

    async def _by_entry(self, strategy: Strategy, way: EnterAt) -> TurnRecord | str:
        graph, before = self.scene.graph, self.scene.snapshot
        entry = graph.entry_point(way.entry_point)
        if way.is_fresh and before.handoffs:
            return f"handoff {before.handoffs[-1].id} is open, and a restart would drop it"
        how = f"{'begins anew' if way.is_fresh else 'enters'} at {entry.name}"
        payload = fit_payload(graph.name, entry, way.payload)
        fields = entry_fields(graph, entry, payload)
        macrostep = self._macrostep(strategy, how)
        context: AgentContext = macrostep.context
        kept = values_of(context)
        if way.is_fresh:
            try:
                context = beginning_context(graph, entry, {**fields, **{name: kept[name] for name in way.keep}})
            except PayloadError as error:
                raise with_remedy(error, graph, entry, payload) from error.__cause__
        else:
            context = new_context(graph.context, {**kept, **fields})
        ask_entry_guard(graph, entry, context, macrostep.turn.event)
        macrostep.context = macrostep.turn.context = context
        label = f"{strategy.event} --> {entry.state}"
        if way.is_fresh:
            await self._enter_fresh(macrostep, entry.state)
        else:
            edge = _edge_to(graph, entry)
            await macrostep.enter(plan_microstep(graph, macrostep.configuration, macrostep.memory, (edge,)))
        macrostep.taken.insert(0, label)
        if not way.is_fresh:
            return self._record_move(macrostep, self._escapes_after(how))
        return self._record_move(
            macrostep, self._escapes_after_return(how), before=(CancelAll(),), entry_point=entry.name
        )

    async def _go_back_to(self, strategy: Strategy, version: int, keep: Sequence[str]) -> TurnRecord | str:
        scene = self.scene
        target = await self._go_back(version)
        if keep:
            now = json.loads(scene.snapshot.context_text)
            known = json.loads(target.context_text)
            target = replace(
                target, context_text=compact_json(known | {name: now[name] for name in keep if name in now})
            )
        how = f"goes back to version {version}"
        return self._restore(strategy, target, how, {"version": version}, self._escapes_after_return(how))

    async def _cut(self, strategy: Strategy, way: CutBlock) -> TurnRecord | str:
        before, cut = self.scene.snapshot, await cut_out(self.scene, way, self._go_back)
        if isinstance(cut, str):
            return cut
        self.calls = cut.calls
        after = self._escapes_after_return(cut.how)
        if cut.talk is not None:
            after = after.with_cut(cut.talk)
        target = replace(before, context_text=cut.context_text) if cut.entries else before
        return self._restore(strategy, target, cut.how, {"cut": cut.entries}, after)

    def _stay(
        self,
        strategy: Strategy,
        how: str,
        switched: tuple[str, str] | None = None,
        nudge: str = "",
        awaited: tuple[BreakerWait, ...] = (),
    ) -> TurnRecord:
        """Return the turn of a route that keeps the agent in its states. If no invoke runs, the states restart."""
        before = self.scene.snapshot
        graph = self.scene.graph
        has_invokes = any(graph.nodes[state].invokes for state, _ in before.entered)
        if has_invokes and not before.trail.working and not before.handoffs:
            turn = self._restore(strategy, before, how, {})
        else:
            turn = self._unmoved(strategy, how)
        escapes = turn.snapshot.trail.escapes
        if switched is not None:
            is_open = self.scene.tool(switched[0]).breaker is not BreakerState.CLOSED
            escapes = escapes.with_switch(*switched, is_open=is_open)
        escapes = replaced(escapes.with_awaited(awaited), nudge=nudge)
        return replaced(turn, snapshot=replaced(turn.snapshot, trail=replaced(turn.snapshot.trail, escapes=escapes)))

    def _unmoved(self, strategy: Strategy, how: str) -> TurnRecord:
        turn = self._with_label(self._stay_put(self._event(strategy.event, how)), strategy, how)
        return _with_escapes(turn, self._escapes_after(how))

    def _stay_put(self, event: Event) -> TurnRecord:
        """Return a turn that keeps the agent's states and resets its trail."""
        graph, before = self.scene.graph, self.scene.snapshot
        turn = unmoved(before, event, before.handoffs)
        trail = begun_anew(graph, before.trail, before.trail.escapes, event.time)
        after, timer = with_timer(graph, replaced(turn.snapshot, trail=trail), event.time)
        return replaced(turn, snapshot=after, effects=(*turn.effects, *timer))

    def _restore(
        self, strategy: Strategy, target: Snapshot, how: str, more: Payload, after: Escapes | None = None
    ) -> TurnRecord:
        scene = self.scene
        _check_context(scene.graph, target)
        event = self._event(strategy.event, how, more)
        turn = rolled_back(scene.graph, scene.snapshot, target, event, self._services)
        return _with_escapes(self._with_label(turn, strategy, how), after or self._escapes_after(how))

    def _record_move(
        self,
        macrostep: Macrostep,
        after: Escapes,
        *,
        before: tuple[Effect, ...] = (),
        entry_point: str = "",
    ) -> TurnRecord:
        previous = self.scene.snapshot
        begin_anew(macrostep, previous.configuration, after, entry_point)
        return recorded(macrostep, previous, macrostep.turn.event, perf_counter_ns(), before=before)

    def _macrostep(self, strategy: Strategy, how: str, name: str = "") -> Macrostep:
        scene, before = self.scene, self.scene.snapshot
        event = self._event(name or strategy.event, how)
        context = committed_context(scene.graph, before)
        return macrostep_of(scene.graph, before, before.agent_id, context, event, before.handoffs, self._services)

    def _event(self, name: str, how: str, more: Payload | None = None) -> Event:
        """Build the event that records the attempt in the history, with its reason and its evidence."""
        scene, request = self.scene, self.scene.event
        payload: dict[str, Any] = {"finding": scene.finding.number, "way": how, **(more or {})}
        return Event(
            name, payload | self._evidence | {"passed": [*self._passed]}, request.time, request.id, request.sender
        )

    @property
    def _evidence(self) -> dict[str, Any]:
        return {name: self.scene.evidence[name] for name in _EVIDENCE}

    def _with_label(self, turn: TurnRecord, strategy: Strategy, how: str) -> TurnRecord:
        return replaced(turn, taken=(f"{strategy.event}: {how}",))

    def _escapes_after(self, how: str) -> Escapes:
        """Return the record of escapes after the attempt."""
        scene = self.scene
        escapes = scene.snapshot.trail.escapes
        reason = str(scene.evidence.get("reason", ""))
        return after_try(escapes, self.plan, scene.finding, self.strategies, how, scene.event.time, reason)

    def _escapes_after_return(self, how: str) -> Escapes:
        """Return the record after a rollback, with the keys of the calls that may be repeated."""
        calls, after = self.calls, self._escapes_after(how)
        keys = {key_record.key: key_record for key_record in (*after.keys, *calls.keys)}
        undone = ", ".join(dict.fromkeys(calls.undone))
        nudge = f"The work continues from an earlier point. Undone since then: {undone}." if undone else ""
        version = self.scene.snapshot.version + 1 if states_with_talk(self.scene.graph) else after.rolled_back
        return replaced(after, keys=tuple(keys.values())[-MOST_KEYS:], nudge=nudge, rolled_back=version)


def _describe_awaited(awaited: tuple[BreakerWait, ...]) -> str:
    tools = ", ".join(wait.tool for wait in awaited)
    until = f"until {max(wait.until for wait in awaited):%Y-%m-%d %H:%M:%S} UTC at the latest"
    return f"calls of {tools} wait until the circuit breaker lets them through, {until}"


def _with_escapes(turn: TurnRecord, escapes: Escapes) -> TurnRecord:
    """Add the record of escapes and its lessons to a turn that ran no macrostep."""
    previous, after = turn.previous, turn.snapshot
    lessons = () if previous is None else judgements(previous, escapes, previous.trail.text, after.configuration)
    after = replaced(after, trail=replaced(after.trail, escapes=escapes))
    return replaced(turn, snapshot=after, effects=(*turn.effects, *lessons))


def _edge_to(graph: AnyGraph, entry: EntryPoint) -> Edge:
    """Return a transition from any state to an entry point's state. Cached, because plans are cached by transition."""
    key = ("escape to", entry.name)
    edge: Edge | None = graph.memo.get(key)
    if edge is None:
        default = graph.nodes[ROOT].default
        targets = (entry.state,) if entry.state != ROOT or default is None else default.targets
        edge = graph.memo[key] = Edge(f"escape --> {entry.state}", ROOT, None, targets, False, None, ())
    return edge


def _check_context(graph: AnyGraph, target: Snapshot) -> None:
    """Raise IncompatibleGraphError if a context merged from two versions is not valid for the graph."""
    graph.context_of(target)
