"""What is remembered of a graph beside the agents that it drives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gatechart.values.names import StateName


@dataclass(frozen=True, slots=True)
class KnownGraph:
    """A graph that hosted agents on a store, so that their states can be told when it is gone."""

    fingerprint: str
    name: str
    version: str
    paths: Mapping[StateName, str]  # each state with all that it lies in, outermost first, joined by dots
