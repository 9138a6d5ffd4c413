"""Rules about selections: needs that no candidate meets, rules that never apply, samples, and fields of packets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from gatechart.context import has_any_field
from gatechart.errors.root import nearest
from gatechart.graph.compile import DeclaredHandoff, askings
from gatechart.graph.definition import EntryPoint
from gatechart.graph.graph import AnyGraph
from gatechart.graph.packet_fields import required_fields
from gatechart.graph.selection import TEXT_SCORERS, Best, NeedRule
from gatechart.rules.analysis import Analysis, declared_signals
from gatechart.rules.finding import Hit, Severity, rule
from gatechart.rules.handoffs import place_of
from gatechart.signals.lacking import Lacks
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import Needs, Profile
from gatechart.values.texts import folded
from gatechart.values.transfers import TRANSFER

_KINDS: Final = {"capabilities": "capability", "domains": "domain"}
_IN_A_PACKET: Final = frozenset({"internal_state", "entities"})  # fields of a conversation that the packet includes
_TELL_WORDS: Final = (
    "use a ConversationContext, build the packet with packet=, or allow it if `says` of Choosing reads something else"
)
_ALLOWED: Final = "or allow it if somebody is registered at run time who can"


@dataclass(frozen=True, slots=True)
class _Door:
    """An entry point in the directory."""

    graph: str
    entry: EntryPoint
    profile: Profile

    @property
    def name(self) -> str:
        return f"{self.graph}.{self.entry.name}"


@rule("GC801", Severity.WARNING, "a selection with needs that no entry point meets")
def unfit_selection(analysis: Analysis) -> Iterator[Hit]:
    """Only if the graphs of the application are known, as for GC503.

    No profile, of an entry point or of a known registration, has a capability or a domain with that name, or none meets
    all needs together; or no candidate has the name of an entry. Needs that a function returns are left alone.
    """
    if analysis.among is None:
        return
    known = {door.name: door.profile for door in _doors(analysis.among)}
    known |= {candidate.id: candidate.profile for candidate in analysis.registered}
    for best, place in _selections(analysis.graph).items():
        for problem, remedy in _unfit(best, known):
            yield place, problem, remedy


@rule("GC802", Severity.WARNING, "a rule of needs that never applies")
def rule_out_of_reach(analysis: Analysis) -> Iterator[Hit]:
    """The first rule that applies counts, so a rule never applies if an earlier rule covers its words.

    Neither does a rule for a reason that no handoff of the graph has, if each handoff declares its reason.
    """
    lists = _lists(analysis.graph)
    for rules, place in lists.items():
        for index, later in enumerate(rules):
            earlier = next((other for other in rules[:index] if _covers(other, later)), None)
            if earlier is not None:
                problem = f"the rule for {_words(later)} never applies: the one for {_words(earlier)} stands before it"
                yield place, problem, "put it first, or drop it"
    reasons = _reasons(analysis.graph)
    for rules, place in lists.items():
        for need_rule in rules:
            if need_rule.reason is not None and need_rule.reason not in reasons.get(need_rule, {need_rule.reason}):
                known = ", ".join(sorted(reasons[need_rule]))
                problem = f"the rule for {_words(need_rule)} never applies: the work is handed on for {known}"
                yield place, problem, "drop it, or leave out its reason"


@rule("GC803", Severity.NOTE, "a sample that occurs twice")
def shared_sample(analysis: Analysis) -> Iterator[Hit]:
    """Text scores cannot distinguish entry points with the same sample. Case is ignored."""
    graphs = (analysis.graph, *(graph for graph in analysis.among or () if graph.name != analysis.graph.name))
    owners: dict[str, list[str]] = {}
    for graph in graphs:
        for place, sample in _samples(graph):
            owners.setdefault(_normal(sample), []).append(_owner(graph, place))
    for place, sample in _samples(analysis.graph):
        own = _owner(analysis.graph, place)
        others = [owner for owner in owners[_normal(sample)] if owner != own]
        if others:
            yield place, f"the sample {sample!r} also stands at {', '.join(others)}", "keep it where it belongs"
        elif len(owners[_normal(sample)]) > 1:
            yield place, f"the sample {sample!r} stands twice", "keep it once"


@rule("GC804", Severity.WARNING, "an entry point in the directory with a payload that no packet fills")
def unfilled_payload(analysis: Analysis) -> Iterator[Hit]:
    """A packet has the fields of the source's context, unless a function builds it, so these are compared.

    Only if the graphs of the application are known, as for GC503, and only for selections that may choose the entry
    point.
    """
    for door in _doors([analysis.graph]) if analysis.among is not None else ():
        needed = required_fields(door.entry)
        sources = _sources(analysis.among or (), door) if needed else {}
        missing = {graph: sorted(needed - fields) for graph, fields in sources.items()}
        if sources and all(missing.values()):
            lacking = (f"the context of {graph!r} has no {' and no '.join(names)}" for graph, names in missing.items())
            remedy = "give these fields defaults, or let packet= of the handoff build the packet"
            yield f"entry point {door.entry.name!r}", f"selections find it, but {', '.join(lacking)}", remedy


@rule("GC805", Severity.WARNING, "a selection by words that no packet has")
def no_words(analysis: Analysis) -> Iterator[Hit]:
    """The packet of a ConversationContext has a problem and messages; the packet of another context has only values.

    These are left alone: packets that a function or a model builds, and selections with needs, with entries, or with a
    rule for any text.
    """
    if getattr(analysis.graph.context, "tells_words", False):  # a conversation
        return
    for asking in askings(analysis.graph.nodes):
        for best in asking.handoff.selections if not _is_built(asking) else ():
            if _needs_words(best):
                problem = f"{best.name!r} goes by words, but the context {analysis.graph.context.__name__} tells none"
                yield place_of(asking.state, asking.edge), problem, _TELL_WORDS


def _selections(graph: AnyGraph) -> dict[Best, str]:
    """Return the selections of a graph, each with its first place."""
    places: dict[Best, str] = {}
    for asking in askings(graph.nodes):
        for best in asking.handoff.selections:
            places.setdefault(best, place_of(asking.state, asking.edge))
    return places


# Needs that no candidate meets


def _doors(graphs: Iterable[AnyGraph]) -> Iterator[_Door]:
    for graph in graphs:
        for entry in graph.entry_points.values():
            profile = graph.profile_at(entry.name)
            if profile is not None:
                yield _Door(graph.name, entry, profile)


def _unfit(best: Best, known: Mapping[str, Profile]) -> Iterator[tuple[str, str]]:
    unknown_entries = [entry for entry in best.entries if entry not in known]
    for entry in unknown_entries:
        yield (
            f"nobody in the directory has the id {entry!r}",
            f"{_did_you_mean(entry, tuple(known))}name an entry point with a profile, {_ALLOWED}",
        )
    if unknown_entries:
        return
    profiles = tuple(profile for entry, profile in known.items() if not best.entries or entry in best.entries)
    if not profiles:
        problem = f"{best.name!r} finds nobody: no entry point of the application has a profile"
        yield problem, f"give some a profile=, {_ALLOWED}"
        return
    for needs in best.alternatives:
        unknown = tuple(_unknown(needs, profiles))
        yield from unknown
        if not unknown and not any(map(needs.are_met_by, profiles)):
            yield f"no entry point {_ability(needs)}", f"give one such a profile, {_ALLOWED}"


def _ability(needs: Needs) -> str:
    if needs == Needs(languages=needs.languages):
        return f"speaks {needs.text}"
    return f"has {needs.text}" if needs == Needs(tier=needs.tier) else f"has {needs.text} together"


def _unknown(needs: Needs, profiles: Sequence[Profile]) -> Iterator[tuple[str, str]]:
    for field, word in _KINDS.items():
        known = tuple(dict.fromkeys(name for profile in profiles for name in getattr(profile, field)))
        for name in getattr(needs, field):
            if name not in known:
                yield (
                    f"no profile has the {word} {name!r}",
                    f"{_did_you_mean(name, known)}give it to an entry point, {_ALLOWED}",
                )


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    """Return a similar name as the start of a remedy; empty if there is none."""
    near = nearest(name, known)
    return f"did you mean {near[0]!r}? Or " if near else ""


# Rules that never apply


def _lists(graph: AnyGraph) -> dict[tuple[NeedRule, ...], str]:
    """Return the lists of rules in selections and in `Lacks` signals, each with its first place."""
    places: dict[tuple[NeedRule, ...], str] = {}
    for best, place in _selections(graph).items():
        places.setdefault(best.rules, place)
    for place, detector in _lacks(graph):
        places.setdefault(detector.counted, place)
    return places


def _lacks(graph: AnyGraph) -> Iterator[tuple[str, Lacks]]:
    for place, signals in declared_signals(graph):
        for signal in signals.signals:
            detectors = (detector for detector in signal.when.detectors if isinstance(detector, Lacks))
            yield from ((f"{place}, {signal.name}", detector) for detector in detectors)


def _covers(earlier: NeedRule, later: NeedRule) -> bool:
    """Return whether an earlier rule applies wherever a later one does."""
    if earlier.reason not in (None, later.reason):
        return False
    if not earlier.words:
        return True
    reason = earlier.reason or Reason.OTHER
    return bool(later.words) and all(earlier.applies(reason, word) for word in later.words)


def _reasons(graph: AnyGraph) -> Mapping[NeedRule, frozenset[Reason]]:
    """Return the reasons of the handoffs that use each rule, without rules that may be used for any reason."""
    reasons: dict[NeedRule, set[Reason]] = {}
    unknown = {need_rule for _, detector in _lacks(graph) for need_rule in detector.counted}
    for asking in askings(graph.nodes):
        for need_rule in chain.from_iterable(best.rules for best in asking.handoff.selections):
            reasons.setdefault(need_rule, set())
            if asking.handoff.reason is None:
                unknown.add(need_rule)
            else:
                reasons[need_rule].add(asking.handoff.reason)
    return {need_rule: frozenset(named) for need_rule, named in reasons.items() if need_rule not in unknown}


def _words(rule: NeedRule) -> str:
    words = " or ".join(map(repr, rule.words)) or "any text"
    return words if rule.reason is None else f"{words} ({rule.reason})"


# Samples that occur twice


def _samples(graph: AnyGraph) -> Iterator[tuple[str, str]]:
    """Yield the samples of a graph, each with the place of its declaration."""
    for sample in graph.profile.samples if graph.profile else ():
        yield "profile", sample
    for door in graph.entry_points.values():
        for sample in door.profile.samples if door.profile else ():
            yield f"entry point {door.name!r}", sample


def _owner(graph: AnyGraph, place: str) -> str:
    return f"{place} of {graph.name!r}"


def _normal(sample: str) -> str:
    return " ".join(folded(sample).split())


# Payloads that no packet fills


def _sources(graphs: Iterable[AnyGraph], door: _Door) -> dict[str, frozenset[str]]:
    """Return the graphs whose selections may choose an entry point, with the fields of their packets.

    Empty if the fields of one of these packets are unknown.
    """
    sources: dict[str, frozenset[str]] = {}
    for graph in graphs:
        matching = [
            asking
            for asking in askings(graph.nodes)
            if any(_may_choose(best, door) for best in asking.handoff.selections)
        ]
        if any(_is_unknown(graph, asking) for asking in matching):
            return {}
        if matching:
            sources[graph.name] = frozenset(graph.context.model_fields)
    return sources


def _may_choose(best: Best, door: _Door) -> bool:
    if best.entries and door.name not in best.entries:
        return False
    return not best.alternatives or any(needs.are_met_by(door.profile) for needs in best.alternatives)


def _is_unknown(graph: AnyGraph, asking: DeclaredHandoff) -> bool:
    """Return whether a packet may have fields beyond the context, from a function, a model or a conversation."""
    has_more = has_any_field(graph.context) or not _IN_A_PACKET.isdisjoint(graph.context.model_fields)
    return _is_built(asking) or has_more


def _is_built(asking: DeclaredHandoff) -> bool:
    """Return whether a function builds the packet, or a model fills it."""
    is_chosen = asking.edge is not None and (asking.edge.event or "").startswith(TRANSFER)
    return asking.handoff.packet is not None or is_chosen


# Words that no packet has


def _needs_words(best: Best) -> bool:
    """Return whether the selection finds no candidate without a text."""
    if best.needs is not None or best.entries:
        return False
    if best.rules:
        return all(need_rule.words for need_rule in best.rules)
    return not TEXT_SCORERS.isdisjoint((*best.weights, *best.order_names))
