"""Selections as a graph declares them: what work needs, and how the best target for it is found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from gatechart.errors import UnknownSelectorError
from gatechart.graph.callables import callable_name
from gatechart.graph.names import one_or_more
from gatechart.values import Candidate, Needs, Reason
from gatechart.values.frozen import fill
from gatechart.values.texts import UNSPACED, folded, marks

Filter: TypeAlias = Callable[[Any, Candidate], bool | str]  # (packet, candidate); False or a reason leaves it out
Scorer: TypeAlias = Callable[[Any, Candidate], float]  # (packet, candidate), from 0 to 1
Needed: TypeAlias = Callable[[Any], Needs]  # (packet)

WEIGHTS: Final[Mapping[str, float]] = {"text": 4.0, "performance": 1.0, "tier": 0.25, "load": 0.5, "affinity": 0.25}
"""The weights of the scorers that a selection uses by default."""

SCORERS: Final = ("text", "history", "learned", "performance", "load", "tier", "affinity", "cost")
"""Names of the scorers that there are. `gatechart.selection.scorers` has what they compute."""

TEXT_SCORERS: Final = frozenset(("text", "learned"))
"""Names of the scorers by which texts tell candidates apart."""

FILTERS: Final = ("person", "local")
"""Names of the filters that a selection may ask for, besides those that always apply."""


@dataclass(frozen=True, slots=True, init=False)
class NeedRule:
    """What work needs if it is handed on for a reason, and its texts mention a word.

    A word is mentioned where a word of the text begins with it, in whatever case; in Chinese and other scripts that
    have no spaces, it may stand anywhere.

    >>> rule = NeedRule(Needs(domains=("refunds",)), reason=Reason.KNOWLEDGE_GAP, mentions=("refund", "退款"))
    >>> rule.applies(Reason.KNOWLEDGE_GAP, "Refunds, please"), rule.applies(Reason.KNOWLEDGE_GAP, "我要退款")
    (True, True)
    >>> rule.applies(Reason.KNOWLEDGE_GAP, "the prefunded card"), rule.applies(Reason.TIMEOUT, "Refunds, please")
    (False, False)
    """

    needs: Needs
    reason: Reason | None  # None: any
    words: tuple[str, ...]  # one of them stands in the problem or the suggested action; none: any text

    def __init__(self, needs: Needs, *, reason: Reason | str | None = None, mentions: Iterable[str] | str = ()) -> None:
        fill(self, needs=needs, reason=None if reason is None else Reason(reason), words=one_or_more(mentions))

    def applies(self, reason: Reason, text: str) -> bool:
        """Tell whether the rule applies to work that is handed on for a reason, with a text about it."""
        if self.reason is not None and self.reason is not reason:
            return False
        return not self.words or _search(self.words).search(folded(text)) is not None


@dataclass(frozen=True, init=False)
class Best:
    """The best target in the directory for a piece of work, chosen after the turn that asks for it.

    As the target of a handoff, `Handoff(to=Best(...))`, and as a fallback. An offer that its target rejects is made to
    the next best. Nobody is chosen silently: if nothing matches, the next fallback is tried, else the handoff fails.

    Of the rules, the first that applies says what the work needs, so that "cancel the order" stands above "order". If
    none applies, and neither `needs` nor a text score tells the candidates apart, nothing matches.

    With `entries`, one of those is asked, such as a person: `Best(entries="anna")` takes her place as any choice does.

    By default the scorers' weighted sum decides. `order` has them decide one after the other in place of that:

    >>> Best(Needs(tier=2), order=("tier", "performance", "load")).order
    ('tier', 'performance', 'load')
    """

    needs: Needs | Needed | None  # None: by the rules alone
    rules: tuple[NeedRule, ...]  # the first that applies is joined with the needs
    scorers: tuple[tuple[str | Scorer, float], ...]  # with their weights; none if there is an order
    order: tuple[str | Scorer, ...]  # a later one decides between those that are equal by the earlier ones
    filters: tuple[str | Filter, ...]  # besides those that always apply
    least: float | None  # text score from which on there is a match; None: that of the directory
    entries: tuple[str, ...]  # ids in the directory: one of these, whatever texts say; none: anybody
    name: str  # in drawings, names of tools and of states that wait; "best" by default

    def __init__(
        self,
        needs: Needs | Needed | None = None,
        *,
        rules: Iterable[NeedRule] | NeedRule = (),
        scorers: Mapping[Any, float] | None = None,
        order: Iterable[str | Scorer] | str | Scorer = (),
        filters: Iterable[str | Filter] | str | Filter = (),
        least: float | None = None,
        entries: Iterable[str] | str = (),
        name: str = "best",
    ) -> None:
        ordered = one_or_more(order)
        if ordered and scorers is not None:
            raise ValueError("Best() takes weights with scorers=, or an order= that decides in place of them, not both")
        if scorers is not None and not isinstance(scorers, Mapping):
            raise ValueError(f'Best(scorers={scorers!r}) has no weights; write scorers={{"text": 4, "load": 1}}')
        given = WEIGHTS if scorers is None and not ordered else scorers or {}
        fill(
            self,
            needs=needs,
            rules=one_or_more(rules),
            scorers=tuple(given.items()),
            order=ordered,
            filters=one_or_more(filters),
            least=least,
            entries=one_or_more(entries),
            name=name,
        )

    @property
    def alternatives(self) -> tuple[Needs, ...]:
        """What work may need by it, as far as it is declared; empty if a function says what is needed.

        >>> [each.text for each in Best(Needs(tier=2), rules=NeedRule(Needs(domains=("refunds",)))).alternatives]
        ['tier 2', 'refunds, tier 2']
        """
        if self.needs is not None and not isinstance(self.needs, Needs):
            return ()
        declared = self.needs or Needs()
        return tuple(dict.fromkeys((declared, *(declared.joined(each.needs) for each in self.rules))))

    @property
    def functions(self) -> tuple[Scorer | Filter, ...]:
        """Filters and scorers of one's own. A packet names them; the graph that declares them has them."""
        named = (*(each for each, _ in self.scorers), *self.order, *self.filters)
        return tuple(each for each in named if not isinstance(each, str))

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each scorer, by name; empty if there is an order.

        >>> Best(scorers={"text": 2.0}).weights
        {'text': 2.0}
        """
        return {_name(scorer): weight for scorer, weight in self.scorers}

    @property
    def order_names(self) -> tuple[str, ...]:
        """Names of the scorers that decide one after the other."""
        return tuple(map(_name, self.order))

    @property
    def filter_names(self) -> tuple[str, ...]:
        """Names of the filters besides those that always apply."""
        return tuple(map(_name, self.filters))


def check_selectors(scorers: Iterable[str], filters: Iterable[str], own: Iterable[str]) -> None:
    """Raise UnknownSelectorError for a name that is neither built in nor of a function of one's own.

    >>> check_selectors(("text", "nearness"), ("person",), own=("nearness",))
    """
    for kind, named, built_in in (("scorer", scorers, SCORERS), ("filter", filters, FILTERS)):
        known = (*built_in, *own)
        for each in named:
            if each not in known:
                raise UnknownSelectorError(kind, each, known)


def _name(given: object) -> str:
    return given if isinstance(given, str) else callable_name(given)


@lru_cache(maxsize=1024)
def _search(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(_pattern, words)))


def _pattern(word: str) -> str:
    plain = folded(word)
    if re.match(f"[{UNSPACED}]", plain):
        return re.escape(plain)
    within = "" if plain.isascii() else f"(?<![{marks()}])"
    return rf"(?<![^\W{UNSPACED}]){within}{re.escape(plain)}"
