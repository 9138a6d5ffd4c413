"""The filters of a selection: each returns a reason for every candidate that it excludes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import compress
from operator import not_
from typing import Any, Final, TypeAlias

from gatechart.errors.failures import asking
from gatechart.graph.callables import callable_name
from gatechart.graph.selection import TEXT_SCORERS
from gatechart.handoff.loops import MOST_HOPS, loop_in
from gatechart.handoff.packet import Attempt, HandoffPacket, readable
from gatechart.selection.question import Question
from gatechart.selection.texts import Least
from gatechart.values.handoffs import Obstacle, Reason
from gatechart.values.profiles import LOWEST_TIER, Candidate, is_same_language

Column: TypeAlias = list[str]
"""For each candidate, the reason to exclude it; "" if it passes. An empty list excludes no candidates."""

Fallen: TypeAlias = dict[str, tuple[Sequence[Candidate], Sequence[str]]]
"""Excluded candidates by the name of the filter, and the reason for each. Filters are in the order of evaluation."""

BuiltIn: TypeAlias = Callable[[Question, Sequence[Candidate]], Column]

MISFIT: Final = "left out"
"""Reason for a candidate that an application's filter excludes without a reason."""

_LONGEST: Final = 200  # characters of a reason
_NONE_LEFT_OUT: Final[Column] = []
_DOWN: Final = frozenset({Obstacle.FAILURE, Obstacle.UNKNOWN_GRAPH})
"""Obstacles of attempts whose target is out of order, rather than unwilling."""

_TROUBLE: Final = frozenset({Reason.TOOL_FAILURE, Reason.TIMEOUT})
"""Reasons that show that the tools or services of the asking agent are out of order."""


def filtered(question: Question) -> tuple[Sequence[Candidate], Fallen]:
    """Split the candidates into those passing all filters and excluded ones, each with the first filter that it failed.

    Raises ValueError for an unknown name of a filter, and SelectionFunctionError.
    """
    left, fallen = question.candidates, Fallen()
    asked_for = {name: _filter_named(name, question) for name in question.terms.filters if name not in ALWAYS}
    for name, ask in (ALWAYS | asked_for).items():
        reasons = ask(question, left) if left else _NONE_LEFT_OUT
        if any(reasons):
            fallen[name] = list(compress(left, reasons)), list(filter(None, reasons))
            left = list(compress(left, map(not_, reasons)))
    return left, fallen


def _filter_named(name: str, question: Question) -> BuiltIn:
    built_in = ON_REQUEST.get(name)
    if built_in is not None:
        return built_in
    own = question.functions.get(name)
    if own is None:
        raise ValueError(f"no filter is named {name!r}; there are {', '.join((*ON_REQUEST, *question.functions))}")
    return partial(_own, own)


def _own(function: Callable[[Any, Candidate], Any], question: Question, candidates: Sequence[Candidate]) -> Column:
    with asking(f"the filter {callable_name(function)!r}"):
        answers = [function(question.packet, candidate) for candidate in candidates]
    return [readable(answer)[:_LONGEST] if isinstance(answer, str) else "" if answer else MISFIT for answer in answers]


def _rule(question: Question, candidates: Sequence[Candidate]) -> Column:
    if not question.terms.no_rule or not question.is_open or not TEXT_SCORERS.isdisjoint(question.scorer_names):
        return _NONE_LEFT_OUT
    return ["no rule applies to the work"] * len(candidates)


def _entry(question: Question, candidates: Sequence[Candidate]) -> Column:
    named = frozenset(question.terms.entries)
    if not named:
        return _NONE_LEFT_OUT
    reason = f"not {' or '.join(question.terms.entries)}"[:_LONGEST]
    return ["" if candidate.id in named else reason for candidate in candidates]


def _open(question: Question, candidates: Sequence[Candidate]) -> Column:
    is_named = bool(question.terms.entries)  # an excluded candidate can still be requested by name
    return ["" if entry.is_open and (is_named or not entry.is_excluded) else _decision(entry) for entry in candidates]


def _decision(candidate: Candidate) -> str:
    """Describe an operator's decision against a candidate, with the reason if the operator gave one."""
    decision = "excluded by an operator" if candidate.is_open else "closed"
    return f"{decision}: {candidate.mark_reason}"[:_LONGEST] if candidate.mark_reason else decision


def _capability(question: Question, candidates: Sequence[Candidate]) -> Column:
    needed = question.needs.capabilities
    return _lacking(needed, question.needs.all, (candidate.profile.capabilities for candidate in candidates))


def _domain(question: Question, candidates: Sequence[Candidate]) -> Column:
    return _lacking(question.needs.domains, question.needs.all, (candidate.profile.domains for candidate in candidates))


def _lacking(needed: tuple[str, ...], needs_all: bool, offered: Iterable[tuple[str, ...]]) -> Column:
    if not needed:
        return _NONE_LEFT_OUT
    wanted = frozenset(needed)
    names = ", ".join(needed)[:_LONGEST]
    if needs_all:
        reason = f"not all of {names}" if len(needed) > 1 else f"not {names}"
        return ["" if wanted.issubset(names_offered) else reason for names_offered in offered]
    reason = f"none of {names}" if len(needed) > 1 else f"not {names}"
    return [reason if wanted.isdisjoint(names_offered) else "" for names_offered in offered]


def _tier(question: Question, candidates: Sequence[Candidate]) -> Column:
    least = question.needs.tier
    if not least:
        return _NONE_LEFT_OUT
    tiers = [candidate.profile.tier or LOWEST_TIER for candidate in candidates]
    return ["" if tier >= least else f"{tier} is below {least}" for tier in tiers]


def _language(question: Question, candidates: Sequence[Candidate]) -> Column:
    if not question.needs.languages:
        return _NONE_LEFT_OUT
    wanted = tuple(map(str.casefold, question.needs.languages))
    reason = f"not {' or '.join(question.needs.languages)}"[:_LONGEST]

    @cache  # candidates share a few combinations of languages
    def speaks(languages: tuple[str, ...]) -> bool:
        return any(is_same_language(one.casefold(), other) for one in languages for other in wanted)

    languages_of = [candidate.profile.languages for candidate in candidates]
    return ["" if not languages or speaks(languages) else reason for languages in languages_of]


def _asking(question: Question, candidates: Sequence[Candidate]) -> Column:
    packet = question.packet
    if not packet.source_agent:
        return _NONE_LEFT_OUT
    agent, graph = packet.source_agent, packet.source_graph
    own_entry = packet.path[-1].recipient if packet.path else ""
    entry_point = _entry_point_of_asker(packet)
    reason = (
        "the agent that asks started here"
        if entry_point
        else "the agent that asks is of this graph, and may have started here"
    )
    reasons = {
        candidate.id: "it is the agent that asks" if candidate.agent else reason
        for candidate in candidates
        if (
            candidate.agent == agent
            if candidate.agent
            else candidate.id == own_entry
            or (candidate.graph == graph and candidate.is_local and entry_point in ("", candidate.entry_point))
        )
    }
    return [reasons.get(candidate.id, "") for candidate in candidates] if reasons else _NONE_LEFT_OUT


def _entry_point_of_asker(packet: HandoffPacket) -> str:
    """Return the entry point where the asking agent started; empty if the packet does not contain it."""
    if not packet.path:
        return ""
    step = packet.path[-1]
    graph, _, entry_point = step.recipient.rpartition(".")
    return step.entry_point or (entry_point if graph == step.graph else "")


def _refused(question: Question, candidates: Sequence[Candidate]) -> Column:
    if not question.packet.attempts:
        return _NONE_LEFT_OUT
    targets = _Targets(question.packet.attempts)
    return ["it already had the offer" if targets.include(candidate) else "" for candidate in candidates]


def _group(question: Question, candidates: Sequence[Candidate]) -> Column:
    failed = _failed_groups(question)
    if not failed:
        return _NONE_LEFT_OUT
    groups = [candidate.profile.group for candidate in candidates]
    return [f"{group} has failed" if group in failed else "" for group in groups]


def _path(question: Question, candidates: Sequence[Candidate]) -> Column:
    path = question.packet.path
    graphs = {step.graph for step in path} if len(path) <= MOST_HOPS else {candidate.graph for candidate in candidates}
    loops = {graph: evidence for graph in graphs if (evidence := loop_in(path, graph))}
    return [loops.get(candidate.graph, "") for candidate in candidates] if loops else _NONE_LEFT_OUT


def _hours(question: Question, candidates: Sequence[Candidate]) -> Column:
    schedules = [candidate.profile.schedule for candidate in candidates]
    distinct = {id(schedule): schedule for schedule in schedules}  # by identity: a hash would cost more than the rest
    now, limited = question.now, [schedule for schedule in distinct.values() if schedule]
    closed = {id(schedule) for schedule in limited if not any(hours.contains(now) for hours in schedule)}
    if not closed:
        return _NONE_LEFT_OUT
    return ["not at this time" if id(schedule) in closed else "" for schedule in schedules]


def _place(_: Question, candidates: Sequence[Candidate]) -> Column:
    slots = [(candidate.held, candidate.capacity) for candidate in candidates]
    return ["" if most is None or held < most else f"{held} of {most} places taken" for held, most in slots]


def _breaker(_: Question, candidates: Sequence[Candidate]) -> Column:
    names_of = [", ".join(candidate.open_breakers) for candidate in candidates]
    return [f"{names[:_LONGEST]} open" if names else "" for names in names_of]


def _text(question: Question, candidates: Sequence[Candidate]) -> Column:
    if not question.is_open or TEXT_SCORERS.isdisjoint(question.scorer_names):
        return _NONE_LEFT_OUT
    asked = question.terms.least
    least = question.least if asked is None else Least.alike(asked)
    score_of = question.scores.get("text", {}).get
    scores = [score_of(candidate.id, 0.0) for candidate in candidates]
    sampled, described = least.sampled, least.described
    leasts = [sampled if candidate.profile.samples else described for candidate in candidates]

    @cache  # to format each of a thousand scores would take as long as the rest of the choice
    def why(hundredths: int, least: float) -> str:
        return f"{hundredths / 100:.2f} is below {least:.2f}"

    return ["" if score >= least else why(int(score * 100), least) for score, least in zip(scores, leasts, strict=True)]


def _person(_: Question, candidates: Sequence[Candidate]) -> Column:
    return ["" if candidate.is_person else "not a person" for candidate in candidates]


def _local(_: Question, candidates: Sequence[Candidate]) -> Column:
    return ["" if candidate.is_local else "not of this home" for candidate in candidates]


class _Targets:
    """The targets of attempts, to be matched with candidates."""

    __slots__ = ("_agents", "_doors", "_ids")

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        self._ids: set[str] = set()
        self._doors: set[tuple[str, str]] = set()
        self._agents: set[tuple[str, str, str]] = set()
        for attempt in attempts:
            if attempt.recipient:  # several entries of the directory may lead to one entry point
                self._ids.add(attempt.recipient)
            else:
                self._doors.add((attempt.graph, attempt.entry_point))
                self._agents.add((attempt.graph, attempt.entry_point, attempt.agent))

    def __bool__(self) -> bool:
        return bool(self._ids or self._doors)

    def include(self, candidate: Candidate) -> bool:
        """Return whether the candidate was the target of one of the attempts."""
        if candidate.id in self._ids:
            return True
        door = (candidate.graph, candidate.entry_point)
        return (*door, candidate.agent) in self._agents if candidate.agent else door in self._doors


def _failed_groups(question: Question) -> frozenset[str]:
    """Return the groups of failed targets, and the asking agent's group if its reason is a failure of its tools."""
    packet = question.packet
    failed = _Targets(attempt for attempt in (*packet.attempts, *question.failed) if attempt.obstacle in _DOWN)
    candidates = question.candidates
    groups = {candidate.profile.group for candidate in candidates if failed.include(candidate)} if failed else set()
    if packet.reason in _TROUBLE:
        asking = zip(candidates, _asking(question, candidates), strict=False)  # empty if none of them asks
        groups |= {candidate.profile.group for candidate, is_asking in asking if is_asking}
    return frozenset(groups - {""})


ALWAYS: Final[dict[str, BuiltIn]] = {
    "entry": _entry,
    "open": _open,
    "rule": _rule,
    "capability": _capability,
    "domain": _domain,
    "tier": _tier,
    "text": _text,
    "language": _language,
    "asking": _asking,
    "refused": _refused,
    "group": _group,
    "path": _path,
    "hours": _hours,
    "place": _place,
    "breaker": _breaker,
}
"""The filters that always apply, in the order of evaluation. The first one that fails excludes a candidate."""

ON_REQUEST: Final[dict[str, BuiltIn]] = {"person": _person, "local": _local}
"""Filters for selections that name them."""
