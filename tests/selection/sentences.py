"""What people say, with what they mean: CLINC150 and the Schema-Guided Dialogue dataset, where they are at hand."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from pydantic import BaseModel, Field, create_model

from gatechart import EntryPoint, State, StateTransitionGraph
from gatechart.hosting.directory import local_candidate
from gatechart.selection import Profile
from gatechart.values.profiles import Candidate
from tests.skipped import LOUD

DATA: Final = Path(__file__).parents[3] / "shared" / "data"
CLINC: Final = DATA / "clinc150"
SGD: Final = DATA / "sgd"


@dataclass(frozen=True)
class Sentences:
    """Sentences with their intents, of which each belongs to an agent, and sentences that belong to none."""

    agents: Mapping[str, str]  # by intent
    known: Mapping[str, Sequence[str]]  # by intent: those that candidates may have as samples
    asked: Sequence[tuple[str, str]]  # others, with their intents
    foreign: Sequence[str]

    def samples(self, seed: int, count: int = 10) -> dict[str, list[str]]:
        """Draw samples for the entry point of each intent."""
        draw = Random(seed)
        return {intent: draw.sample(list(texts), count) for intent, texts in sorted(self.known.items())}


@cache
def read_clinc() -> Sentences | None:
    """CLINC150, its validation part as what is asked; None where it is not at hand."""
    if not CLINC.exists():
        return None
    with gzip.open(CLINC / "train_val.json.gz", "rt") as file:
        parts = json.load(file)
    domains = json.loads((CLINC / "domains.json").read_text())
    agents = {intent: agent for agent, intents in domains.items() for intent in intents}
    known: dict[str, list[str]] = {intent: [] for intent in agents}
    for text, intent in parts["train"]:
        known[intent].append(text)
    return Sentences(agents, known, tuple(map(tuple, parts["val"])), tuple(text for text, _ in parts["oos_val"]))


@cache
def read_sgd() -> tuple[Sequence[Candidate], Sequence[tuple[str, str]]] | None:
    """The intents of services as entry points, and what users say when they turn to one; None where not at hand."""
    if not SGD.exists():
        return None
    services = json.loads((SGD / "services.json").read_text())
    with gzip.open(SGD / "dialogues.jsonl.gz", "rt") as lines:
        said = tuple(pair for line in lines for pair in _wishes(json.loads(line)))
    return tuple(each for service in services for each in _entry_points(service)), said


def clinc() -> Sentences:
    """CLINC150; skips the test where it is not at hand."""
    return read_clinc() or pytest.skip(f"{LOUD}real sentences: there is no CLINC150 at {CLINC}")


def sgd() -> tuple[Sequence[Candidate], Sequence[tuple[str, str]]]:
    """The entry points of the services of SGD, and wishes; skips the test where they are not at hand."""
    return read_sgd() or pytest.skip(f"{LOUD}real wishes: there are no services of SGD at {SGD}")


def auroc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """How often one of the first is above one of the second; a tie counts half."""
    ranked = sorted([(each, 1) for each in higher] + [(each, 0) for each in lower])
    ranks: dict[float, list[int]] = {}
    for rank, (each, _) in enumerate(ranked, 1):
        ranks.setdefault(each, []).append(rank)
    total = sum(sum(ranks[each]) / len(ranks[each]) for each in higher)
    return (total - len(higher) * (len(higher) + 1) / 2) / (len(higher) * len(lower))


def _entry_points(service: Mapping[str, Any]) -> Iterator[Candidate]:
    """Yield what the directory holds of a graph with an entry point for each intent, described and nothing more."""
    told = {each["name"]: each["description"] for each in service["slots"]}
    doors = [
        EntryPoint(each["name"], takes=_taken(each, told), maps={}, description=each["description"])
        for each in service["intents"]
    ]
    graph = StateTransitionGraph(
        service["service"],
        states=[State(door.state, final=True) for door in doors],
        entry_points=doors,
        description=service["description"],
        profile=Profile(),
    )
    for door in graph.entry_points.values():
        candidate = local_candidate(graph, door)
        assert candidate is not None
        yield candidate


def _taken(intent: Mapping[str, Any], told: Mapping[str, str]) -> type[BaseModel]:
    names = [name for name in (*intent["required_slots"], *intent["optional_slots"]) if name in told]
    fields: dict[str, Any] = {name: (str, Field("", description=told[name])) for name in names}
    return create_model(intent["name"], **fields)


def _wishes(dialogue: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for turn in dialogue["turns"]:
        for frame in turn["frames"] if turn["speaker"] == "user" else ():
            if any(act["act"] == "INFORM_INTENT" for act in frame["acts"]):
                yield turn["text"], frame["service"]
