"""The filters of a selection: each returns the reasons for excluding candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import compress
from operator import not_
from typing import Any, Final, TypeAlias

from gatechart.errors import asking
from gatechart.graph import TEXT_SCORERS, callable_name
from gatechart.handoff import MOST_HOPS, Attempt, HandoffPacket, loop_in
from gatechart.handoff.packet import readable
from gatechart.selection.question import Question
from gatechart.selection.texts import Least
from gatechart.values import LOWEST_TIER, Candidate, Obstacle, Reason
from gatechart.values.profiles import is_same_language

Column: TypeAlias = list[str]
"""The reason for excluding each candidate; "" if it passes. An empty list passes every candidate."""

Fallen: TypeAlias = dict[str, tuple[Sequence[Candidate], Sequence[str]]]
"""The excluded candidates and their reasons, by the name of the filter, in the order of evaluation."""

BuiltIn: TypeAlias = Callable[[Question, Sequence[Candidate]], Column]

MISFIT: Final = "left out"
"""The reason for an exclusion by a custom filter that gives none."""

_LONGEST: Final = 200  # characters of a reason
_NOBODY: Final[Column] = []
_DOWN: Final = frozenset({Obstacle.FAILURE, Obstacle.UNKNOWN_GRAPH})
"""The obstacles that mean that the target of an attempt is broken, rather than unwilling."""

_TROUBLE: Final = frozenset({Reason.TOOL_FAILURE, Reason.TIMEOUT})
"""The reasons that mean that the tools or services of the requesting agent are broken."""


def filtered(question: Question) -> tuple[Sequence[Candidate], Fallen]:
    """Return the candidates that pass all filters, and the excluded ones: each is excluded by the first filter only.

    Raises ValueError for an unknown name of a filter, and SelectionFunctionError.
    """
    left, fallen = question.candidates, Fallen()
    asked_for = {name: _named(name, question) for name in question.terms.filters if name not in ALWAYS}
    for name, ask in (ALWAYS | asked_for).items():
        reasons = ask(question, left) if left else _NOBODY
        if any(reasons):
            fallen[name] = list(compress(left, reasons)), list(filter(None, reasons))
            left = list(compress(left, map(not_, reasons)))
    return left, fallen


def _named(name: str, question: Question) -> BuiltIn:
    found = ON_REQUEST.get(name)
    if found is not None:
        return found
    own = question.functions.get(name)
    if own is None:
        raise ValueError(f"no filter is named {name!r}; there are {', '.join((*ON_REQUEST, *question.functions))}")
    return partial(_own, own)


def _own(function: Callable[[Any, Candidate], Any], question: Question, candidates: Sequence[Candidate]) -> Column:
    with asking(f"the filter {callable_name(function)!r}"):
        answers = [function(question.packet, each) for each in candidates]
    return [readable(each)[:_LONGEST] if isinstance(each, str) else "" if each else MISFIT for each in answers]


def _rule(question: Question, candidates: Sequence[Candidate]) -> Column:
    if not question.terms.no_rule or not question.is_open or not TEXT_SCORERS.isdisjoint(question.scorer_names):
        return _NOBODY
    return ["no rule says what the work needs"] * len(candidates)


def _entry(question: Question, candidates: Sequence[Candidate]) -> Column:
    named = frozenset(question.terms.entries)
    if not named:
        return _NOBODY
    why = f"not {' or '.join(question.terms.entries)}"[:_LONGEST]
    return ["" if each.id in named else why for each in candidates]


def _open(question: Question, candidates: Sequence[Candidate]) -> Column:
    is_named = bool(question.terms.entries)  # an excluded entry can still be requested by name
    return ["" if each.is_open and (is_named or not each.is_excluded) else _decided(each) for each in candidates]


def _decided(candidate: Candidate) -> str:
    """Describe an operator's decision against a candidate, with the reason if there is one."""
    decision = "excluded by an operator" if candidate.is_open else "closed"
    return f"{decision}: {candidate.mark_reason}"[:_LONGEST] if candidate.mark_reason else decision


def _capability(question: Question, candidates: Sequence[Candidate]) -> Column:
    needed = question.needs.capabilities
    return _lacking(needed, question.needs.all, (each.profile.capabilities for each in candidates))


def _domain(question: Question, candidates: Sequence[Candidate]) -> Column:
    return _lacking(question.needs.domains, question.needs.all, (each.profile.domains for each in candidates))


def _lacking(needed: tuple[str, ...], needs_all: bool, had: Iterable[tuple[str, ...]]) -> Column:
    if not needed:
        return _NOBODY
    wanted = frozenset(needed)
    names = ", ".join(needed)[:_LONGEST]
    if needs_all:
        why = f"not all of {names}" if len(needed) > 1 else f"not {names}"
        return ["" if wanted.issubset(each) else why for each in had]
    why = f"none of {names}" if len(needed) > 1 else f"not {names}"
    return [why if wanted.isdisjoint(each) else "" for each in had]


def _tier(question: Question, candidates: Sequence[Candidate]) -> Column:
    least = question.needs.tier
    if not least:
        return _NOBODY
    tiers = [each.profile.tier or LOWEST_TIER for each in candidates]
    return ["" if tier >= least else f"{tier} is below {least}" for tier in tiers]


def _language(question: Question, candidates: Sequence[Candidate]) -> Column:
    if not question.needs.languages:
        return _NOBODY
    wanted = tuple(map(str.casefold, question.needs.languages))
    why = f"not {' or '.join(question.needs.languages)}"[:_LONGEST]

    @cache
    def speaks(languages: tuple[str, ...]) -> bool:
        return any(is_same_language(one.casefold(), other) for one in languages for other in wanted)

    return ["" if not each.profile.languages or speaks(each.profile.languages) else why for each in candidates]


def _asking(question: Question, candidates: Sequence[Candidate]) -> Column:
    packet = question.packet
    if not packet.source_agent:
        return _NOBODY
    agent, graph = packet.source_agent, packet.source_graph
    taken_as = packet.path[-1].recipient if packet.path else ""
    begun = _begun(packet)
    why_not = "it begins where the one that asks began" if begun else "its graph asks, and may have begun there"
    asking = {
        each.id: "it asks" if each.agent else why_not
        for each in candidates
        if (
            each.agent == agent
            if each.agent
            else each.id == taken_as
            or (each.graph == graph and each.is_local and (not begun or each.entry_point == begun))
        )
    }
    return [asking.get(each.id, "") for each in candidates] if asking else _NOBODY


def _begun(packet: HandoffPacket) -> str:
    """Return the entry point of the requesting agent; empty if the packet does not contain it."""
    if not packet.path:
        return ""
    step = packet.path[-1]
    graph, _, entry_point = step.recipient.rpartition(".")
    return step.entry_point or (entry_point if graph == step.graph else "")


def _refused(question: Question, candidates: Sequence[Candidate]) -> Column:
    if not question.packet.attempts:
        return _NOBODY
    tried = _Targets(question.packet.attempts)
    return ["it has had the offer" if tried.include(each) else "" for each in candidates]


def _group(question: Question, candidates: Sequence[Candidate]) -> Column:
    failed = _failed_groups(question)
    if not failed:
        return _NOBODY
    return [f"{each.profile.group} has failed" if each.profile.group in failed else "" for each in candidates]


def _path(question: Question, candidates: Sequence[Candidate]) -> Column:
    path = question.packet.path
    graphs = {step.graph for step in path} if len(path) <= MOST_HOPS else {each.graph for each in candidates}
    loops = {graph: evidence for graph in graphs if (evidence := loop_in(path, graph))}
    return [loops.get(each.graph, "") for each in candidates] if loops else _NOBODY


def _hours(question: Question, candidates: Sequence[Candidate]) -> Column:
    schedules = [each.profile.schedule for each in candidates]
    distinct = {id(each): each for each in schedules}  # by identity: a hash would cost more than the rest
    closed = {key for key, each in distinct.items() if each and not any(hours.contains(question.now) for hours in each)}
    return ["not at this time" if id(each) in closed else "" for each in schedules] if closed else _NOBODY


def _place(_: Question, candidates: Sequence[Candidate]) -> Column:
    return [
        "" if each.capacity is None or each.held < each.capacity else f"{each.held} of {each.capacity} places taken"
        for each in candidates
    ]


def _breaker(_: Question, candidates: Sequence[Candidate]) -> Column:
    return [f"{', '.join(each.open_breakers)[:_LONGEST]} open" if each.open_breakers else "" for each in candidates]


def _text(question: Question, candidates: Sequence[Candidate]) -> Column:
    if not question.is_open or TEXT_SCORERS.isdisjoint(question.scorer_names):
        return _NOBODY
    asked = question.terms.least
    least = question.least if asked is None else Least.alike(asked)
    score = question.scores.get("text", {}).get
    scores = [score(each.id, 0.0) for each in candidates]
    sampled, described = least.sampled, least.described
    leasts = [sampled if each.profile.samples else described for each in candidates]

    @cache  # formatting a thousand scores would take as long as the rest of the choice
    def why(hundredths: int, least: float) -> str:
        return f"{hundredths / 100:.2f} is below {least:.2f}"

    return ["" if each >= least else why(int(each * 100), least) for each, least in zip(scores, leasts, strict=True)]


def _person(_: Question, candidates: Sequence[Candidate]) -> Column:
    return ["" if each.is_person else "not a person" for each in candidates]


def _local(_: Question, candidates: Sequence[Candidate]) -> Column:
    return ["" if each.is_local else "not of this home" for each in candidates]


class _Targets:
    """The targets of attempts, found among candidates."""

    __slots__ = ("_agents", "_doors", "_ids")

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        self._ids: set[str] = set()
        self._doors: set[tuple[str, str]] = set()
        self._agents: set[tuple[str, str, str]] = set()
        for each in attempts:
            if each.recipient:  # several entries of the directory may lead to one entry point
                self._ids.add(each.recipient)
            else:
                self._doors.add((each.graph, each.entry_point))
                self._agents.add((each.graph, each.entry_point, each.agent))

    def __bool__(self) -> bool:
        return bool(self._ids or self._doors)

    def include(self, candidate: Candidate) -> bool:
        """Return whether the candidate was the target of one of the attempts."""
        if candidate.id in self._ids:
            return True
        door = (candidate.graph, candidate.entry_point)
        return (*door, candidate.agent) in self._agents if candidate.agent else door in self._doors


def _failed_groups(question: Question) -> frozenset[str]:
    """Return the groups of failed targets, and the requesting agent's group if its tools or services have failed."""
    packet = question.packet
    failed = _Targets(each for each in (*packet.attempts, *question.failed) if each.obstacle in _DOWN)
    groups = {each.profile.group for each in question.candidates if failed.include(each)} if failed else set()
    if packet.reason in _TROUBLE:
        asking = _asking(question, question.candidates)
        groups |= {
            each.profile.group for each, is_asking in zip(question.candidates, asking, strict=False) if is_asking
        }
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
"""The filters that always apply, in the order of evaluation: the first one that objects excludes a candidate."""

ON_REQUEST: Final[dict[str, BuiltIn]] = {"person": _person, "local": _local}
"""Filters for selections that name them."""
