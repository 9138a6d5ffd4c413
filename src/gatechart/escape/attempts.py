"""Choose the next strategy from the agent's plan, its record of escapes, and the lessons of earlier ones. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from gatechart.escape.calls import RecordedCall
from gatechart.escape.learning import NONE, clearly_better_first
from gatechart.escape.scene import Scene, where_found
from gatechart.graph.escape import EscapePlan, Strategy
from gatechart.graph.graph import AnyGraph
from gatechart.values.escapes import CameTo, Escapes, SignalFinding, Tried
from gatechart.values.frozen import replaced, value
from gatechart.values.handoffs import Reason
from gatechart.values.lessons import Lessons, Tally
from gatechart.values.names import Payload, StateName
from gatechart.values.payloads import read
from gatechart.values.signal_reports import SignalReport, signal_report


@value
class Tactic:
    """The plan that answers a finding, and its strategies, in order."""

    plan: EscapePlan
    strategies: tuple[Strategy, ...]
    last: Strategy | None  # the last resort, if the strategies fail; None for none


def tactic_for(
    graph: AnyGraph, leaves: Sequence[StateName], report: SignalReport, own: Sequence[EscapePlan] = ()
) -> Tactic | None:
    """Return the plan and strategies for a signal in the agent's states; None if no plan answers it.

    Precedence: plans' strategies for a specific tool, then the plans of the tools themselves, then plans' strategies
    for any tool. Within each group, inner states precede outer ones, and the regions with the problem precede others.
    report: the signal, as fired. own: plans of the tools that failed or were called repeatedly; they end with the
    last resort of the nearest plan.
    """
    signal, tools = report.signal, report.failed_tools
    plans = tuple(plans_at(graph, (*where_found(graph, leaves, report), *leaves)))
    last = plans[0].last if plans else None
    answers = (
        *((plan, plan.answers_for(tool, signal), plan.last) for plan in plans for tool in tools),
        *((plan, plan.answers(signal), last) for plan in own),
        *((plan, plan.answers(signal), plan.last) for plan in plans),
    )
    return next((Tactic(*answer) for answer in answers if answer[1]), None)


def plans_at(graph: AnyGraph, leaves: Iterable[StateName]) -> Iterator[EscapePlan]:
    """Yield the plans that apply in the agent's states, inner states first and the graph last."""
    states = dict.fromkeys(state for leaf in leaves for state in (leaf, *graph.nodes[leaf].ancestors))
    plans = (*(graph.nodes[state].escape for state in states), graph.escape)
    yield from (plan for plan in plans if plan is not None)


def nearest_plan(scene: Scene) -> EscapePlan:
    """Return the plan whose limits apply to the agent; the default one if there is none."""
    return next(plans_at(scene.graph, scene.leaves), None) or EscapePlan({})


def last_resort(scene: Scene) -> Strategy | None:
    """Return the last resort for an agent whose calls were undone, if no strategy applies.

    None for other agents, which stay in their states. It comes from the nearest plan, else from any plan: a graph that
    undoes calls has one.
    """
    if not scene.is_undoing:
        return None
    declared = (node.escape for node in scene.graph.nodes.values())
    plans = (*plans_at(scene.graph, scene.leaves), *declared)
    return next(plan.last for plan in plans if plan is not None)


def without_answer(scene: Scene) -> Tactic:
    """Return the fallback for a finding whose plan was removed by a migration."""
    return Tactic(nearest_plan(scene), (), last_resort(scene))


def after_call(escapes: Escapes, call: Payload) -> Escapes:
    """Return the record after a call. call: payload of its mail."""
    ended = read(RecordedCall, call)
    if ended.restored:
        escapes = escapes.without_switch(ended.tool)
    if ended.ok and ended.key:
        escapes = escapes.without_key(ended.key)
    return escapes


def loops_first(fired: Iterable[Payload]) -> list[tuple[SignalReport, Payload]]:
    """Read the signals that fired together, each with its payload, in the order of their answers: loops first."""
    reports = [(signal_report(payload), payload) for payload in fired]
    return sorted(reports, key=lambda signal: signal[0].reason != Reason.LOOP_DETECTED.value)


def with_asked(escapes: Escapes, signal: str) -> tuple[Escapes, SignalFinding]:
    """Return the record and the finding after a signal that a plan answers.

    Without progress since the last attempt, it is the same finding, and that attempt has failed.
    """
    known = next((earlier for earlier in escapes.open if earlier.signal == signal), None)
    finding = SignalFinding(escapes.findings + 1, signal) if known is None else known
    asked = replaced(finding, is_due=True)
    return escapes.judged(CameTo.NOTHING).with_finding(asked), asked


def judged(escapes: Escapes, is_move: bool, is_progress: bool) -> Escapes:
    """Return the record after a turn. Progress closes the findings, except findings whose escape is still due.

    is_move: whether the turn moved the agent; is_progress: whether it made progress.
    """
    if escapes.undoing:  # the escape has only started
        return escapes
    if is_progress:
        due = tuple(finding for finding in escapes.open if finding.is_due)
        return replaced(escapes.judged(CameTo.PROGRESS), open=due, nudge="")
    if not is_move or not escapes.turns_left:
        return escapes
    after = replaced(escapes, turns_left=escapes.turns_left - 1)
    return after if after.turns_left else after.judged(CameTo.NOTHING)


@value
class Passed:
    """A strategy to try, or the reason why it is skipped."""

    strategy: Strategy
    why: str = ""
    is_waiting: bool = False  # whether the reason expires soon


def next_tries(tactic: Tactic, scene: Scene, escapes: Escapes) -> Iterator[Passed]:
    """Yield the strategies in order, each to try now or skipped with a reason. The last resort comes last."""
    plan, last, now = tactic.plan, tactic.last, scene.event.time
    is_used_up = escapes.tried_on(now) >= plan.most_a_day
    strategies = tactic.strategies
    if plan.learns and scene.lessons.strategies:
        strategies = tuple(ordered(strategies, scene.finding.signal, scene.lessons, last))
    for strategy in strategies:
        if strategy.bounds_itself and not is_used_up:
            yield Passed(strategy)
        elif strategy.name in scene.finding.tried:
            yield Passed(strategy, "it was tried for this finding")
        elif is_used_up and strategy != last:
            yield Passed(strategy, f"{plan.most_a_day} attempts were made today")
        elif strategy != last and _is_cooling(plan, strategy, escapes, now):
            yield Passed(strategy, f"it was tried less than {plan.cooldown_s:g} s ago", is_waiting=True)
        else:
            yield Passed(strategy)
    if last is not None and all(other != last or other.name in scene.finding.tried for other in strategies):
        yield Passed(last)


def _is_cooling(plan: EscapePlan, strategy: Strategy, escapes: Escapes, now: datetime) -> bool:
    tried = escapes.last_tried(strategy.name)
    return tried is not None and now - tried < timedelta(seconds=plan.cooldown_s or 0)


def ordered(
    strategies: Sequence[Strategy], signal: str, lessons: Lessons, last: Strategy | None = None
) -> Sequence[Strategy]:
    """Return the strategies in the order to try them, by their results for a signal in this graph.

    The written order is by cost, so a strategy moves forward only if it is clearly better than the one before it; with
    few attempts none is: see `gatechart.escape.learning`. A strategy that hands the work on or ends the agent never
    moves forward, as people would then receive all the work. last: the last resort. It keeps its position, and so do
    the strategies after it.
    """
    end = strategies.index(last) if last in strategies else len(strategies)

    def tally(strategy: Strategy) -> Tally:
        return lessons.strategies.get(f"{signal} {strategy.name}", NONE)

    return (*clearly_better_first(strategies[:end], tally, _may_move_forward), *strategies[end:])


def _may_move_forward(strategy: Strategy) -> bool:
    return strategy.adds is None or strategy.adds.flow is not None


def after_try(
    escapes: Escapes,
    plan: EscapePlan,
    finding: SignalFinding,
    strategies: Sequence[Strategy],
    way: str,
    now: datetime,
    reason: str = "",
) -> Escapes:
    """Return the record after an attempt.

    strategies: the skipped or tried strategies, and last the successful one. way: its effect, in words. reason: the
    signal's.
    """
    done = strategies[-1]
    tried = Tried(escapes.count + 1, finding.number, finding.signal, done.name, now, way, reason=reason)
    names = dict.fromkeys((*finding.tried, *(strategy.name for strategy in strategies)))
    after = escapes.judged(CameTo.NOTHING).with_finding(replaced(finding, tried=tuple(names), is_due=False))
    return replaced(after.with_attempt(tried), turns_left=plan.turns, nudge="")


def without_way(escapes: Escapes, finding: SignalFinding) -> Escapes:
    """Return the record once a finding has no strategies left, or no longer needs an escape."""
    return escapes.with_finding(replaced(finding, is_due=False))
