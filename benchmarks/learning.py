"""Whom to hand work to, learned from what came of choices: the gain over text scores, and the loss on the way.

python -m benchmarks.learning [choices] [seeds]

Sentences of CLINC150: 10 agents, 150 entry points with 10 samples each. A choice is right, with a reward of 1, if the
entry point belongs to the right agent; nothing is told of the others. "last" are the last 1,000 choices, "worst" the
least difference in any 1,000 in a row. The strong score is simulated: right in 94.5 % of cases, wrong ones at random.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import fmean, pstdev
from time import perf_counter

from gatechart.selection.evaluation import Evaluation, Recorded
from gatechart.selection.exploration import BEST, Exploring
from gatechart.selection.learned import AllScored, Learned, LearnedModel, departs, rival_of, unlearned
from gatechart.selection.observations import Observation, packed
from gatechart.selection.performance import after
from gatechart.selection.rehearsal import evaluate_learned
from gatechart.selection.texts import TextIndex, TextScorer
from gatechart.values.frozen import replaced

DATA = Path(__file__).parents[2] / "shared" / "data" / "clinc150"
START = datetime(2030, 1, 1, tzinfo=UTC)
SAMPLES = 10
WINDOW = 1_000
STRONG = 0.945


@dataclass(frozen=True)
class Said:
    """A sentence with the right agent, and the text score of each candidate."""

    features: str
    agent: str
    scores: Mapping[str, float]


def agent_of(candidate: str) -> str:
    return candidate.partition(".")[0]


class Clinc:
    """Sentences by intent, and the agent of each intent."""

    def __init__(self) -> None:
        domains = json.loads((DATA / "domains.json").read_text())
        raw = json.loads(gzip.decompress((DATA / "train_val.json.gz").read_bytes()))
        agents = {intent: domain for domain, intents in domains.items() for intent in intents}
        self.train = [(text, f"{agents[intent]}.{intent}") for text, intent in raw["train"]]
        self.other = [(text, f"{agents[intent]}.{intent}") for text, intent in raw["val"]]

    def drawn(
        self,
        seed: int,
        choices: int,
        wrong: float = 0.0,
        per_agent: bool = False,
        compared_by: Callable[[Mapping[str, list[str]]], TextScorer] = TextIndex,
    ) -> list[Said]:
        """Draw samples and then sentences. wrong: part of the entry points that have the samples of another."""
        source = Random(seed)
        shuffled = source.sample(self.train, len(self.train))
        samples: dict[str, list[str]] = {}
        rest = list(self.other)
        for text, entry in shuffled:
            own = samples.setdefault(entry, [])
            if len(own) < SAMPLES:
                own.append(text)
            else:
                rest.append((text, entry))
        mixed = source.sample(sorted(samples), round(len(samples) * wrong))
        moved = dict(zip(mixed, [samples[each] for each in (*mixed[1:], *mixed[:1])], strict=True))
        index = compared_by(_by_agent(samples | moved) if per_agent else samples | moved)
        stream = source.sample(rest, choices)
        return [Said(packed(index.features_of(text)), agent_of(entry), index.scores(text)) for text, entry in stream]


def _by_agent(samples: Mapping[str, list[str]]) -> dict[str, list[str]]:
    joined: dict[str, list[str]] = {}
    for entry, texts in samples.items():
        joined.setdefault(agent_of(entry), []).extend(texts)
    return joined


def strong(said: Sequence[Said], seed: int) -> list[Said]:
    """The same sentences with a score for each agent that is right in 94.5 % of cases."""
    source = Random(seed)
    agents = sorted({each.agent for each in said})
    simulated = []
    for each in said:
        others = [agent for agent in agents if agent != each.agent]
        first = each.agent if source.random() < STRONG else source.choice(others)
        scores = {agent: source.uniform(0.2, 0.6) for agent in agents}
        scores[first] = max(scores.values()) + source.uniform(0.02, 0.25)
        simulated.append(Said(each.features, each.agent, scores))
    return simulated


def best(scores: Mapping[str, float]) -> str:
    return max(sorted(scores), key=scores.__getitem__)


def learned_hits(said: Sequence[Said], learned: Learned) -> tuple[list[float], LearnedModel]:
    """The reward of each choice of learning, which is told of each."""
    model, hits = learned.model(), []
    for number, each in enumerate(said):
        groups = {candidate: agent_of(candidate) for candidate in each.scores}
        scored = model.scores(each.features, each.scores, groups)
        chosen = best(scored.totals)
        reward = float(agent_of(chosen) == each.agent)
        hits.append(reward)
        model = model.after(_observed(number, chosen, each, scored))
    return hits, model


def _observed(number: int, chosen: str, said: Said, scored: AllScored) -> Observation:
    groups = {candidate: agent_of(candidate) for candidate in said.scores}
    reward, agent = float(agent_of(chosen) == said.agent), agent_of(chosen)
    at, leaves = START + timedelta(seconds=number), departs(chosen, said.scores, groups)
    prior, rival = scored[chosen].prior, rival_of(chosen, scored.totals, groups)
    return Observation(
        f"h{number}", chosen, at, prior, reward, said.features, leaves, agent, (), rival, groups.get(rival, "")
    )


def text_hits(said: Sequence[Said]) -> list[float]:
    return [float(agent_of(best(each.scores)) == each.agent) for each in said]


def performance_hits(said: Sequence[Said], seed: int) -> list[float]:
    """By performance alone, ties drawn."""
    source, hits = Random(seed), []
    performance = dict.fromkeys(sorted({each.agent for each in said}), 1.0)
    for each in said:
        most = max(performance.values())
        chosen = source.choice([agent for agent, held in performance.items() if held == most])
        hits.append(float(chosen == each.agent))
        performance[chosen] = after(performance[chosen], hits[-1])
    return hits


def last(hits: Sequence[float]) -> float:
    return fmean(hits[-WINDOW:])


def worst(hits: Sequence[float], base: Sequence[float]) -> float:
    """The least difference in any 1,000 choices in a row."""
    differences = [one - other for one, other in zip(hits, base, strict=True)]
    total = least = sum(differences[:WINDOW])
    for entering, leaving in zip(differences[WINDOW:], differences, strict=False):
        total += entering - leaving
        least = min(least, total)
    return least / WINDOW


def recorded(said: Sequence[Said], exploring: Exploring, seed: int) -> list[Recorded]:
    """Choices by text scores, drawn from the best few in some cases."""
    records = []
    for number, each in enumerate(said):
        chances = exploring.probabilities(each.scores)
        chosen = exploring.draw(each.scores, f"{seed}-{number}").candidate
        groups = {candidate: agent_of(candidate) for candidate in each.scores}
        observed = _observed(number, chosen, each, unlearned(each.scores, groups))
        observation = replaced(observed, departs=False)  # what is not by text scores was drawn
        told = (tuple(chances.items()), tuple(each.scores.items()), tuple(groups.items()))
        records.append(Recorded(observation, *told))
    return records


def evaluated(said: Sequence[Said], seed: int) -> Evaluation:
    return evaluate_learned(Learned(), recorded(said, Exploring(0.2, 3), seed), BEST)


def row(name: str, worlds: Sequence[Sequence[Said]], learned: Learned) -> None:
    """Print means over the seeds, with the spread of the difference."""
    lasts, bases, lows = [], [], []
    began = perf_counter()
    for said in worlds:
        base, (hits, _) = text_hits(said), learned_hits(said, learned)
        lasts.append(last(hits))
        bases.append(last(base))
        lows.append(worst(hits, base))
    took = (perf_counter() - began) / sum(map(len, worlds)) * 1e3
    gains = [one - other for one, other in zip(lasts, bases, strict=True)]
    told = f"text {fmean(bases):.3f}, learned {fmean(lasts):.3f}, gain {fmean(gains):+.3f} ± {pstdev(gains):.3f}"
    print(f"{name}: {told} (least {min(gains):+.3f}), worst {min(lows):+.3f}; {took:.1f} ms a choice", flush=True)


def main(choices: int = 4_500, seeds: int = 3) -> None:
    """Print a row for each kind of profiles."""
    if not DATA.exists():
        print(f"not measured: {DATA} is missing")
        return
    clinc = Clinc()
    numbers = range(1, seeds + 1)
    plain = [clinc.drawn(seed, choices) for seed in numbers]
    wrong = [clinc.drawn(seed, choices, wrong=0.2) for seed in numbers]
    print(f"{choices} choices, {seeds} seeds", flush=True)
    row("a profile for each entry point", plain, Learned())
    row("a fifth of the profiles wrong", wrong, Learned())
    row("a profile for each agent", [clinc.drawn(seed, choices, per_agent=True) for seed in numbers], Learned())
    row("strong score, simulated", [strong(said, seed) for seed, said in enumerate(plain)], Learned())
    print(f"performance alone: {fmean(last(performance_hits(said, 1)) for said in plain):.3f}")
    for name, worlds in (("profiles as they are", plain), ("a fifth wrong", wrong)):
        for seed, said in enumerate(worlds):
            found = evaluated(said, seed)
            print(f"off-policy, {name}: {found.verdict.value}, {found.robust}, evidence {found.evidence}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
