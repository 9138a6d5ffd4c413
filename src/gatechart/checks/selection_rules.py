"""Rules about selections: what nobody can do, what never applies, samples that stand twice, what packets lack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from gatechart.checks.analysis import Analysis
from gatechart.checks.finding import Hit, Severity, rule
from gatechart.checks.handoff_rules import place_of
from gatechart.checks.signal_rules import declared
from gatechart.context import has_any_field
from gatechart.errors import nearest
from gatechart.graph import TEXT_SCORERS, AnyGraph, Asking, Best, EntryPoint, NeedRule, askings
from gatechart.signals import Lacks
from gatechart.values import TRANSFER, Needs, Profile, Reason
from gatechart.values.texts import folded

_KINDS: Final = {"capabilities": "capability", "domains": "domain"}
_IN_A_PACKET: Final = frozenset({"internal_state", "entities"})  # whatever a conversation has there goes along
_TELL_WORDS: Final = (
    "use a ConversationContext, build the packet with packet=, or allow it if `says` of Choosing reads something else"
)
_ALLOWED: Final = "or allow it if somebody is registered at run time who can"


@dataclass(frozen=True, slots=True)
class _Door:
    """An entry point that is in the directory."""

    graph: str
    entry: EntryPoint
    profile: Profile

    @property
    def name(self) -> str:
        return f"{self.graph}.{self.entry.name}"


@rule("GC801", Severity.WARNING, "a selection that asks for what no entry point can do")
def nobody_fits(analysis: Analysis) -> Iterator[Hit]:
    """Only if the graphs of the application are known, as for GC503.

    No profile, of an entry point or of whoever is known to be registered, has a capability or a domain of that
    name, or none has all that is needed together; or nobody has the name of an entry. Needs that a function returns are
    left alone.
    """
    if analysis.among is None:
        return
    known = {door.name: door.profile for door in _doors(analysis.among)}
    known |= {each.id: each.profile for each in analysis.registered}
    for best, place in _selections(analysis.graph).items():
        for problem, remedy in _unfit(best, known):
            yield place, problem, remedy


@rule("GC802", Severity.WARNING, "a rule of needs that never applies")
def rule_out_of_reach(analysis: Analysis) -> Iterator[Hit]:
    """The first rule that applies counts, so one whose words an earlier one mentions as well is never asked.

    Nor is one for a reason for which the graph hands nothing on, if each of its handoffs names its reason.
    """
    lists = _lists(analysis.graph)
    for rules, place in lists.items():
        for index, later in enumerate(rules):
            earlier = next((each for each in rules[:index] if _covers(each, later)), None)
            if earlier is not None:
                problem = f"the rule for {_words(later)} never applies: the one for {_words(earlier)} stands before it"
                yield place, problem, "put it first, or drop it"
    reasons = _reasons(analysis.graph)
    for rules, place in lists.items():
        for each in rules:
            if each.reason is not None and each.reason not in reasons.get(each, {each.reason}):
                known = ", ".join(sorted(reasons[each]))
                problem = f"the rule for {_words(each)} never applies: the work is handed on for {known}"
                yield place, problem, "drop it, or leave out its reason"


@rule("GC803", Severity.NOTE, "a sample that stands twice")
def shared_sample(analysis: Analysis) -> Iterator[Hit]:
    """Texts cannot tell entry points apart that have the same sample. Upper and lower case make no difference."""
    graphs = (analysis.graph, *(each for each in analysis.among or () if each.name != analysis.graph.name))
    owners: dict[str, list[str]] = {}
    for graph in graphs:
        for place, sample in _samples(graph):
            owners.setdefault(_normal(sample), []).append(_owner(graph, place))
    for place, sample in _samples(analysis.graph):
        here = _owner(analysis.graph, place)
        others = [each for each in owners[_normal(sample)] if each != here]
        if others:
            yield place, f"the sample {sample!r} also stands at {', '.join(others)}", "keep it where it belongs"
        elif len(owners[_normal(sample)]) > 1:
            yield place, f"the sample {sample!r} stands twice", "keep it once"


@rule("GC804", Severity.WARNING, "an entry point in the directory with a payload that no packet fills")
def unfilled_payload(analysis: Analysis) -> Iterator[Hit]:
    """A packet has the fields of the source's context, unless a function builds it, so these are compared.

    Only if the graphs of the application are known, as for GC503, and only for selections that the entry point fits.
    """
    for door in _doors([analysis.graph]) if analysis.among is not None else ():
        needed = required_fields(door.entry)
        sources = _sources(analysis.among or (), door) if needed else {}
        missing = {graph: sorted(needed - fields) for graph, fields in sources.items()}
        if sources and all(missing.values()):
            lacking = (f"the context of {graph!r} has no {' and no '.join(each)}" for graph, each in missing.items())
            remedy = "give these fields defaults, or let packet= of the handoff build the packet"
            yield f"entry point {door.entry.name!r}", f"selections find it, but {', '.join(lacking)}", remedy


@rule("GC805", Severity.WARNING, "a selection by words that no packet has")
def no_words(analysis: Analysis) -> Iterator[Hit]:
    """The packet of a ConversationContext has a problem and what was said; that of another context has values alone.

    Left alone are packets that a function or a model builds, and selections with needs, with entries, or with a rule
    for any text.
    """
    if getattr(analysis.graph.context, "tells_words", False):  # a conversation
        return
    for asking in askings(analysis.graph.nodes):
        for best in asking.handoff.selections if not _is_built(asking) else ():
            if _goes_by_words(best):
                problem = f"{best.name!r} goes by words, but the context {analysis.graph.context.__name__} tells none"
                yield place_of(asking.state, asking.edge), problem, _TELL_WORDS


def _selections(graph: AnyGraph) -> dict[Best, str]:
    """Return the selections of a graph, each with the first place where it is declared."""
    found: dict[Best, str] = {}
    for asking in askings(graph.nodes):
        for best in asking.handoff.selections:
            found.setdefault(best, place_of(asking.state, asking.edge))
    return found


# What nobody can do


def _doors(graphs: Iterable[AnyGraph]) -> Iterator[_Door]:
    for graph in graphs:
        for entry in graph.entry_points.values():
            profile = graph.profile_at(entry.name)
            if profile is not None:
                yield _Door(graph.name, entry, profile)


def _unfit(best: Best, known: Mapping[str, Profile]) -> Iterator[tuple[str, str]]:
    unnamed = [each for each in best.entries if each not in known]
    for each in unnamed:
        yield (
            f"nobody in the directory has the id {each!r}",
            f"{_meant(each, tuple(known))}name an entry point with a profile, {_ALLOWED}",
        )
    if unnamed:
        return
    profiles = tuple(profile for each, profile in known.items() if not best.entries or each in best.entries)
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
        known = tuple(dict.fromkeys(name for each in profiles for name in getattr(each, field)))
        for name in getattr(needs, field):
            if name not in known:
                yield (
                    f"no profile has the {word} {name!r}",
                    f"{_meant(name, known)}give it to an entry point, {_ALLOWED}",
                )


def _meant(name: str, known: Sequence[str]) -> str:
    """Return what may have been meant, as the beginning of a remedy; empty if nothing is near."""
    near = nearest(name, known)
    return f"did you mean {near[0]!r}? Or " if near else ""


# Rules that never apply


def _lists(graph: AnyGraph) -> dict[tuple[NeedRule, ...], str]:
    """Return the lists of rules, of selections and of signals for what is lacking, each with its first place."""
    found: dict[tuple[NeedRule, ...], str] = {}
    for best, place in _selections(graph).items():
        found.setdefault(best.rules, place)
    for place, detector in _lacks(graph):
        found.setdefault(detector.counted, place)
    return found


def _lacks(graph: AnyGraph) -> Iterator[tuple[str, Lacks]]:
    for place, signals in declared(graph):
        for signal in signals.signals:
            yield from ((f"{place}, {signal.name}", each) for each in signal.when.detectors if isinstance(each, Lacks))


def _covers(earlier: NeedRule, later: NeedRule) -> bool:
    """Whether an earlier rule applies wherever a later one does."""
    if earlier.reason not in (None, later.reason):
        return False
    if not earlier.words:
        return True
    reason = earlier.reason or Reason.OTHER
    return bool(later.words) and all(earlier.applies(reason, word) for word in later.words)


def _reasons(graph: AnyGraph) -> Mapping[NeedRule, frozenset[Reason]]:
    """Return for each rule why work is handed on by the selections that have it; without those for any reason."""
    found: dict[NeedRule, set[Reason]] = {}
    unknown = {each for _, detector in _lacks(graph) for each in detector.counted}
    for asking in askings(graph.nodes):
        for each in chain.from_iterable(best.rules for best in asking.handoff.selections):
            found.setdefault(each, set())
            if asking.handoff.reason is None:
                unknown.add(each)
            else:
                found[each].add(asking.handoff.reason)
    return {each: frozenset(reasons) for each, reasons in found.items() if each not in unknown}


def _words(rule: NeedRule) -> str:
    words = " or ".join(map(repr, rule.words)) or "any text"
    return words if rule.reason is None else f"{words} ({rule.reason})"


# Samples that stand twice


def _samples(graph: AnyGraph) -> Iterator[tuple[str, str]]:
    """Yield the samples of a graph, each with the place where it is declared."""
    for sample in graph.profile.samples if graph.profile else ():
        yield "profile", sample
    for door in graph.entry_points.values():
        for sample in door.profile.samples if door.profile else ():
            yield f"entry point {door.name!r}", sample


def _owner(graph: AnyGraph, place: str) -> str:
    return f"{place} of {graph.name!r}"


def _normal(sample: str) -> str:
    return " ".join(folded(sample).split())


# Payloads that are lost


def required_fields(entry: EntryPoint) -> frozenset[str]:
    """Return the fields that a payload cannot do without."""
    takes = entry.takes
    if takes is None or getattr(takes, "fits_every_context", False):  # a packet
        return frozenset()
    return frozenset(name for name, each in takes.model_fields.items() if each.is_required())


def _sources(graphs: Iterable[AnyGraph], door: _Door) -> dict[str, frozenset[str]]:
    """Return the graphs whose selections an entry point may fit, with the fields of their packets.

    Empty where it is unknown what the packets of one of them have.
    """
    found: dict[str, frozenset[str]] = {}
    for graph in graphs:
        asked = [each for each in askings(graph.nodes) if any(_may_fit(best, door) for best in each.handoff.selections)]
        if any(_is_unknown(graph, each) for each in asked):
            return {}
        if asked:
            found[graph.name] = frozenset(graph.context.model_fields)
    return found


def _may_fit(best: Best, door: _Door) -> bool:
    if best.entries and door.name not in best.entries:
        return False
    needs = best.alternatives
    return not needs or any(each.are_met_by(door.profile) for each in needs)


def _is_unknown(graph: AnyGraph, asking: Asking) -> bool:
    """Whether a packet has more than the fields of the context: what a function, a model or a conversation brings."""
    has_more = has_any_field(graph.context) or not _IN_A_PACKET.isdisjoint(graph.context.model_fields)
    return _is_built(asking) or has_more


def _is_built(asking: Asking) -> bool:
    """Whether a function builds the packet, or a model says what stands in it."""
    is_chosen = asking.edge is not None and (asking.edge.event or "").startswith(TRANSFER)
    return asking.handoff.packet is not None or is_chosen


# Words that no packet has


def _goes_by_words(best: Best) -> bool:
    """Whether nobody is found without a text."""
    if best.needs is not None or best.entries:
        return False
    if best.rules:
        return all(each.words for each in best.rules)
    return not TEXT_SCORERS.isdisjoint((*best.weights, *best.order_names))
