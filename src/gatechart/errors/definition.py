"""Errors of the developer: in a graph, a chart file, or the setup of the application."""

from __future__ import annotations

from dataclasses import dataclass

from gatechart.errors.root import DefinitionError, FromHost, listing


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault in a definition: its place, the problem, and a remedy."""

    place: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}; {self.remedy}"


@dataclass(eq=False)
class InvalidGraphError(DefinitionError):
    """The definition of a graph has faults; all of them are listed."""

    graph: str
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        heading = f"graph {self.graph!r} has {len(self.faults)} fault{'s' * (len(self.faults) != 1)}"
        return "\n".join([heading, *(f"  - {fault}" for fault in self.faults)])


@dataclass(frozen=True, slots=True)
class FileFault:
    """One fault in a file: its position, the problem, and a remedy."""

    line: int  # from 1
    column: int  # from 1, in characters
    path: tuple[str | int, ...]  # keys and list indexes, from the top
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column} {self.place or 'chart'}: {self.problem}; {self.remedy}"

    @property
    def place(self) -> str:
        """Path as text.

        >>> FileFault(3, 7, ("states", "IDLE", "on", "GO", 0), "", "").place
        'states.IDLE.on.GO[0]'
        """
        return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path).removeprefix(".")


@dataclass(eq=False)
class InvalidChartError(DefinitionError):
    """A chart file has faults, or a graph cannot be written as data; all faults are listed."""

    file: str
    faults: tuple[FileFault, ...]

    def __str__(self) -> str:
        heading = f"chart {self.file} has {len(self.faults)} fault{'s' * (len(self.faults) != 1)}"
        return "\n".join([heading, *(f"  - {self.file}:{fault}" for fault in self.faults)])


@dataclass(eq=False)
class NoGraphError(DefinitionError):
    """A value passed to a runtime as a graph is not a graph."""

    given: str

    def __str__(self) -> str:
        return f"{self.given} is not a graph; pass graphs=[...] with StateTransitionGraph objects"


@dataclass(eq=False)
class DuplicateGraphError(DefinitionError):
    """Two graphs of one runtime have the same name and version."""

    graph: str

    def __str__(self) -> str:
        return f"two graphs are named {self.graph!r}; give each graph of a runtime a different name or version"


@dataclass(eq=False)
class InvalidChoosingError(DefinitionError):
    """The rules for choosing handoff targets have faults; all of them are listed."""

    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        return "\n".join(["choosing= has faults", *(f"  - {fault}" for fault in self.faults)])


@dataclass(eq=False)
class AmbiguousEntryError(DefinitionError):
    """Two entry points of one runtime, or an entry point and a graph, have the same name in the directory."""

    name: str  # "orders.REVIEWING"
    one: str  # its description
    other: str

    def __str__(self) -> str:
        return (
            f"{self.name!r} would name both {self.one} and {self.other}, and handoffs, ratings and open work "
            "could not distinguish the two; rename one of them"
        )


@dataclass(eq=False)
class UnknownInvokeError(DefinitionError):
    """An agent was running an invoke that its graph no longer declares."""

    graph: str
    state: str
    invoke: str

    def __str__(self) -> str:
        return (
            f"{self.invoke!r} was running in {self.state!r} of {self.graph!r}, which no longer invokes it; "
            "give a changed graph a new version, and keep the old one registered as long as its agents need it"
        )


@dataclass(eq=False)
class UnknownEffectError(DefinitionError):
    """A turn produced an effect that no runtime carries out. Nothing of the turn was committed."""

    effect: str
    known: tuple[str, ...]

    def __str__(self) -> str:
        return f"no runtime carries out the effect {self.effect!r}; use one of {listing(self.known)}"


@dataclass(eq=False)
class AmbiguousTriggerError(DefinitionError):
    """A business trigger opens entry points of several graphs."""

    trigger: str
    graphs: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"the trigger {self.trigger!r} opens entry points of {listing(self.graphs)}; "
            "start one of them by name, or let only one graph open on it"
        )


class RemoteDefinitionError(FromHost, DefinitionError):
    """The host of the agents raised a DefinitionError that has no class here."""
