"""Choose a target for a handoff, in a home of agents, outside turns."""

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
from gatechart.hosting.choice_learning import LearnedAdvice, Learning, noted
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
from gatechart.selection.texts import Least, TextScorer, index_of, texts_of
from gatechart.values.frozen import replaced, value
from gatechart.values.names import is_number
from gatechart.values.profiles import Candidate, Choice, Profile


class Chooser(Protocol):
    """Chooses the targets of handoffs that do not name one."""

    async def choose(self, packet: HandoffPacket, now: datetime) -> Choice:
        """Choose a target for the work in a packet, by the packet's selection terms.

        The handoff's id seeds the draw among equals, so that a repeat over the same directory chooses the same target.
        Passes on exceptions of filters, scorers and functions of the application: the choice is then retried.
        """
        ...

    async def dry_run(self, command: ChooseCommand, now: datetime) -> Choice:
        """Return the choice for some work without changing anything. Raises as `AgentHome.choose` does."""
        ...


@value
class Choosing:
    """How a home chooses the targets of handoffs: settings that the selections themselves do not contain."""

    embed: Embed | None = None  # vectors of texts for comparison; None: compare words
    says: Callable[[HandoffPacket], str] = problem_of  # the text of a packet for comparison
    least: float | None = None  # minimum text score of a match; None: chosen to suit the texts
    load: Callable[[Candidate], float | None] | None = None  # load, from 0 to 1; None: by open work
    allow_registered: bool = False  # whether registered entries may outrank entry points of the home's graphs
    learned: Learned | None = None  # the scorer "learned"; it predicts from text scores alone until this is trusted
    exploring: Exploring | None = None  # sometimes draws among the best few; None: always choose the best
    reward: Reward = reward_of  # reward of an outcome, from 0 to 1

    @property
    def records(self) -> bool:
        """Whether choices are recorded, for the outcomes to be added later."""
        return self.learned is not None or self.exploring is not None


USUAL = Choosing()
LEARNING: Final = frozenset(("learned", "history"))
"""Scorers that need the records of earlier choices."""
_PARAMETERS: Final = {
    "embed": "(texts)",
    "says": "(packet)",
    "load": "(candidate)",
    "reward": "(outcome)",
}  # of each function
_A_SHARE: Final = (is_share, "a number from 0 to 1")
_LIMITS: Final[Mapping[str, Mapping[str, tuple[Callable[[Any], bool], str]]]] = {
    "exploring": {
        "share": _A_SHARE,
        "among": (
            lambda number: is_number(number) and number >= 1 and number == int(number),
            "a whole number of 1 or more",
        ),
    },
    "learned": {
        "exploration": (is_amount, "a number of 0 or more"),
        "loss": _A_SHARE,
        "deficit": _A_SHARE,
        "ridge": (lambda number: is_number(number) and number > 0, "a number above 0"),
        "trusted": (lambda flag: isinstance(flag, bool), "True or False"),
    },
}  # checks of the fields of Exploring and Learned, and their valid values in words


def check_choosing(choosing: Choosing) -> None:
    """Raise InvalidChoosingError with all faults of the settings."""
    faults = tuple(_faults(choosing))
    if faults:
        raise InvalidChoosingError(faults)


def _faults(choosing: Any) -> Iterator[Fault]:
    if not isinstance(choosing, Choosing):
        yield Fault("choosing", f"{choosing!r} is not a Choosing", "write Choosing(embed=...)")
        return
    for name, parameters in _PARAMETERS.items():
        function = getattr(choosing, name)
        if function is not None or name in ("says", "reward"):
            yield from call_faults("choosing", f"{name}={callable_name(function)}", function, parameters, 1)
    if choosing.least is not None and not is_share(choosing.least):
        yield Fault("choosing", f"least={choosing.least!r} is not a text score", "pass a number from 0 to 1")
    for name, expected in (("learned", Learned), ("exploring", Exploring)):
        settings = getattr(choosing, name)
        if isinstance(settings, expected):
            yield from _field_faults(name, settings)
        elif settings is not None:
            class_name = expected.__name__
            yield Fault("choosing", f"{name}={settings!r} is not a valid {class_name}", f"write {name}={class_name}()")


def _field_faults(name: str, settings: Learned | Exploring) -> Iterator[Fault]:
    for field, (is_valid, remedy) in _LIMITS[name].items():
        number = getattr(settings, field)
        if not is_valid(number):
            yield Fault("choosing", f"{name}: {field}={number!r} is not valid", f"pass {remedy}")


BY_TEXT: Final = LEARNING | {"text"}
ANYBODY: Final = SelectionTerms(weights=dict(WEIGHTS))
"""The terms of a dry run whose packet has none."""


class DirectoryChooser:
    """Chooses among the entries of a home's directory. Fulfils Chooser."""

    def __init__(self, directory: Directory, choosing: Choosing = USUAL, *, keeps: bool = True) -> None:
        """Create the chooser of a home.

        keeps: start the agent that records the outcome of the work; if False, the caller of `choose` starts it.
        """
        self._directory = directory
        self._keeps = keeps
        self._choosing = choosing
        self._texts = _Texts(choosing)
        self._learning = Learning(directory, choosing.learned, choosing.reward)

    async def choose(self, packet: HandoffPacket, now: datetime) -> Choice:
        """See Chooser."""
        choice, lesson = await self._choice_and_lesson(packet, packet.selection or SelectionTerms(), now)
        if choice.candidate is None:
            return choice
        if self._keeps:
            await ensure(self._directory, choice.candidate.id)  # its agent records the outcome of the work
        return choice if lesson is None else replaced(choice, noted=noted(choice, lesson, packet))

    async def dry_run(self, command: ChooseCommand, now: datetime) -> Choice:
        """See Chooser. Raises UnknownSelectorError for a filter or scorer that the source graph does not have."""
        terms = command.packet.selection or ANYBODY
        if command.needs is not None:
            needs = terms.needs.joined(command.needs)
            fields: dict[str, Any] = {"capabilities": needs.capabilities, "domains": needs.domains, "tier": needs.tier}
            terms = terms.model_copy(update={**fields, "languages": needs.languages, "all": needs.all})
        check_selectors(terms.order or terms.weights, terms.filters, self._functions(command.packet))
        return (await self._choice_and_lesson(command.packet, terms, now))[0]

    def _functions(self, packet: HandoffPacket) -> Mapping[str, Any]:
        """Return the filters and scorers of the source graph."""
        source = self._directory.graph(packet.source_graph) if packet.source_graph else None
        return {} if source is None else source.selectors

    async def _choice_and_lesson(
        self, packet: HandoffPacket, terms: SelectionTerms, now: datetime
    ) -> tuple[Choice, LearnedAdvice | None]:
        """Return the choice for a packet, and the lesson it used, without changing anything."""
        with _application_errors(packet):
            all_candidates = await self._directory.candidates()
        # Failed work counts only by the groups of its targets, so nothing is read if no candidate has a group.
        has_groups = packet.source_agent and any(candidate.profile.group for candidate in all_candidates)
        failed = await just_failed(self._directory.home, packet.source_agent) if has_groups else ()
        with _application_errors(packet):
            candidates = await self._with_performance(packet, terms, all_candidates)
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
    ) -> LearnedAdvice | None:
        """Return the lesson of earlier choices; None if choices are not recorded, and no learning scorer is in use."""
        if compared is None or (not self._choosing.records and names.isdisjoint(LEARNING)):
            return None
        features = packed(compared.likeness.features_of(compared.text))
        return await self._learning.lesson(features, compared.scores, candidates, names, now)

    async def _with_performance(
        self, packet: HandoffPacket, terms: SelectionTerms, candidates: Sequence[Candidate]
    ) -> Sequence[Candidate]:
        """Return the candidates with their performance for this kind of problem."""
        if "performance" not in (terms.order or terms.weights):
            return candidates
        problem = kind_of(terms.needs, packet.reason)
        performances = await self._directory.performances()
        by_entry = {entry: known.of(problem) for entry, known in performances.items() if problem in dict(known.kinds)}
        if not by_entry:
            return candidates
        return [
            replaced(candidate, performance=by_entry[candidate.id]) if candidate.id in by_entry else candidate
            for candidate in candidates
        ]


@contextmanager
def _application_errors(packet: HandoffPacket) -> Iterator[None]:
    """Raise ChoiceFailedError for exceptions of the application's functions, to tell them from the store's."""
    try:
        with contained():
            yield
    except OutsideError as error:
        raise ChoiceFailedError(packet.handoff_id, str(error)) from error


@value
class _Compared:
    """The scores of a text for each candidate."""

    text: str
    likeness: TextScorer
    scores: Mapping[str, float]
    least: Least  # the lowest score of a match


class _Texts:
    """Compares texts with the texts of the candidates. The index is rebuilt when these texts have changed."""

    def __init__(self, choosing: Choosing) -> None:
        self._choosing = choosing
        self._indexed: Sequence[tuple[str, Profile, str]] = ()
        self._likeness: TextScorer | None = None
        self._one_builds = asyncio.Lock()

    async def compared(
        self, packet: HandoffPacket, names: Set[str], candidates: Sequence[Candidate], *, is_recorded: bool
    ) -> _Compared | None:
        """Return the scores of a packet's text for each candidate; None if no scorer needs them.

        names: scorers in use. is_recorded: whether the choice is recorded with its text scores.
        """
        if not is_recorded and names.isdisjoint(BY_TEXT):
            return None
        async with self._one_builds:
            likeness = await self._current_index(candidates)
        with asking("says="):
            text = self._choosing.says(packet)
        if not isinstance(text, str):
            raise SelectionAnswerError("says=", repr(text), "the text to compare")
        # Vectors may come from a slow model; comparing words takes less time than a switch to a thread.
        is_quick = self._choosing.embed is None
        scores = likeness.scores(text) if is_quick else await asyncio.to_thread(likeness.scores, text)
        least = self._choosing.least
        return _Compared(text, likeness, scores, likeness.least if least is None else Least.alike(least))

    async def _current_index(self, candidates: Sequence[Candidate]) -> TextScorer:
        # Most of these are the same objects as before, so comparing them is fast. Their texts are new strings.
        described = [(candidate.id, candidate.profile, candidate.text) for candidate in candidates]
        if self._likeness is None or described != self._indexed:
            self._likeness = await asyncio.to_thread(self._new_index, candidates)
            self._indexed = described
        return self._likeness

    def _new_index(self, candidates: Sequence[Candidate]) -> TextScorer:
        embed, before = self._choosing.embed, self._likeness
        if embed is None:
            return index_of(candidates)
        texts = {candidate.id: texts_of(candidate) for candidate in candidates}
        return EmbeddingIndex(
            texts, partial(_embedded, embed), known=before.vectors if isinstance(before, EmbeddingIndex) else {}
        )


def _embedded(embed: Embed, texts: Sequence[str]) -> Iterable[Iterable[float]]:
    with asking("embed="):
        return embed(texts)
