"""Exit codes and the errors of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Final

import typer

from gatechart.errors.event import AgentEndedError, EventRefusedError
from gatechart.errors.root import DefinitionError, EventError, OutsideError, suggestion
from gatechart.values.handoffs import Reason


class ExitCode(IntEnum):
    """See the docstring of `gatechart.cli`."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    DEFINITION = 3
    EVENT = 4
    OUTSIDE = 5
    FOUND = 6  # `doctor` found something that is worth a look
    CRITICAL = 7  # `doctor` found something critical
    LOOPED = 8  # an agent could not escape a loop, and ended as failed
    BUG = 70  # EX_SOFTWARE of sysexits.h
    INTERRUPTED = 130  # as shells report SIGINT
    BROKEN_PIPE = 141  # as shells report SIGPIPE


_CODES: Final[tuple[tuple[type[BaseException], ExitCode], ...]] = (
    (typer.TyperException, ExitCode.USAGE),
    (EventRefusedError, ExitCode.REFUSED),
    (DefinitionError, ExitCode.DEFINITION),
    (EventError, ExitCode.EVENT),
    (OutsideError, ExitCode.OUTSIDE),
    (KeyboardInterrupt, ExitCode.INTERRUPTED),
    (BrokenPipeError, ExitCode.BROKEN_PIPE),
)


def code_of(error: BaseException) -> ExitCode:
    """Return the exit code for an error.

    >>> code_of(KeyboardInterrupt()), code_of(KeyError())
    (<ExitCode.INTERRUPTED: 130>, <ExitCode.BUG: 70>)
    """
    if isinstance(error, AgentEndedError) and error.reason == Reason.LOOP_DETECTED.value:
        return ExitCode.LOOPED
    return next((code for kind, code in _CODES if isinstance(error, kind)), ExitCode.BUG)


class UsageError(typer.TyperException):
    """The command line parses, but its arguments are invalid together."""


@dataclass(eq=False)
class OutputError(OutsideError):
    """The output of a command cannot be written."""

    problem: str

    def __str__(self) -> str:
        return (
            f"the output cannot be written ({self.problem}); free some space or send it elsewhere. Repeat the command "
            "only if it just reads: its changes are kept"
        )


@dataclass(eq=False)
class AppUnnamedError(DefinitionError):
    """No app is given."""

    folder: str

    def __str__(self) -> str:
        return (
            "no app; name the graphs with --app module:attribute, --app chart.yaml:module or GATECHART_APP, or write "
            'app = "module:attribute" under [tool.gatechart] in a pyproject.toml in or above '
            f"{self.folder}"
        )


@dataclass(eq=False)
class AppConfigError(DefinitionError):
    """The project's configuration cannot be read."""

    path: str
    problem: str
    remedy: str = 'app = "module:attribute" or "chart.yaml:module"'

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}; under [tool.gatechart] write {self.remedy}"


@dataclass(eq=False)
class AppNameError(DefinitionError):
    """The name of the app is malformed."""

    app: str
    is_several_charts: bool = False

    def __str__(self) -> str:
        if self.is_several_charts:
            return (
                f"the app {self.app!r} names several chart files; load each with gatechart.charts.load in a module, "
                "and name the list of their graphs as module:attribute"
            )
        return (
            f"malformed app {self.app!r}; write module:attribute for graphs in Python, like 'statecharts:graphs', or "
            "chart.yaml, chart.yaml:module or chart.yaml:module:attribute for a chart file and the functions it names; "
            "join several modules with commas"
        )


@dataclass(eq=False)
class AppModuleError(DefinitionError):
    """The app names an unknown module."""

    app: str
    module: str
    folder: str
    modules: tuple[str, ...]  # in the folder that was searched
    what: str = "app"  # or "services", "choosing", "packet_migrations"

    def __str__(self) -> str:
        offer = suggestion(self.module, self.modules)
        named = f"{self.what.replace('_', ' ')} {self.app!r}"
        return f"{named}: no module {self.module!r} is installed or in {self.folder}: {offer}"


@dataclass(eq=False)
class AppAttributeError(DefinitionError):
    """The module has no attribute of this name."""

    app: str
    module: str
    attribute: str
    attributes: tuple[str, ...]  # that hold graphs

    def __str__(self) -> str:
        offer = f"of graphs, {suggestion(self.attribute, self.attributes)}"
        return f"app {self.app!r}: module {self.module!r} has no {self.attribute!r}; {offer}"


@dataclass(eq=False)
class AppBindingsError(DefinitionError):
    """The module that a chart is bound to has no attribute of this name."""

    app: str
    module: str
    attribute: str
    attributes: tuple[str, ...]  # that may hold bindings

    def __str__(self) -> str:
        offer = f"of bindings, {suggestion(self.attribute, self.attributes)}; or name the module alone"
        return f"app {self.app!r}: module {self.module!r} has no {self.attribute!r}; {offer}"


@dataclass(eq=False)
class AppDialectError(DefinitionError):
    """The chart file cannot be read in this dialect."""

    app: str
    dialect: str
    problem: str

    def __str__(self) -> str:
        return f"app {self.app!r} cannot be read in the dialect {str(self.dialect)!r}: {self.problem}"


@dataclass(eq=False)
class AppImportError(DefinitionError):
    """The module raised while it was imported."""

    private: ClassVar[tuple[str, ...]] = ("raised",)

    app: str
    raised: str
    place: str
    remedy: str = "fix the module, or see the traceback with --debug"
    what: str = "app"  # or "services", "choosing", "packet_migrations"

    def __str__(self) -> str:
        named = f"{self.what.replace('_', ' ')} {self.app!r}"
        return f"{named} cannot be imported: {self.raised} ({self.place}); {self.remedy}"


@dataclass(eq=False)
class ServicesError(DefinitionError):
    """The services cannot be loaded."""

    services: str
    problem: str

    def __str__(self) -> str:
        return (
            f"services {self.services!r} cannot be loaded: {self.problem}; name a value, or a function or class that "
            "creates it, as module:attribute, with --services, GATECHART_SERVICES or in pyproject.toml"
        )


@dataclass(eq=False)
class ChoosingError(DefinitionError):
    """The rules for choosing handoff targets cannot be loaded."""

    choosing: str
    problem: str

    def __str__(self) -> str:
        return (
            f"choosing {self.choosing!r} cannot be loaded: {self.problem}; name a Choosing, or a function that "
            "creates one, as module:attribute, with --choosing, GATECHART_CHOOSING or in pyproject.toml"
        )


@dataclass(eq=False)
class PacketMigrationsError(DefinitionError):
    """The packet migrations cannot be loaded."""

    migrations: str
    problem: str

    def __str__(self) -> str:
        return (
            f"packet migrations {self.migrations!r} cannot be loaded: {self.problem}; name them as module:attribute, "
            "with GATECHART_PACKET_MIGRATIONS or as packet_migrations in pyproject.toml"
        )


@dataclass(eq=False)
class AppGraphsError(DefinitionError):
    """The attribute that the app names does not hold graphs."""

    app: str
    found: str

    def __str__(self) -> str:
        return f"app {self.app!r} {self.found}; it must be a graph, a sequence of graphs or a mapping to graphs"


@dataclass(eq=False)
class NoDeskError(DefinitionError):
    """None of the application's graphs is a desk."""

    graphs: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"no desk among the graphs {', '.join(self.graphs)}; add one to the app, "
            "`from gatechart.contrib.human_desk import human_desk`"
        )


@dataclass(eq=False)
class NoCaseError(EventError):
    """There is no case with this id. Nothing was changed."""

    case: str
    graph: str | None  # graph of the agent with this id, if there is one
    cases: tuple[str, ...]  # the open cases

    def __str__(self) -> str:
        is_agent = f": that is an agent of {self.graph!r}" if self.graph else ""
        offer = f"of open cases, {suggestion(self.case, self.cases)}" if self.cases else "no case is open"
        return f"unknown case {self.case!r}{is_agent}; {offer}"


@dataclass(eq=False)
class HandoffStandsError(EventError):
    """An accepted transfer cannot be withdrawn. Nothing was changed."""

    handoff: str
    owner: str

    def __str__(self) -> str:
        return (
            f"handoff {self.handoff!r} is a transfer that was accepted, so it cannot be withdrawn; {self.owner!r} has "
            f"the work now: hand it over with `gatechart handoff {self.owner} --to GRAPH --at ENTRY_POINT`, or stop it "
            f"with `gatechart stop {self.owner}`"
        )


@dataclass(eq=False)
class OtherGraphError(EventError):
    """The agent to hand the work to belongs to another graph. Nothing was changed."""

    agent_id: str
    graph: str
    wanted: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r} is of graph {self.graph!r}, not {self.wanted!r}; name one from "
            f"`gatechart list --graph {self.wanted}`, or leave out --agent for a new agent"
        )


@dataclass(eq=False)
class NoWayBackError(EventError):
    """The agent that transferred a case has ended and cannot take it back. Nothing was changed."""

    case: str
    agent_id: str
    status: str

    def __str__(self) -> str:
        return (
            f"agent {self.agent_id!r}, which transferred case {self.case!r}, is {self.status} and cannot take it back; "
            f"resolve the case, or hand it over with `gatechart handoff {self.case} --to GRAPH --at ENTRY_POINT`"
        )
