"""What is tried next: by the agent's plan, its record of escapes, and what was learned from earlier ones. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from gatechart.escape.learning import NONE, clearly_better_first
from gatechart.escape.scene import Scene, failed_tools, where_found
from gatechart.graph import AnyGraph, EscapePlan, Strategy
from gatechart.values import (
    CameTo,
    Escapes,
    Finding,
    Lessons,
    Payload,
    Reason,
    StateName,
    Tally,
    Tried,
)
from gatechart.values.frozen import replaced, value


@value
class Tactic:
    """The plan that answers a finding, and what it tries, in this order."""

    plan: EscapePlan
    strategies: tuple[Strategy, ...]
    last: Strategy | None  # the last resort; None if nothing is done once these have led nowhere


def tactic_for(
    graph: AnyGraph, leaves: Sequence[StateName], evidence: Payload, own: Sequence[EscapePlan] = ()
) -> Tactic | None:
    """Return what is tried for a signal where an agent is; None for nothing.

    What plans say of a tool goes first, then the plans of the tools themselves, then what plans say of any; each time
    the plans of inner states go before those around them, and of regions those in which it happened before others.
    evidence: payload of the signal. own: plans that the tools have themselves which failed or were called again; they
    end with the last resort of the nearest plan.
    """
    signal, tools = evidence["signal"], failed_tools(evidence)
    plans = tuple(plans_at(graph, (*where_found(graph, leaves, evidence), *leaves)))
    last = plans[0].last if plans else None
    answers = (
        *((plan, plan.answers_for(tool, signal), plan.last) for plan in plans for tool in tools),
        *((plan, plan.answers(signal), last) for plan in own),
        *((plan, plan.answers(signal), plan.last) for plan in plans),
    )
    return next((Tactic(*each) for each in answers if each[1]), None)


def plans_at(graph: AnyGraph, leaves: Iterable[StateName]) -> Iterator[EscapePlan]:
    """Yield the plans that count where an agent is: those of inner states first, that of the graph last."""
    states = dict.fromkeys(state for leaf in leaves for state in (leaf, *graph.nodes[leaf].ancestors))
    plans = (*(graph.nodes[state].escape for state in states), graph.escape)
    yield from (plan for plan in plans if plan is not None)


def nearest_plan(scene: Scene) -> EscapePlan:
    """Return the plan whose limits hold where the agent is; the usual one if there is none."""
    return next(plans_at(scene.graph, scene.leaves), None) or EscapePlan({})


def last_resort(scene: Scene) -> Strategy | None:
    """Return what is left to an agent whose calls were taken back and that nothing else leads on.

    None for others, which stay where they are. It is that of the nearest plan, or of any, as a graph that takes calls
    back has one.
    """
    if not scene.is_undoing:
        return None
    declared = (node.escape for node in scene.graph.nodes.values())
    plans = (*plans_at(scene.graph, scene.leaves), *declared)
    return next(plan.last for plan in plans if plan is not None)


def without_answer(scene: Scene) -> Tactic:
    """Return what is done about a finding that no plan answers any more, as the agent has migrated since."""
    return Tactic(nearest_plan(scene), (), last_resort(scene))


def after_call(escapes: Escapes, told: Payload) -> Escapes:
    """Return the record after a call. told: by its mail."""
    if told.get("restored"):
        escapes = escapes.without_switch(told["tool"])
    if told["ok"] and "key" in told:
        escapes = escapes.without_key(told["key"])
    return escapes


def found_first(fired: Sequence[Payload]) -> Sequence[Payload]:
    """Return signals that fired together in the order in which they are to be answered: loops go first."""
    return sorted(fired, key=lambda each: each["reason"] != Reason.LOOP_DETECTED.value)


def with_asked(escapes: Escapes, signal: str) -> tuple[Escapes, Finding]:
    """Return the record after a signal that a plan answers, and what is to be got out of.

    As long as the agent made no progress it is the same finding, and the attempt before has come to nothing.
    """
    known = next((each for each in escapes.open if each.signal == signal), None)
    finding = Finding(escapes.findings + 1, signal) if known is None else known
    asked = replaced(finding, is_due=True)
    return escapes.judged(CameTo.NOTHING).with_finding(asked), asked


def judged(escapes: Escapes, is_move: bool, is_progress: bool) -> Escapes:
    """Return the record after a turn. Progress ends what was found, unless a way out of it is still due.

    is_move: whether the turn moved the agent; is_progress: whether it made progress.
    """
    if escapes.undoing:  # its way out has only begun
        return escapes
    if is_progress:
        due = tuple(each for each in escapes.open if each.is_due)
        return replaced(escapes.judged(CameTo.PROGRESS), open=due, nudge="")
    if not is_move or not escapes.turns_left:
        return escapes
    after = replaced(escapes, turns_left=escapes.turns_left - 1)
    return after if after.turns_left else after.judged(CameTo.NOTHING)


@value
class Passed:
    """A strategy that is to be tried, or why it is passed over."""

    strategy: Strategy
    why: str = ""
    is_waiting: bool = False  # whether that ends by itself before long


def next_tries(tactic: Tactic, scene: Scene, escapes: Escapes) -> Iterator[Passed]:
    """Yield what may be tried now, in order, and what is passed over with the reason. The last resort comes last."""
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
    if last is not None and all(each != last or each.name in scene.finding.tried for each in strategies):
        yield Passed(last)


def _is_cooling(plan: EscapePlan, strategy: Strategy, escapes: Escapes, now: datetime) -> bool:
    tried = escapes.last_tried(strategy.name)
    return tried is not None and now - tried < timedelta(seconds=plan.cooldown_s or 0)


def ordered(
    strategies: Sequence[Strategy], signal: str, lessons: Lessons, last: Strategy | None = None
) -> Sequence[Strategy]:
    """Return the strategies in the order in which they are tried, by what they came to for a signal in this graph.

    Those written first cost least, so one goes before another only if it is clearly better; with few attempts none is:
    see `gatechart.escape.learning`. One that hands the work on or ends the agent is not tried earlier, whatever its
    record: people would then have all the work. last: the last resort, which stays in its place with all after it.
    """
    place = strategies.index(last) if last in strategies else len(strategies)

    def tally(strategy: Strategy) -> Tally:
        return lessons.strategies.get(f"{signal} {strategy.name}", NONE)

    return (*clearly_better_first(strategies[:place], tally, _may_be_earlier), *strategies[place:])


def _may_be_earlier(strategy: Strategy) -> bool:
    return strategy.adds is None or strategy.adds.flow is not None


def after_try(
    escapes: Escapes,
    plan: EscapePlan,
    finding: Finding,
    strategies: Sequence[Strategy],
    way: str,
    now: datetime,
    reason: str = "",
) -> Escapes:
    """Return the record after an attempt.

    strategies: those that it tried or passed over, the one that led on last. reason: of the signal.
    """
    done = strategies[-1]
    tried = Tried(escapes.count + 1, finding.number, finding.signal, done.name, now, way, reason=reason)
    names = dict.fromkeys((*finding.tried, *(each.name for each in strategies)))
    after = escapes.judged(CameTo.NOTHING).with_finding(replaced(finding, tried=tuple(names), is_due=False))
    return replaced(after.with_attempt(tried), turns_left=plan.turns, nudge="")


def without_way(escapes: Escapes, finding: Finding) -> Escapes:
    """Return the record once nothing is left to try for a finding, or it needs no way out any more."""
    return escapes.with_finding(replaced(finding, is_due=False))
