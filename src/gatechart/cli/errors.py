"""What can be wrong with a command line, and with where it says that the graphs are."""

from __future__ import annotations

from dataclasses import dataclass

import typer

from gatechart.errors import DefinitionError, suggestion


class UsageError(typer.TyperException):
    """The command line was understood, and cannot be meant."""


@dataclass(eq=False)
class AppUnnamedError(DefinitionError):
    """Nobody said where the graphs are."""

    folder: str

    def __str__(self) -> str:
        return (
            "nothing says where the graphs are; name them with --app module:attribute, --app chart.yaml:module or "
            'GATECHART_APP, or write app = "module:attribute" under [tool.gatechart] in a pyproject.toml in or above '
            f"{self.folder}"
        )


@dataclass(eq=False)
class AppConfigError(DefinitionError):
    """The project's configuration cannot be read."""

    path: str
    problem: str

    def __str__(self) -> str:
        return (
            f'{self.path}: {self.problem}; under [tool.gatechart] write app = "module:attribute" or "chart.yaml:module"'
        )


@dataclass(eq=False)
class AppNameError(DefinitionError):
    """The name of an application has none of the forms that it can have."""

    app: str

    def __str__(self) -> str:
        return (
            f"the app {self.app!r} is of no form that is known; write it as module:attribute for graphs in code, like "
            "'statecharts:graphs', or as chart.yaml, chart.yaml:module or chart.yaml:module:attribute for a chart file "
            "and what its names stand for, more than one joined by commas"
        )


@dataclass(eq=False)
class AppModuleError(DefinitionError):
    """There is no such module."""

    app: str
    module: str
    folder: str
    modules: tuple[str, ...]  # that lie where the module was sought

    def __str__(self) -> str:
        offer = suggestion(self.module, self.modules)
        return f"the app {self.app!r}: no module {self.module!r} is installed or in {self.folder}: {offer}"


@dataclass(eq=False)
class AppAttributeError(DefinitionError):
    """The module has no such attribute."""

    app: str
    module: str
    attribute: str
    attributes: tuple[str, ...]  # that hold graphs

    def __str__(self) -> str:
        offer = f"of graphs, {suggestion(self.attribute, self.attributes)}"
        return f"the app {self.app!r}: the module {self.module!r} has no {self.attribute!r}; {offer}"


@dataclass(eq=False)
class AppBindingsError(DefinitionError):
    """The module that a chart is bound to has no such attribute."""

    app: str
    module: str
    attribute: str
    attributes: tuple[str, ...]  # that may hold bindings

    def __str__(self) -> str:
        offer = f"of bindings, {suggestion(self.attribute, self.attributes)}; the module itself can be named, too"
        return f"the app {self.app!r}: the module {self.module!r} has no {self.attribute!r}; {offer}"


@dataclass(eq=False)
class AppImportError(DefinitionError):
    """The module raised while it was imported."""

    app: str
    raised: str
    place: str

    def __str__(self) -> str:
        return (
            f"the app {self.app!r} cannot be imported: {self.raised} ({self.place}); "
            "mend the module, or see the whole traceback with --debug"
        )


@dataclass(eq=False)
class ServicesError(DefinitionError):
    """What actions and invokes need from outside cannot be had."""

    services: str
    problem: str

    def __str__(self) -> str:
        return (
            f"the services {self.services!r} cannot be had: {self.problem}; name them as module:attribute, a value, or "
            "a function or class that is called for it, with --services, GATECHART_SERVICES or in pyproject.toml"
        )


@dataclass(eq=False)
class AppGraphsError(DefinitionError):
    """The attribute holds something else than graphs."""

    app: str
    found: str

    def __str__(self) -> str:
        return f"the app {self.app!r} {self.found}; let it be a graph, a sequence of graphs or a mapping to graphs"
