"""The choice of a target for a handoff, made by a home of agents outside turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, Final, Protocol

from gatechart.api.directory import ChooseCommand
from gatechart.errors.definition import Fault, InvalidChoosingError
from gatechart.errors.failures import SelectionAnswerError, asking, contained
from gatechart.errors.operation import ChoiceFailedError
from gatechart.errors.root import OutsideError
from gatechart.graph.callables import callable_name
from gatechart.graph.function_faults import call_faults
from gatechart.graph.selection import WEIGHTS, check_selectors
from gatechart.graph.selection_faults import is_amount, is_share
from gatechart.handoff.packet import HandoffPacket, SelectionTerms
from gatechart.hosting.choice_learning import Learning, Lesson, noted
from gatechart.hosting.directory import Directory
from gatechart.hosting.directory_verbs import ensure
from gatechart.hosting.failed_work import just_failed
from gatechart.selection import choose
from gatechart.selection.asking import problem_of
from gatechart.selection.embeddings import Embed, EmbeddingIndex
from gatechart.selection.exploration import BEST, Exploring
from gatechart.selection.learned import Learned
from gatechart.selection.observations import packed
from gatechart.selection.rewards import Reward, kind_of, reward_of
from gatechart.selection.texts import Least, Likeness, index_of, texts_of
from gatechart.values.frozen import replaced, value
from gatechart.values.names import is_number
from gatechart.values.profiles import Candidate, Choice, Profile


class Chooser(Protocol):
    """Chooses the targets of handoffs that name none."""

    async def choose(self, packet: HandoffPacket, now: datetime) -> Choice:
        """Choose a target for the work in a packet, by the packet's own terms.

        The handoff's id seeds the draw among equals, so that a choice that is repeated over the same directory is the
        same. Raises what filters, scorers and the functions of an application raise: the choice is then tried again.
        """
        ...

    async def dry_run(self, command: ChooseCommand, now: datetime) -> Choice:
        """Tell whom work would be handed to, and leave everything as it is. Raises what `AgentHome.choose` raises."""
        ...


@value
class Choosing:
    """How a home chooses whom work is handed to, where selections leave it open."""

    embed: Embed | None = None  # makes vectors of texts, by which they are compared; None: by their words
    says: Callable[[HandoffPacket], str] = problem_of  # the text of a packet that is compared
    least: float | None = None  # text score from which on there is a match; None: what suits the texts
    load: Callable[[Candidate], float | None] | None = None  # how busy one is, from 0 to 1; None: by its open work
    allow_registered: bool = False  # whether what was registered may outrank what a graph of the home declares
    learned: Learned | None = None  # the scorer "learned"; it is what text scores promise until this is trusted
    exploring: Exploring | None = None  # draws now and then among the best few; None: the best one is chosen
    reward: Reward = reward_of  # what an outcome is worth, from 0 to 1

    @property
    def records(self) -> bool:
        """Whether choices are kept, to be joined by what comes of them."""
        return self.learned is not None or self.exploring is not None


USUAL = Choosing()
LEARNING: Final = frozenset(("learned", "history"))
"""Scorers that need what is kept of earlier choices."""
_TAKES: Final = {
    "embed": "(texts)",
    "says": "(packet)",
    "load": "(candidate)",
    "reward": "(outcome)",
}  # what each is called with
_A_SHARE: Final = (is_share, "a number from 0 to 1")
_FITS: Final[Mapping[str, Mapping[str, tuple[Callable[[Any], bool], str]]]] = {
    "exploring": {
        "share": _A_SHARE,
        "among": (lambda given: is_number(given) and given >= 1 and given == int(given), "a whole number of 1 or more"),
    },
    "learned": {
        "exploration": (is_amount, "a number of 0 or more"),
        "loss": _A_SHARE,
        "deficit": _A_SHARE,
        "ridge": (lambda given: is_number(given) and given > 0, "a number above 0"),
        "trusted": (lambda given: isinstance(given, bool), "True or False"),
    },
}  # what the fields of Exploring and Learned must be


def check_choosing(choosing: Choosing) -> None:
    """Raise InvalidChoosingError with all faults of how a home is to choose."""
    faults = tuple(_faults(choosing))
    if faults:
        raise InvalidChoosingError(faults)


def _faults(choosing: Any) -> Iterator[Fault]:
    if not isinstance(choosing, Choosing):
        yield Fault("choosing", f"{choosing!r} is no Choosing", "write Choosing(embed=...)")
        return
    for name, parameters in _TAKES.items():
        function = getattr(choosing, name)
        if function is not None or name in ("says", "reward"):
            yield from call_faults("choosing", f"{name}={callable_name(function)}", function, parameters, 1)
    if choosing.least is not None and not is_share(choosing.least):
        yield Fault("choosing", f"least={choosing.least!r} is no text score", "pass a number from 0 to 1")
    for name, kind in (("learned", Learned), ("exploring", Exploring)):
        given = getattr(choosing, name)
        if isinstance(given, kind):
            yield from _misfits(name, given)
        elif given is not None:
            yield Fault("choosing", f"{name}={given!r} is no {kind.__name__}", f"write {name}={kind.__name__}()")


def _misfits(name: str, given: Learned | Exploring) -> Iterator[Fault]:
    for field, (fits, remedy) in _FITS[name].items():
        number = getattr(given, field)
        if not fits(number):
            yield Fault("choosing", f"{name}: {field}={number!r} cannot be", f"pass {remedy}")


BY_TEXT: Final = LEARNING | {"text"}
ANYBODY: Final = SelectionTerms(weights=dict(WEIGHTS))
"""What a dry run looks for if it is not told."""


class DirectoryChooser:
    """Chooses among the entries of a home's directory. Fulfils Chooser."""

    def __init__(self, directory: Directory, choosing: Choosing = USUAL, *, keeps: bool = True) -> None:
        """Create the chooser of a home.

        keeps: begin the agent that keeps what comes of the work; otherwise whoever asks for a choice does so.
        """
        self._directory = directory
        self._keeps = keeps
        self._choosing = choosing
        self._texts = _Texts(choosing)
        self._learning = Learning(directory, choosing.learned, choosing.reward)

    async def choose(self, packet: HandoffPacket, now: datetime) -> Choice:
        """See Chooser."""
        choice, lesson = await self._considered(packet, packet.selection or SelectionTerms(), now)
        if choice.candidate is None:
            return choice
        if self._keeps:
            await ensure(self._directory, choice.candidate.id)  # there, what comes of the work is kept
        return choice if lesson is None else replaced(choice, noted=noted(choice, lesson, packet))

    async def dry_run(self, command: ChooseCommand, now: datetime) -> Choice:
        """Execute `choose`. Raises UnknownSelectorError for a filter or scorer that the graph that asks lacks."""
        terms = command.packet.selection or ANYBODY
        if command.needs is not None:
            needs = terms.needs.joined(command.needs)
            told: dict[str, Any] = {"capabilities": needs.capabilities, "domains": needs.domains, "tier": needs.tier}
            terms = terms.model_copy(update={**told, "languages": needs.languages, "all": needs.all})
        check_selectors(terms.order or terms.weights, terms.filters, self._functions(command.packet))
        return (await self._considered(command.packet, terms, now))[0]

    def _functions(self, packet: HandoffPacket) -> Mapping[str, Any]:
        """Return the filters and scorers of the graph that asks."""
        asking = self._directory.graph(packet.source_graph) if packet.source_graph else None
        return {} if asking is None else asking.selectors

    async def _considered(
        self, packet: HandoffPacket, terms: SelectionTerms, now: datetime
    ) -> tuple[Choice, Lesson | None]:
        """Return the choice that would be made now, and what it learned from; leave everything as it is."""
        with _functions_of_the_application(packet):
            everybody = await self._directory.candidates()
        # Only the groups of candidates that failed count, so where there are none nothing has to be read.
        is_told = packet.source_agent and any(each.profile.group for each in everybody)
        failed = await just_failed(self._directory.home, packet.source_agent) if is_told else ()
        with _functions_of_the_application(packet):
            candidates = await self._performing(packet, terms, everybody)
            names = set(terms.order or terms.weights)
            compared = await self._texts.compared(packet, names, candidates, is_recorded=self._choosing.records)
            scores = {} if compared is None else {"text": compared.scores}
            lesson = await self._lesson(compared, candidates, names, now)
            choice = choose(
                packet,
                terms,
                candidates,
                now=now,
                seed=packet.handoff_id,
                scores=scores if lesson is None else {**scores, **lesson.scores},
                functions=self._functions(packet),
                least=Least.alike(0.0) if compared is None else compared.least,
                allow_registered=self._choosing.allow_registered,
                exploring=self._choosing.exploring or BEST,
                parts=None if lesson is None else lesson.parts,
                failed=failed,
            )
        return choice, lesson

    async def _lesson(
        self,
        compared: _Compared | None,
        candidates: Sequence[Candidate],
        names: Set[str],
        now: datetime,
    ) -> Lesson | None:
        """Return what earlier choices say about this one; None if none are kept, and the terms do not ask for it."""
        if compared is None or (not self._choosing.records and names.isdisjoint(LEARNING)):
            return None
        features = packed(compared.likeness.features_of(compared.text))
        return await self._learning.lesson(features, compared.scores, candidates, names, now)

    async def _performing(
        self, packet: HandoffPacket, terms: SelectionTerms, candidates: Sequence[Candidate]
    ) -> Sequence[Candidate]:
        """Return the candidates with their performance for this kind of problem."""
        if "performance" not in (terms.order or terms.weights):
            return candidates
        kind = kind_of(terms.needs, packet.reason)
        known = await self._directory.performances()
        special = {name: each.of(kind) for name, each in known.items() if kind in dict(each.kinds)}
        if not special:
            return candidates
        return [replaced(each, performance=special[each.id]) if each.id in special else each for each in candidates]


@contextmanager
def _functions_of_the_application(packet: HandoffPacket) -> Iterator[None]:
    """Raise ChoiceFailedError for what they raise within, which must not be taken for the store's."""
    try:
        with contained():
            yield
    except OutsideError as error:
        raise ChoiceFailedError(packet.handoff_id, str(error)) from error


@value
class _Compared:
    """How well a text fits each candidate."""

    text: str
    likeness: Likeness
    scores: Mapping[str, float]
    least: Least  # from which on there is a match


class _Texts:
    """How well texts fit the candidates, whose own texts are looked through when they have changed."""

    def __init__(self, choosing: Choosing) -> None:
        self._choosing = choosing
        self._known: Sequence[tuple[str, Profile, str]] = ()
        self._likeness: Likeness | None = None
        self._one_builds = asyncio.Lock()

    async def compared(
        self, packet: HandoffPacket, names: Set[str], candidates: Sequence[Candidate], *, is_recorded: bool
    ) -> _Compared | None:
        """Return how well a packet's text fits each candidate; None if no scorer asks for it.

        names: of the scorers in use. is_recorded: whether the choice is kept, together with the text scores.
        """
        if not is_recorded and names.isdisjoint(BY_TEXT):
            return None
        async with self._one_builds:
            likeness = await self._newest(candidates)
        with asking("says="):
            text = self._choosing.says(packet)
        if not isinstance(text, str):
            raise SelectionAnswerError("says=", repr(text), "the text that is compared")
        # Vectors may come from a model that takes its time; words take less than the way to a thread.
        is_quick = self._choosing.embed is None
        found = likeness.scores(text) if is_quick else await asyncio.to_thread(likeness.scores, text)
        asked = self._choosing.least
        return _Compared(text, likeness, found, likeness.least if asked is None else Least.alike(asked))

    async def _newest(self, candidates: Sequence[Candidate]) -> Likeness:
        # These are mostly the same objects as before, and so compared at once; the texts made of them are not.
        told_by = [(each.id, each.profile, each.text) for each in candidates]
        if self._likeness is None or told_by != self._known:
            self._likeness = await asyncio.to_thread(self._built, candidates)
            self._known = told_by
        return self._likeness

    def _built(self, candidates: Sequence[Candidate]) -> Likeness:
        embed, before = self._choosing.embed, self._likeness
        if embed is None:
            return index_of(candidates)
        texts = {each.id: texts_of(each) for each in candidates}
        return EmbeddingIndex(
            texts, partial(_embedded, embed), known=before.vectors if isinstance(before, EmbeddingIndex) else {}
        )


def _embedded(embed: Embed, texts: Sequence[str]) -> Iterable[Iterable[float]]:
    with asking("embed="):
        return embed(texts)
