"""Selections as a graph declares them: the needs of work, and how its best target is chosen."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from gatechart.errors.event import UnknownSelectorError
from gatechart.graph.callables import callable_name
from gatechart.graph.names import one_or_more
from gatechart.values.frozen import fill
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import Candidate, Needs
from gatechart.values.texts import UNSPACED, folded, marks

Filter: TypeAlias = Callable[[Any, Candidate], bool | str]  # (packet, candidate); False or a reason excludes it
Scorer: TypeAlias = Callable[[Any, Candidate], float]  # (packet, candidate), from 0 to 1
Needed: TypeAlias = Callable[[Any], Needs]  # (packet)

WEIGHTS: Final[Mapping[str, float]] = {"text": 4.0, "performance": 1.0, "tier": 0.25, "load": 0.5, "affinity": 0.25}
"""The weights of the scorers that a selection uses by default."""

SCORERS: Final = ("text", "history", "learned", "performance", "load", "tier", "affinity", "cost")
"""Names of the built-in scorers. `gatechart.selection.scorers` computes them."""

TEXT_SCORERS: Final = frozenset(("text", "learned"))
"""Names of the scorers that compare texts."""

FILTERS: Final = ("person", "local")
"""Names of the optional filters of a selection. Other filters always apply."""


@dataclass(frozen=True, slots=True, init=False)
class NeedRule:
    """A rule for the needs of work, by the reason for its handoff and by words in its texts.

    A word matches at the start of any word of the text, regardless of case. In Chinese and other scripts without
    spaces, it matches anywhere.

    >>> rule = NeedRule(Needs(domains=("refunds",)), reason=Reason.KNOWLEDGE_GAP, mentions=("refund", "退款"))
    >>> rule.applies(Reason.KNOWLEDGE_GAP, "Refunds, please"), rule.applies(Reason.KNOWLEDGE_GAP, "我要退款")
    (True, True)
    >>> rule.applies(Reason.KNOWLEDGE_GAP, "the prefunded card"), rule.applies(Reason.TIMEOUT, "Refunds, please")
    (False, False)
    """

    needs: Needs
    reason: Reason | None  # None: any
    words: tuple[str, ...]  # the problem or the suggested action mentions one of them; empty: any text

    def __init__(self, needs: Needs, *, reason: Reason | str | None = None, mentions: Iterable[str] | str = ()) -> None:
        fill(self, needs=needs, reason=None if reason is None else Reason(reason), words=one_or_more(mentions))

    def applies(self, reason: Reason, text: str) -> bool:
        """Return whether the rule applies to work handed on for this reason, with this text about it."""
        if self.reason is not None and self.reason is not reason:
            return False
        return not self.words or _search(self.words).search(folded(text)) is not None


@dataclass(frozen=True, init=False)
class Best:
    """The best target in the directory for a piece of work, chosen after the turn that requests the handoff.

    Use it as the target of a handoff, `Handoff(to=Best(...))`, or as a fallback. A rejected offer goes to the next best
    target. No target is chosen without a match: then the next fallback is tried, or else the handoff fails.

    The first rule that applies determines the needs, so "cancel the order" must come before "order". If none applies,
    and neither `needs` nor a text score distinguishes the candidates, nothing matches.

    With `entries`, only these are candidates, such as a person: `Best(entries="anna")` counts towards her capacity.

    By default the weighted sum of the scores decides. With `order`, the scorers decide one after the other instead:

    >>> Best(Needs(tier=2), order=("tier", "performance", "load")).order
    ('tier', 'performance', 'load')
    """

    needs: Needs | Needed | None  # None: only the rules apply
    rules: tuple[NeedRule, ...]  # needs of the first that applies are joined with `needs`
    scorers: tuple[tuple[str | Scorer, float], ...]  # with their weights; empty if there is an order
    order: tuple[str | Scorer, ...]  # each breaks the ties of the ones before
    filters: tuple[str | Filter, ...]  # in addition to the filters that always apply
    least: float | None  # lowest text score of a match; None: the directory's
    entries: tuple[str, ...]  # ids in the directory to choose from, regardless of texts; empty: all
    name: str  # used in drawings, and in names of tools and waiting states; "best" by default

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
        weights = WEIGHTS if scorers is None and not ordered else scorers or {}
        fill(
            self,
            needs=needs,
            rules=one_or_more(rules),
            scorers=tuple(weights.items()),
            order=ordered,
            filters=one_or_more(filters),
            least=least,
            entries=one_or_more(entries),
            name=name,
        )

    @property
    def alternatives(self) -> tuple[Needs, ...]:
        """The possible needs, as declared; empty if a function determines them.

        >>> [each.text for each in Best(Needs(tier=2), rules=NeedRule(Needs(domains=("refunds",)))).alternatives]
        ['tier 2', 'refunds, tier 2']
        """
        if self.needs is not None and not isinstance(self.needs, Needs):
            return ()
        declared = self.needs or Needs()
        return tuple(dict.fromkeys((declared, *(declared.joined(rule.needs) for rule in self.rules))))

    @property
    def functions(self) -> tuple[Scorer | Filter, ...]:
        """The custom filters and scorers. Packets hold only their names; the declaring graph has the functions."""
        named = (*(selector for selector, _ in self.scorers), *self.order, *self.filters)
        return tuple(selector for selector in named if not isinstance(selector, str))

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each scorer, by name; empty if there is an order.

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
        """Names of the filters, without the filters that always apply."""
        return tuple(map(_name, self.filters))


def check_selectors(scorers: Iterable[str], filters: Iterable[str], own: Iterable[str]) -> None:
    """Raise UnknownSelectorError for a name that is neither built in nor of a custom function.

    >>> check_selectors(("text", "nearness"), ("person",), own=("nearness",))
    """
    for kind, names, built_in in (("scorer", scorers, SCORERS), ("filter", filters, FILTERS)):
        known = (*built_in, *own)
        for name in names:
            if name not in known:
                raise UnknownSelectorError(kind, name, known)


def _name(selector: object) -> str:
    return selector if isinstance(selector, str) else callable_name(selector)


@lru_cache(maxsize=1024)
def _search(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(_pattern, words)))


def _pattern(word: str) -> str:
    plain = folded(word)
    if re.match(f"[{UNSPACED}]", plain):
        return re.escape(plain)
    within = "" if plain.isascii() else f"(?<![{marks()}])"
    return rf"(?<![^\W{UNSPACED}]){within}{re.escape(plain)}"
