"""Selections as a graph declares them: what work needs, and how the best target for it is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from gatechart.graph.callables import callable_name
from gatechart.graph.names import one_or_more
from gatechart.values import Candidate, Needs, Reason
from gatechart.values.frozen import fill

Filter: TypeAlias = Callable[[Any, Candidate], bool | str]  # (packet, candidate); False or a reason leaves it out
Scorer: TypeAlias = Callable[[Any, Candidate], float]  # (packet, candidate), from 0 to 1
Needed: TypeAlias = Callable[[Any], Needs]  # (packet)

WEIGHTS: Final[Mapping[str, float]] = {"text": 4.0, "performance": 1.0, "tier": 0.5, "load": 0.5, "affinity": 0.25}
"""The weights of the scorers that a selection uses by default."""


@dataclass(frozen=True, slots=True, init=False)
class NeedRule:
    """What work needs if it is handed on for a reason, and its texts mention a word.

    >>> NeedRule(Needs(domains=("refunds",)), reason=Reason.KNOWLEDGE_GAP, mentions="refund").words
    ('refund',)
    """

    needs: Needs
    reason: Reason | None  # None: any
    words: tuple[str, ...]  # one of them stands in the problem or the suggested action; none: any text

    def __init__(self, needs: Needs, *, reason: Reason | str | None = None, mentions: Iterable[str] | str = ()) -> None:
        fill(self, needs=needs, reason=None if reason is None else Reason(reason), words=one_or_more(mentions))


@dataclass(frozen=True, init=False)
class Best:
    """The best target in the directory for a piece of work, chosen after the turn that asks for it.

    As the target of a handoff, `Handoff(to=Best(...))`, and as a fallback. An offer that its target rejects is made to
    the next best. Nobody is chosen silently: if nothing matches, the next fallback is tried, else the handoff fails.
    """

    needs: Needs | Needed | None  # None: by the rules alone
    rules: tuple[NeedRule, ...]  # those that apply are joined with the needs
    scorers: tuple[tuple[str | Scorer, float], ...]  # with their weights
    filters: tuple[str | Filter, ...]  # besides those that always apply
    least: float | None  # text score from which on there is a match; None: that of the directory

    def __init__(
        self,
        needs: Needs | Needed | None = None,
        *,
        rules: Iterable[NeedRule] | NeedRule = (),
        scorers: Mapping[Any, float] | None = None,
        filters: Iterable[str | Filter] | str | Filter = (),
        least: float | None = None,
    ) -> None:
        given = WEIGHTS if scorers is None else scorers
        fill(
            self,
            needs=needs,
            rules=one_or_more(rules),
            scorers=tuple(given.items()),
            filters=one_or_more(filters),
            least=least,
        )

    @property
    def functions(self) -> tuple[Scorer | Filter, ...]:
        """Filters and scorers of one's own. A packet names them; the graph that declares them has them."""
        return (
            *(each for each, _ in self.scorers if not isinstance(each, str)),
            *(each for each in self.filters if not isinstance(each, str)),
        )

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each scorer, by name.

        >>> Best(scorers={"text": 2.0}).weights
        {'text': 2.0}
        """
        return {_name(scorer): weight for scorer, weight in self.scorers}

    @property
    def filter_names(self) -> tuple[str, ...]:
        """Names of the filters besides those that always apply."""
        return tuple(map(_name, self.filters))


def _name(given: object) -> str:
    return given if isinstance(given, str) else callable_name(given)
