"""Whom a text is for: how often the right one is found, and how long a choice takes.

python -m benchmarks.selection [--embeddings FOLDER]

CLINC150: ten agents, an entry point for each of 150 intents, known by ten sentences that are drawn anew each time; what
is asked are other sentences, and those that belong to no intent. SGD: what users say when they turn to one of 17
services, whose entry points are known by what they say of themselves. Where the data is not at hand, that is said in
place of figures.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from random import Random
from statistics import mean, stdev
from time import process_time, thread_time
from typing import TypeAlias

from benchmarks.measure import Better, Contestant, Effort, Measure
from gatechart import AgentContext, EntryPoint, Handoff, HandoffPacket, Runtime, State, StateTransitionGraph
from gatechart.hosting.choice_learning import LearnedAdvice
from gatechart.selection import Best, choose, terms_of
from gatechart.selection.embeddings import EmbeddingIndex, static_embeddings
from gatechart.selection.learned import Learned, LearnedModel
from gatechart.selection.observations import Observation, Observations, packed
from gatechart.selection.texts import Least, TextIndex, TextScorer, index_of, texts_of
from gatechart.values.profiles import Candidate, Profile
from tests.selection.sentences import CLINC, SGD, Sentences, auroc, read_clinc, read_sgd

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DRAWS = 5
ENTRY_POINTS = 1_000
SAMPLES = 10
OPEN_WORK = 3_000
OUTCOMES = 3

Texts: TypeAlias = Mapping[str, Iterable[str]]


class Mixed:
    """The mean of two likenesses."""

    def __init__(self, one: TextScorer, other: TextScorer) -> None:
        self._both = one, other
        self.least = Least(
            (one.least.sampled + other.least.sampled) / 2, (one.least.described + other.least.described) / 2
        )

    def scores(self, text: str) -> dict[str, float]:
        one, other = (each.scores(text) for each in self._both)
        return {name: (one[name] + other[name]) / 2 for name in one}

    def features_of(self, text: str) -> Mapping[str, float]:
        return self._both[0].features_of(text)


def found(index: TextScorer, text: str) -> tuple[str, float]:
    """The best candidate, with its score."""
    scores = index.scores(text)
    best = max(scores, key=scores.__getitem__)
    return best, scores[best]


def print_agents(name: str, sentences: Sentences, build: Callable[[Texts], TextScorer]) -> None:
    """Print how often the right agent of ten is found, over several draws of the samples."""
    draws = [_draw(sentences, build(sentences.samples(seed, SAMPLES))) for seed in range(DRAWS)]
    labels = ("right agent of ten", "right entry point of 150", "AUROC of no match", "ours lost", "foreign noticed")
    for label, figures in zip(labels, zip(*draws, strict=True), strict=True):
        print(f"  {name}: {label} {mean(figures):.3f} ± {stdev(figures):.3f} over {DRAWS} draws of samples")


def _draw(sentences: Sentences, index: TextScorer) -> tuple[float, ...]:
    asked = [(intent, *found(index, text)) for text, intent in sentences.asked]
    foreign = [found(index, text)[1] for text in sentences.foreign]
    agents = sentences.agents
    return (
        mean(agents[best] == agents[intent] for intent, best, _ in asked),
        mean(best == intent for intent, best, _ in asked),
        auroc([score for *_, score in asked], foreign),
        mean(score < index.least.sampled for *_, score in asked),
        mean(score < index.least.sampled for score in foreign),
    )


def print_services(name: str, services: Mapping[str, str], said: Sequence[tuple[str, str]], index: TextScorer) -> None:
    """Print how often the right service is found, by descriptions alone. services: by entry point."""
    asked = [(service, *found(index, text)) for text, service in said]
    right = mean(service == services[best] for service, best, _ in asked)
    lost = mean(score < index.least.described for *_, score in asked)
    print(
        f"  {name}: right service of {len({*services.values()})} {right:.3f}, lost {lost:.3f}, of {len(asked)} wishes"
    )


@cache
def directory() -> tuple[Sequence[Candidate], Sequence[str]]:
    """Candidates with ten samples each, and what is asked: of made-up words, as often as words are in a language."""
    draw = Random(7)
    letters = "etaoinshrdlucmfwypvbgk"
    words = ["".join(draw.choices(letters, k=draw.randint(2, 9))) for _ in range(3_000)]
    often = [1 / rank for rank in range(1, len(words) + 1)]
    sentences = [" ".join(draw.choices(words, often, k=8)) for _ in range(ENTRY_POINTS * (SAMPLES + 1))]
    asked, known = sentences[:ENTRY_POINTS], sentences[ENTRY_POINTS:]
    samples = (tuple(known[place * SAMPLES : (place + 1) * SAMPLES]) for place in range(ENTRY_POINTS))
    candidates = [
        Candidate(f"graph.{place}", f"graph{place}", "E", profile=Profile(samples=each), text="Takes work.")
        for place, each in enumerate(samples)
    ]
    return candidates, asked


@cache
def directory_index() -> TextIndex:
    """The index of those candidates."""
    return index_of(directory()[0])


async def choose_among_many(effort: Effort) -> float:
    """Microseconds of processor time for a choice with everything of it: scores of texts, filters, draw, reasons."""
    candidates, asked = directory()
    index, packet = directory_index(), HandoffPacket()
    terms = terms_of(Best(), packet)
    texts = asked[: effort.part_of(ENTRY_POINTS, 50)]
    begun = thread_time()
    for text in texts:
        scores = {"text": index.scores(text)}
        choose(packet, terms, candidates, now=NOW, seed=text, scores=scores, least=index.least)
    return (thread_time() - begun) / len(texts) * 1e6


@cache
def learned_before() -> LearnedModel:
    """What was learned from three outcomes of each candidate, each of a text that one of its samples says."""
    candidates, index = directory()[0], directory_index()
    numbered = enumerate((each, sample) for sample in range(OUTCOMES) for each in candidates)
    observed = [
        Observation(
            f"h{number}",
            each.id,
            NOW + timedelta(seconds=number),
            prior=0.3,
            reward=float(number % 10 > 0),
            features=packed(index.features_of(each.profile.samples[sample])),
            group=each.graph,
        )
        for number, (each, sample) in numbered
    ]
    return Learned(trusted=True).model(Observations().added(*observed))


async def choose_as_learned(effort: Effort) -> float:
    """The same with the scorer "learned", from outcomes of each of them, as a home asks for it."""
    candidates, asked = directory()
    index, packet, model = directory_index(), HandoffPacket(), learned_before()
    terms = terms_of(Best(scorers={"learned": 1.0}), packet)
    texts = asked[: effort.part_of(ENTRY_POINTS, 50)]
    begun = thread_time()
    for text in texts:
        of_texts, groups = index.scores(text), {each.id: each.graph for each in candidates if each.is_local}
        features = packed(index.features_of(text))
        lesson = LearnedAdvice(features, of_texts, groups, model.scores(features, of_texts, groups), {})
        scores = {"text": of_texts, **lesson.scores}
        choose(packet, terms, candidates, now=NOW, seed=text, scores=scores, least=index.least, parts=lesson.parts)
    return (thread_time() - begun) / len(texts) * 1e6


async def choose_at_a_home(effort: Effort, *, open_work: int = 0) -> float:
    """The same with the way of a home to it: the directory as it stands now, with loads and breakers.

    open_work: pieces of work that were handed to half of the entry points before, and are under way.
    """
    candidates, asked = directory()
    graphs = [
        StateTransitionGraph(
            each.graph,
            context=AgentContext,
            states=[State("E")],
            entry_points=[EntryPoint("E", profile=each.profile, description=each.text)],
        )
        for each in candidates
    ]
    asking = StateTransitionGraph("asking", context=AgentContext, states=["ASKS"], entry_points=["ASKS"])
    texts = asked[: effort.part_of(ENTRY_POINTS, 50)]
    async with Runtime.open("memory:", graphs=[*graphs, asking]) as home:
        for number in range(effort.part_of(open_work, 50)):
            agent = await home.start("asking", at="ASKS")
            await home.handoff(agent.id, Handoff(graphs[number % (ENTRY_POINTS // 2)].name, at="E"))
        await home.choose(HandoffPacket(current_problem=asked[0]))  # builds the index of texts
        begun = process_time()
        for text in texts:
            await home.choose(HandoffPacket(current_problem=text))
        return (process_time() - begun) / len(texts) * 1e6


async def score_many(effort: Effort) -> float:
    """The same for the scores of texts alone."""
    index, texts = directory_index(), directory()[1][: effort.part_of(ENTRY_POINTS, 50)]
    begun = thread_time()
    for text in texts:
        index.scores(text)
    return (thread_time() - begun) / len(texts) * 1e6


measure = Measure(
    "choices",
    f"A choice among {ENTRY_POINTS:,} entry points with {SAMPLES} samples each",
    "µs",
    Better.LOWER,
    (
        Contestant("gatechart, a home's choice", choose_at_a_home, target=2_000),
        Contestant(f"gatechart, amid {OPEN_WORK:,} open", partial(choose_at_a_home, open_work=OPEN_WORK), target=2_000),
        Contestant("gatechart, a choice, explained", choose_among_many, target=2_000),
        Contestant("gatechart, a learned choice", choose_as_learned, target=2_000),
        Contestant("gatechart, its texts alone", score_many, target=1_000),
    ),
)


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection", description=__doc__)
    parser.add_argument("--embeddings", metavar="FOLDER", help="with a static model of model2vec, too")
    folder = parser.parse_args().embeddings
    ways: dict[str, Callable[[Texts], TextScorer]] = {"without a model": TextIndex}
    if folder:
        embed = static_embeddings(folder)
        ways["embeddings"] = lambda texts: EmbeddingIndex(texts, embed)
        ways["both, by halves"] = lambda texts: Mixed(TextIndex(texts), EmbeddingIndex(texts, embed))
    print("CLINC150" if (sentences := read_clinc()) else f"CLINC150 skipped: it is not at {CLINC}")
    for name, build in ways.items() if sentences else ():
        print_agents(name, sentences, build)
    candidates, said = read_sgd() or ((), ())
    print("SGD" if candidates else f"SGD skipped: it is not at {SGD}")
    services = {each.id: each.graph for each in candidates}
    for name, build in ways.items() if candidates else ():
        texts = {each.id: texts_of(each) for each in candidates}
        print_services(name, services, said, index_of(candidates) if build is TextIndex else build(texts))
    print_speed()


def print_speed() -> None:
    """Print how long it takes to build the index of many candidates, and to choose among them."""
    candidates, asked = directory()
    begun = thread_time()
    index = index_of(candidates)
    print(f"{ENTRY_POINTS:,} entry points with {SAMPLES} samples: index built in {thread_time() - begun:.2f} s", end="")
    packet = HandoffPacket()
    terms = terms_of(Best(), packet)
    begun = thread_time()
    scores = [index.scores(text) for text in asked]
    scored = thread_time()
    for text, each in zip(asked, scores, strict=True):
        choose(packet, terms, candidates, now=NOW, seed=text, scores={"text": each}, least=index.least)
    ended = thread_time()
    texts, rest = ((scored - begun) / len(asked) * 1e6, (ended - scored) / len(asked) * 1e6)
    print(f"; a choice {texts + rest:.0f} µs, of which texts {texts:.0f}")


if __name__ == "__main__":
    main()
