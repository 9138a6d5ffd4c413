"""Apps: the modules, chart files, services and packet migrations that a project or an option names."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import isawaitable, isroutine
from pathlib import Path
from pkgutil import iter_modules
from traceback import extract_tb
from types import ModuleType
from typing import Any, Final, TypeAlias

from gatechart.cli.errors import (
    AppAttributeError,
    AppBindingsError,
    AppConfigError,
    AppGraphsError,
    AppImportError,
    AppModuleError,
    AppNameError,
    AppUnnamedError,
    PacketMigrationsError,
    ServicesError,
    UsageError,
)
from gatechart.cli.options import PACKET_MIGRATIONS_VARIABLE, Settings
from gatechart.errors import GatechartError, InvalidChartError
from gatechart.graph import AnyGraph, StateTransitionGraph
from gatechart.handoff import PacketMigration
from gatechart.hosting.registry import Registry


@dataclass(frozen=True, slots=True)
class App:
    """The name of an app, and the folder from which its modules are imported."""

    name: str  # `module:attribute`, or `chart.yaml:module` and the like
    folder: Path


def imported(app: App, module: str) -> ModuleType:
    """Import a module of an app. Raises AppModuleError, AppImportError, and errors of gatechart raised on the way."""
    if str(app.folder) not in sys.path:
        sys.path.insert(0, str(app.folder))
    try:
        return import_module(module)
    except GatechartError:
        raise
    except ModuleNotFoundError as error:
        if error.name and f"{module}.".startswith(f"{error.name}."):
            raise _not_found(app, error.name) from None
        raise _broken(app, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(app, error) from error


def _not_found(app: App, module: str) -> AppModuleError:
    package, _, _ = module.rpartition(".")
    paths = list(getattr(sys.modules[package], "__path__", ())) if package else [str(app.folder)]
    prefix = f"{package}." if package else ""
    modules = tuple(found.name for found in iter_modules(paths, prefix))
    return AppModuleError(app.name, module, paths[0] if paths else f"the module {package!r}", modules)


def _broken(app: App, error: BaseException) -> AppImportError:
    raised = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return AppImportError(app.name, raised, _place(app, error))


def _place(app: App, error: BaseException) -> str:
    """Find the innermost line of the app's own code that was running, if there is one."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frames = extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(app, Path(frame.filename))]
    frame = (own or frames)[-1]
    return f"{frame.filename}:{frame.lineno}"


def _is_own(app: App, file: Path) -> bool:
    return file.is_relative_to(app.folder) and "site-packages" not in file.parts


_BINDING: Final = r"[^:/\\,]+(:\w+)?"
_FORM: Final = re.compile(
    rf"(?P<file>.+?\.(yaml|yml|json))(:(?P<bindings>{_BINDING}(,{_BINDING})*))?", re.IGNORECASE | re.DOTALL
)
_BEGINNING: Final = re.compile(r".+?\.(yaml|yml|json)(:|$)", re.IGNORECASE | re.DOTALL)
_UNBOUND: Final = "pass it with bind="  # how `gatechart.charts` puts it, for whoever calls from Python


def is_chart(name: str) -> bool:
    """Whether an app is a chart file.

    >>> is_chart("charts/lamp.yaml:lamp"), is_chart("json:graphs")
    (True, False)
    """
    return _BEGINNING.match(name) is not None


def load_chart(app: App) -> AnyGraph:
    """Load the graph of a chart file.

    Raises AppNameError, AppModuleError, AppImportError, AppBindingsError, InvalidChartError with every fault.
    """
    from gatechart.charts import load  # noqa: PLC0415  only this needs it, and it is slow to import

    form = _FORM.fullmatch(app.name)
    if form is None:
        raise AppNameError(app.name)
    file, names = form["file"], form["bindings"]
    bind = [_bindings(app, name) for name in names.split(",")] if names else None
    try:
        return load(_seen_from_here(app.folder / file), bind=bind)
    except InvalidChartError as error:
        raise _with_remedies(error, file, names) from None


def _bindings(app: App, name: str) -> Any:
    """Import `module`, or get `module:attribute`."""
    module_name, _, attribute = name.partition(":")
    module = imported(app, module_name)
    if not attribute:
        return module
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise AppBindingsError(app.name, module_name, attribute, _names_of_bindings(module)) from None


def _names_of_bindings(module: ModuleType) -> tuple[str, ...]:
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    return tuple(name for name, value in public.items() if not callable(value) and not isinstance(value, ModuleType))


def _seen_from_here(path: Path) -> Path:
    """Shorten a path, relative to the current folder if it is inside."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _with_remedies(error: InvalidChartError, file: str, names: str | None) -> InvalidChartError:
    """Replace the remedies for Python with those for the command line."""
    form = f"name the module that has it: let the app be {file}:package.module"
    remedy = f"{names!r} has none; define it there, or name its module, too, behind a comma" if names else form
    faults = (replace(fault, remedy=remedy) if fault.remedy == _UNBOUND else fault for fault in error.faults)
    return InvalidChartError(error.file, tuple(faults))


Graphs: TypeAlias = tuple[AnyGraph, ...]


def find_app(name: str | None) -> App | None:
    """Find the app of this name, else that of the project; None if there is none. Raises AppConfigError."""
    folder = Path.cwd()
    return App(name, folder) if name else _of_project(folder, "app")


def find_services(name: str | None) -> App | None:
    """Find the services of this name, else those of the project; None if there are none. Raises AppConfigError."""
    folder = Path.cwd()
    return App(name, folder) if name else _of_project(folder, "services")


def load_packet_migrations() -> tuple[PacketMigration, ...]:
    """Load the packet migrations that the environment or the project names, if any.

    Raises PacketMigrationsError, AppConfigError, AppModuleError, AppImportError.
    """
    folder = Path.cwd()
    name = os.environ.get(PACKET_MIGRATIONS_VARIABLE)
    app = App(name, folder) if name else _of_project(folder, "packet_migrations")
    if app is None:
        return ()
    module_name, _, attribute = app.name.partition(":")
    if not module_name or not attribute or module_name.startswith((".", "/")):
        raise PacketMigrationsError(app.name, "the name is not of the form module:attribute")
    value = getattr(imported(app, module_name), attribute, None)
    migrations = (value,) if isinstance(value, PacketMigration) else tuple(value) if isinstance(value, Iterable) else ()
    if not migrations or not all(isinstance(each, PacketMigration) for each in migrations):
        raise PacketMigrationsError(app.name, f"found {type(value).__name__}, expected a PacketMigration or several")
    return migrations


def load_graphs(name: str | None) -> Graphs:
    """Load the graphs of this app, else of the project's: every version of each, the newest last.

    Raises AppUnnamedError and the other errors of `gatechart.cli.errors`, InvalidGraphError, InvalidChartError,
    DuplicateGraphError.
    """
    app = find_app(name)
    if app is None:
        raise AppUnnamedError(str(Path.cwd()))
    if is_chart(app.name):
        return (load_chart(app),)
    graphs = _graphs_in(app, _attribute(app))
    Registry(graphs)  # raises for duplicates
    return graphs


def newest_named(graphs: Graphs, name: str) -> AnyGraph:
    """Choose the newest version of the graph with this name. Raises UnknownGraphError."""
    return Registry(graphs).graph(name)


def only_newest(app: str, graphs: Graphs) -> AnyGraph:
    """Choose the newest version of the only graph of an app. Raises UsageError if it has several."""
    found = newest(graphs)
    if len(found) > 1:
        names = ", ".join(graph.name for graph in found)
        raise UsageError(f"--graph: {app} has several graphs ({names}); name the attribute of one")
    return found[0]


def newest(graphs: Graphs) -> Graphs:
    """Choose the newest version of each graph."""
    return Registry(graphs).graphs


def _attribute(app: App) -> object:
    """Get the `module:attribute` of an app."""
    module_name, _, attribute = app.name.partition(":")
    if not module_name or not attribute or module_name.startswith((".", "/")):
        raise AppNameError(app.name)
    module = imported(app, module_name)
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise AppAttributeError(app.name, module_name, attribute, _names_of_graphs(module)) from None


def _of_project(folder: Path, key: str) -> App | None:
    """Read a key of the nearest pyproject.toml that has a [tool.gatechart]; the app is required there."""
    for path in (each / "pyproject.toml" for each in (folder, *folder.parents)):
        settings = _settings(path) if path.is_file() else None
        if settings is not None:
            name = settings.get(key)
            if name is None and key != "app":
                return None
            if not isinstance(name, str):
                raise AppConfigError(str(path), f"{key} is {name!r}" if name else f"it has no {key}")
            return App(name, path.parent)
    return None


def _settings(path: Path) -> Mapping[str, Any] | None:
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("gatechart")
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise AppConfigError(str(path), f"it cannot be read ({error})") from error
    if settings is not None and not isinstance(settings, Mapping):
        raise AppConfigError(str(path), "[tool.gatechart] is not a table")
    return settings


def _names_of_graphs(module: ModuleType) -> tuple[str, ...]:
    public = {name: _members(value) for name, value in vars(module).items() if not name.startswith("_")}
    return tuple(name for name, members in public.items() if members and not _strangers(members))


def _graphs_in(app: App, value: object) -> Graphs:
    members = _members(value)
    if members is None:
        raise AppGraphsError(app.name, f"is of type {type(value).__name__}")
    if not members:
        raise AppGraphsError(app.name, "is empty")
    strangers = _strangers(members)
    if strangers:
        raise AppGraphsError(app.name, f"contains values that are not graphs, of type {', '.join(strangers)}")
    return members


def _members(value: object) -> tuple[Any, ...] | None:
    """Take the value itself, its items, or the values of a mapping; None if it is of another type."""
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


@asynccontextmanager
async def opened_services(settings: Settings) -> AsyncIterator[Any]:
    """Open the services that the settings or the project name; None if neither does.

    A function or class is called, what it returns is awaited if it can be, and entered if it is an async context
    manager. Raises ServicesError, AppModuleError, AppImportError.
    """
    app = find_services(settings.services)
    if app is None:
        yield None
        return
    value = _services_attribute(app)
    async with AsyncExitStack() as stack:
        try:
            made = value() if isroutine(value) or isinstance(value, type) else value
            services = await made if isawaitable(made) else made
            if hasattr(services, "__aenter__") and hasattr(services, "__aexit__"):
                services = await stack.enter_async_context(services)
        except Exception as error:
            raise ServicesError(app.name, f"{type(error).__name__} was raised: {error}") from error
        yield services


def _services_attribute(app: App) -> Any:
    module_name, _, attribute = app.name.partition(":")
    if not module_name or not attribute or module_name.startswith((".", "/")):
        raise ServicesError(app.name, "the name is not of the form module:attribute")
    module = imported(app, module_name)
    try:
        return getattr(module, attribute)
    except AttributeError:
        raise ServicesError(app.name, f"module {module_name!r} has no {attribute!r}") from None
