"""The payload of a signal's event, read once: the evidence of each detector, and where the agent was."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gatechart.values.frozen import value
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
    """The part of a detector's evidence that escapes use."""

    tool: str = ""  # the tool that failed or was called repeatedly
    error: str = ""  # type of the error
    failures: int = 0
    times: int = 0  # how often the block was repeated; 0 if unknown
    period: int = 0  # moves in the block; 0 for calls
    block: tuple[RepeatedEntry, ...] = ()
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
    block: tuple[RepeatedEntry, ...] = ()  # the repeated moves and calls; empty without repeats
    failed_tools: tuple[str, ...] = ()  # tools that failed or were called repeatedly


def signal_report(payload: Payload) -> SignalReport:
    """Read the payload of a signal's event.

    Evidence comes from detectors of applications, too. An entry of the wrong type is ignored.
    """
    evidence = tuple(map(_evidence, mappings(payload.get("evidence"))))
    block = next((found.block for found in evidence if found.block), ())
    tools = tuple(dict.fromkeys(part.tool for part in parts_of(evidence) if part.tool))
    return read(SignalReport, payload, evidence=evidence, block=block, failed_tools=tools)


def _evidence(payload: Payload) -> DetectorEvidence:
    block = tuple(read(RepeatedEntry, entry) for entry in mappings(payload.get("block")))
    return read(DetectorEvidence, payload, block=block)


def parts_of(evidence: Iterable[DetectorEvidence]) -> Iterator[DetectorEvidence | RepeatedEntry]:
    """Yield each evidence, followed by its repeated entries."""
    for found in evidence:
        yield found
        yield from found.block
