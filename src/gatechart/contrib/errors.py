"""Errors and warnings about parts of foreign charts that graphs do not support."""

from __future__ import annotations

from dataclasses import dataclass

from gatechart.errors.definition import Fault
from gatechart.errors.root import DefinitionError


@dataclass(eq=False)
class NotCarriedError(DefinitionError):
    """A foreign chart has parts that cannot be carried over. `faults` lists all of them."""

    chart: str
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        heading = f"{self.chart} cannot be carried over, for {len(self.faults)} reason{'s' * (len(self.faults) != 1)}"
        return "\n".join([heading, *(f"  - {fault}" for fault in self.faults)])


class AutoTransitionsWarning(UserWarning):
    """Automatic triggers of a `transitions` machine, such as `to_asleep`, were omitted from its graph."""
