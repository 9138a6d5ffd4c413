"""From the name of an application to its graphs."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from gatechart.cli.chart_files import is_chart, load_chart
from gatechart.cli.errors import (
    AppAttributeError,
    AppConfigError,
    AppGraphsError,
    AppNameError,
    AppUnnamedError,
    PacketMigrationsError,
)
from gatechart.cli.importing import App, imported
from gatechart.cli.options import PACKET_MIGRATIONS_VARIABLE
from gatechart.graph import StateTransitionGraph
from gatechart.handoff import PacketMigration
from gatechart.hosting.registry import Registry

Graphs: TypeAlias = tuple[StateTransitionGraph, ...]


def find_app(name: str | None) -> App | None:
    """The application of this name, else the project's; None where nothing names one. Raises AppConfigError."""
    folder = Path.cwd()
    return App(name, folder) if name else _of_project(folder, "app")


def find_services(name: str | None) -> App | None:
    """Where the services of this name are, else the project's; None where nothing names any. Raises AppConfigError."""
    folder = Path.cwd()
    return App(name, folder) if name else _of_project(folder, "services")


def load_packet_migrations() -> tuple[PacketMigration, ...]:
    """Those that the environment or the project names; none where neither does.

    Raises PacketMigrationsError, AppConfigError, AppModuleError, AppImportError.
    """
    folder = Path.cwd()
    name = os.environ.get(PACKET_MIGRATIONS_VARIABLE)
    app = App(name, folder) if name else _of_project(folder, "packet_migrations")
    if app is None:
        return ()
    module_name, _, attribute = app.name.partition(":")
    if not module_name or not attribute or module_name.startswith((".", "/")):
        raise PacketMigrationsError(app.name, "that is not of the form module:attribute")
    value = getattr(imported(app, module_name), attribute, None)
    migrations = (value,) if isinstance(value, PacketMigration) else tuple(value) if isinstance(value, Iterable) else ()
    if not migrations or not all(isinstance(each, PacketMigration) for each in migrations):
        raise PacketMigrationsError(app.name, f"there is {type(value).__name__}, no PacketMigration or several")
    return migrations


def load_graphs(name: str | None) -> Graphs:
    """The graphs of the application of this name, else of the project's: every version of each, the newest last.

    Raises AppUnnamedError and the other errors of `gatechart.cli.errors`, InvalidGraphError, InvalidChartError,
    DuplicateGraphError.
    """
    app = find_app(name)
    if app is None:
        raise AppUnnamedError(str(Path.cwd()))
    if is_chart(app.name):
        return (load_chart(app),)
    graphs = _graphs_in(app, _attribute(app))
    Registry(graphs)  # finds those that are there twice
    return graphs


def newest(graphs: Graphs) -> Graphs:
    """The newest version of each graph."""
    return Registry(graphs).graphs


def _attribute(app: App) -> object:
    """What the application's `module:attribute` stands for."""
    module_name, _, attribute = app.name.partition(":")
    if not module_name or not attribute or module_name.startswith((".", "/")):
        raise AppNameError(app.name)
    module = imported(app, module_name)
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise AppAttributeError(app.name, module_name, attribute, _names_of_graphs(module)) from None


def _of_project(folder: Path, key: str) -> App | None:
    """What the nearest pyproject.toml with a table for gatechart says: of the app it has to."""
    for path in (each / "pyproject.toml" for each in (folder, *folder.parents)):
        settings = _settings(path) if path.is_file() else None
        if settings is not None:
            name = settings.get(key)
            if name is None and key != "app":
                return None
            if not isinstance(name, str):
                raise AppConfigError(str(path), f"its {key} is {name!r}" if name else f"it names no {key}")
            return App(name, path.parent)
    return None


def _settings(path: Path) -> Mapping[str, Any] | None:
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("gatechart")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise AppConfigError(str(path), f"it cannot be read ({error})") from error
    if settings is not None and not isinstance(settings, Mapping):
        raise AppConfigError(str(path), "its [tool.gatechart] is no table")
    return settings


def _names_of_graphs(module: ModuleType) -> tuple[str, ...]:
    public = {name: _members(value) for name, value in vars(module).items() if not name.startswith("_")}
    return tuple(name for name, members in public.items() if members and not _strangers(members))


def _graphs_in(app: App, value: object) -> Graphs:
    members = _members(value)
    if members is None:
        raise AppGraphsError(app.name, f"is of the type {type(value).__name__}")
    if not members:
        raise AppGraphsError(app.name, "is empty")
    strangers = _strangers(members)
    if strangers:
        raise AppGraphsError(app.name, f"holds what is no graph, of the type {', '.join(strangers)}")
    return members


def _members(value: object) -> tuple[Any, ...] | None:
    """What should be graphs: the value itself, its items, or a mapping's values; None where it can be none of them."""
    if isinstance(value, StateTransitionGraph):
        return (value,)
    if isinstance(value, Mapping):
        return tuple(value.values())
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(value)
    return None


def _strangers(members: Iterable[object]) -> tuple[str, ...]:
    kinds = (type(member).__name__ for member in members if not isinstance(member, StateTransitionGraph))
    return tuple(dict.fromkeys(kinds))
