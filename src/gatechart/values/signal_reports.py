"""The payload of a signal's event, read once: the evidence of each detector, and where the agent was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gatechart.values.frozen import replaced, value
from gatechart.values.names import EventName, Payload, StateName
from gatechart.values.payloads import mappings, read


@value
class RepeatedEntry:
    """A move or a call that detectors found repeated."""

    event: EventName = ""
    states: tuple[StateName, ...] = ()  # the active leaves after a move
    tool: str = ""  # empty for a move
    arguments: str = ""  # digest
    error: str = ""  # type of the error


@value
class DetectorEvidence:
    """The evidence of a detector, as far as escapes depend on it."""

    tool: str = ""  # the tool that failed or was called repeatedly
    error: str = ""  # type of the error
    failures: int = 0
    times: int = 0  # how often the block was repeated; 0 if unknown
    period: int = 0  # moves in the block; 0 for calls
    block: tuple[RepeatedEntry, ...] = ()
    problem: str = ""  # why a call was not undone
    version: int = 0  # of the agent, in a finding of the watchdog; 0 if unknown


@value
class SignalReport:
    """A signal that fired, and where the agent was."""

    signal: str = ""
    reason: str = ""
    evidence: tuple[DetectorEvidence, ...] = ()
    state: StateName = ""  # of the invoke that reported the problem
    leaves: tuple[StateName, ...] = ()  # active before calls were undone; empty if none were
    at: Mapping[str, str] | None = None  # entry points by graph, in a request of the watchdog

    @property
    def block(self) -> tuple[RepeatedEntry, ...]:
        """The repeated moves and calls; empty without repeats."""
        return next((evidence.block for evidence in self.evidence if evidence.block), ())

    @property
    def failed_tools(self) -> tuple[str, ...]:
        """The tools that failed or were called repeatedly, without duplicates."""
        return tuple(dict.fromkeys(part.tool for part in self.parts if part.tool))

    @property
    def parts(self) -> Iterator[DetectorEvidence | RepeatedEntry]:
        """Each evidence, followed by its repeated entries."""
        for evidence in self.evidence:
            yield evidence
            yield from evidence.block


def signal_report(payload: Payload) -> SignalReport:
    """Read the payload of a signal's event.

    Evidence comes from detectors of applications, too. What does not have the type of its field is left out.
    """
    return replaced(read(SignalReport, payload), evidence=tuple(map(_evidence, mappings(payload.get("evidence")))))


def _evidence(payload: Payload) -> DetectorEvidence:
    block = tuple(read(RepeatedEntry, entry) for entry in mappings(payload.get("block")))
    return replaced(read(DetectorEvidence, payload), block=block)
