"""Apps: the modules and chart files that a project or an option names, and their graphs."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import iscoroutine
from pathlib import Path
from pkgutil import iter_modules
from traceback import extract_tb, walk_tb
from types import ModuleType
from typing import Any, Final, TypeAlias

from gatechart.cli.errors import (
    AppAttributeError,
    AppBindingsError,
    AppConfigError,
    AppDialectError,
    AppGraphsError,
    AppImportError,
    AppModuleError,
    AppNameError,
    AppUnnamedError,
    UsageError,
)
from gatechart.cli.options import ChartDialect, Settings
from gatechart.context import AgentContext
from gatechart.errors.definition import InvalidChartError
from gatechart.errors.root import GatechartError, suggestion
from gatechart.graph.graph import AnyGraph, StateTransitionGraph
from gatechart.hosting.registry import Registry


@dataclass(frozen=True, slots=True)
class App:
    """The name of an app, or of another object of a deployment, and the folder of its modules."""

    name: str  # `module:attribute`, or `chart.yaml:module` and the like
    folder: Path
    dialect: str | None = None  # of a chart file; None: the file declares it
    what: str = "app"  # or another key of [tool.gatechart]


def imported(app: App, module: str) -> ModuleType:
    """Import a module of an app. Raises AppModuleError, AppImportError, and gatechart errors raised by the module."""
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
    is_file = bool(package) and module == f"{package}.py"  # the module has the name of a file
    modules = (package,) if is_file else tuple(found.name for found in iter_modules(paths, prefix))
    where = paths[0] if paths else f"the module {package!r}"
    return AppModuleError(app.name, module, where, modules, app.what)


def _broken(app: App, error: BaseException) -> AppImportError:
    raised = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    location = _location(app, error)
    if isinstance(error, RuntimeError) and _has_unstarted(error):
        remedy = "the module runs a program when it is imported: put the call under `if __name__ == '__main__':`"
        return AppImportError(app.name, raised, location, remedy, what=app.what)
    return AppImportError(app.name, raised, location, what=app.what)


def _has_unstarted(error: RuntimeError) -> bool:
    """Close coroutines that an error, such as a second event loop, kept from running; return whether there are any."""
    frames = (frame for frame, _ in walk_tb(error.__traceback__))
    unstarted = [value for frame in frames for value in frame.f_locals.values() if iscoroutine(value)]
    for coroutine in unstarted:
        coroutine.close()  # otherwise Python adds a warning that it was never awaited
    return bool(unstarted)


def _location(app: App, error: BaseException) -> str:
    """Find the innermost line of the app's own code in the traceback; else the innermost line."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frames = extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(app, Path(frame.filename))]
    frame = (own or frames)[-1]
    return f"{frame.filename}:{frame.lineno}"


def _is_own(app: App, file: Path) -> bool:
    return file.is_relative_to(app.folder) and "site-packages" not in file.parts


_FILE: Final = r".+?\.(?P<ending>yaml|yml|json|scxml)"
_BINDING: Final = r"[^:/\\,]+(:\w+)?"
_FORM: Final = re.compile(rf"(?P<file>{_FILE})(:(?P<bindings>{_BINDING}(,{_BINDING})*))?", re.IGNORECASE | re.DOTALL)
_PREFIX: Final = re.compile(rf"{_FILE}(:|$)", re.IGNORECASE | re.DOTALL)
_UNBOUND: Final = "pass it with bind="  # the text of `gatechart.charts` for callers in Python
Unbound: TypeAlias = Callable[[str, str], Any]


def is_chart(name: str) -> bool:
    """Return whether an app is a chart file.

    >>> is_chart("charts/lamp.yaml:lamp"), is_chart("json:graphs")
    (True, False)
    """
    return _PREFIX.match(name) is not None


def load_chart(app: App, entries: Sequence[str] = (), unbound: Unbound | None = None) -> AnyGraph:
    """Load the graph of a chart file.

    entries: the entry points, in place of the file's. unbound: see `gatechart.charts.load`.
    Raises AppNameError, AppModuleError, AppImportError, AppBindingsError, AppDialectError, NotCarriedError, and
    InvalidChartError with every fault.
    """
    form = _FORM.fullmatch(app.name)
    if form is None:
        raise AppNameError(app.name)
    if _is_several(app, form):
        raise AppNameError(app.name, is_several_charts=True)
    path = _relative_to_here(app.folder / form["file"])
    bind = [_bindings(app, name) for name in form["bindings"].split(",")] if form["bindings"] else []
    if form["ending"].lower() == "scxml":
        return _scxml(app, path, bind, entries)
    if app.dialect == ChartDialect.TRANSITIONS:
        return _of_transitions(app, path, bind, entries)
    return _loaded(app, path, form, bind, entries, unbound)


def _is_several(app: App, form: re.Match[str]) -> bool:
    # An existing file may have a comma in its name.
    is_there = (app.folder / form["file"]).exists()
    others = form["bindings"] or "" if is_there else app.name.partition(",")[2]
    return any(map(is_chart, others.split(",")))


def _loaded(
    app: App, path: Path, form: re.Match[str], bind: list[Any], entries: Sequence[str], unbound: Unbound | None
) -> AnyGraph:
    from gatechart.charts import load  # noqa: PLC0415  only this needs it, and it is slow to import

    try:
        return load(path, bind=bind, dialect=app.dialect, entry_points=entries or None, unbound=unbound)
    except InvalidChartError as error:
        raise _with_remedies(error, form["file"], form["bindings"]) from None


def _scxml(app: App, path: Path, bind: list[Any], entries: Sequence[str]) -> AnyGraph:
    from gatechart.contrib.scxml.reader import read  # noqa: PLC0415  only this needs it, and it is slow to import

    if app.dialect is not None and app.dialect != ChartDialect.SCXML:
        raise AppDialectError(app.name, app.dialect, "an .scxml file has its own dialect; leave out --dialect")
    context = _only_context(app, bind)
    return read(path, entry_points=entries, context=context)


def _of_transitions(app: App, path: Path, bind: list[Any], entries: Sequence[str]) -> AnyGraph:
    from gatechart.chartfiles.faults import Spot  # noqa: PLC0415  as above
    from gatechart.chartfiles.source import read  # noqa: PLC0415

    try:
        from gatechart.contrib.transitions.bridge import graph_from  # noqa: PLC0415  it needs a package that may be missing
    except ModuleNotFoundError:
        problem = "it needs the package transitions; run `pip install transitions`"
        raise AppDialectError(app.name, ChartDialect.TRANSITIONS, problem) from None
    top, faults = read(path)
    faults.check()
    config = Spot(top).plain()
    if not isinstance(config, Mapping):
        problem = "the file does not hold the keywords of a machine, such as states, transitions and initial"
        raise AppDialectError(app.name, ChartDialect.TRANSITIONS, problem)
    context = _only_context(app, bind) or AgentContext
    return graph_from(config, name=path.stem, entry_points=entries, context=context, auto_transitions=False)


def _only_context(app: App, bind: list[Any]) -> type[AgentContext] | None:
    """Return the context class that an app names after a file that needs no module. Raises AppDialectError."""
    if not bind:
        return None
    if len(bind) == 1 and isinstance(bind[0], type) and issubclass(bind[0], AgentContext):
        return bind[0]
    problem = "its functions are not bound by name; leave out the module, or add the class of the context"
    raise AppDialectError(app.name, app.dialect or ChartDialect.SCXML, f"{problem}, as in module:Context")


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


def _relative_to_here(path: Path) -> Path:
    """Return a path relative to the current folder if it is inside."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _with_remedies(error: InvalidChartError, file: str, names: str | None) -> InvalidChartError:
    """Replace the remedies for Python with remedies for the command line."""
    form = f"name its module in the app: {file}:package.module"
    remedy = f"{names!r} does not have it; define it there, or add its module after a comma" if names else form
    faults = (replace(fault, remedy=remedy) if fault.remedy == _UNBOUND else fault for fault in error.faults)
    return InvalidChartError(error.file, tuple(faults))


Graphs: TypeAlias = tuple[AnyGraph, ...]


def find_app(name: str | None) -> App | None:
    """Find the app of this name, else the project's app; None if there is none. Raises AppConfigError."""
    folder = Path.cwd()
    return App(name, folder) if name else of_project(folder, "app")


def load_graphs(settings: Settings, unbound: Unbound | None = None) -> Graphs:
    """Load the graphs of the app that the settings or the project name: every version of each graph, the newest last.

    unbound: see `gatechart.charts.load`.
    Raises AppUnnamedError and the other errors of `gatechart.cli.errors`, InvalidGraphError, InvalidChartError,
    NotCarriedError, DuplicateGraphError, UsageError.
    """
    app = find_app(settings.app)
    if app is None:
        raise AppUnnamedError(str(Path.cwd()))
    if is_chart(app.name):
        return (load_chart(replace(app, dialect=settings.dialect or app.dialect), settings.entry or (), unbound),)
    _check_no_options_of_charts(app, settings)
    graphs = _graphs_in(app, _attribute(app))
    Registry(graphs)  # raises for duplicates
    return graphs


def with_chart(settings: Settings, names: Sequence[str]) -> tuple[Settings, list[str]]:
    """Use the chart file among some names as the app; return the settings and the other names. Raises UsageError."""
    files = list(filter(is_chart, names))
    if len(files) > 1:
        raise UsageError(f"several chart files ({', '.join(files)}); name one at a time")
    others = [name for name in names if name not in files]
    return (replace(settings, app=files[0]) if files else settings), others


def load_as_written(settings: Settings, unbound: Unbound) -> Graphs:
    """Load graphs for inspection. The functions of a chart file need not exist, unless the app names a module for them.

    unbound: see `gatechart.charts.load`. Raises the errors of `load_graphs`.
    """
    app = find_app(settings.app)
    form = None if app is None else _FORM.fullmatch(app.name)
    return load_graphs(settings, None if form is None or form["bindings"] else unbound)


def _check_no_options_of_charts(app: App, settings: Settings) -> None:
    for option, given in (("--dialect", settings.dialect), ("--entry", settings.entry)):
        if given:
            raise UsageError(
                f"{option} is only for chart files, and the app {app.name!r} is Python; leave out {option}"
            )


def newest_named(graphs: Graphs, name: str) -> AnyGraph:
    """Choose the newest version of the graph with this name. Raises UnknownGraphError."""
    return Registry(graphs).graph(name)


def only_newest(app: str, graphs: Graphs) -> AnyGraph:
    """Return the newest version of the only graph of an app. Raises UsageError if it has several."""
    newest_graphs = newest(graphs)
    if len(newest_graphs) > 1:
        names = ", ".join(graph.name for graph in newest_graphs)
        raise UsageError(f"--graph: {app} has several graphs ({names}); name the attribute of one")
    return newest_graphs[0]


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


_OTHER_KEYS: Final = {
    **dict.fromkeys(("services", "choosing", "packet_migrations"), "module:attribute"),
    "tool_policies": "file.yaml",
}
"""The keys of a project besides its app, with the form of their values."""
_KEYS: Final = ("app", "dialect", *_OTHER_KEYS)


def of_project(folder: Path, key: str) -> App | None:
    """Read a key of the nearest pyproject.toml that has [tool.gatechart]; `app` is required there."""
    for path in (each / "pyproject.toml" for each in (folder, *folder.parents)):
        settings = _settings(path) if path.is_file() else None
        if settings is not None:
            _check_keys(path, settings)
            name = settings.get(key)
            if name is None and key != "app":
                return None
            if not isinstance(name, str) and key in _OTHER_KEYS:
                raise AppConfigError(str(path), f"{key} is {name!r}", f'{key} = "{_OTHER_KEYS[key]}"')
            if not isinstance(name, str):
                raise AppConfigError(str(path), f"{key} is {name!r}" if name else f"it has no {key}")
            if settings.get("dialect") not in (None, *ChartDialect):
                choices = ", ".join(ChartDialect)
                raise AppConfigError(str(path), f"dialect is {settings['dialect']!r}, not one of {choices}")
            return App(name, path.parent, settings.get("dialect"), key)
    return None


def _check_keys(path: Path, settings: Mapping[str, Any]) -> None:
    for key in settings:
        if key not in _KEYS:
            remedy = "one of these, and name the store with --store or GATECHART_STORE"
            problem = f"unknown key {key!r}: {suggestion(key, _KEYS)}"
            raise AppConfigError(str(path), problem, remedy if key == "store" else "one of these")


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
    return tuple(name for name, members in public.items() if members and not _types_of_non_graphs(members))


def _graphs_in(app: App, value: object) -> Graphs:
    members = _members(value)
    if members is None:
        raise AppGraphsError(app.name, f"is of type {type(value).__name__}")
    if not members:
        raise AppGraphsError(app.name, "is empty")
    wrong_types = _types_of_non_graphs(members)
    if wrong_types:
        raise AppGraphsError(app.name, f"contains values that are not graphs, of type {', '.join(wrong_types)}")
    return members


def _members(value: object) -> tuple[Any, ...] | None:
    """Return the value itself, its items, or the values of a mapping; None for any other type."""
    if isinstance(value, StateTransitionGraph):
        return (value,)
    if isinstance(value, Mapping):
        return tuple(value.values())
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(value)
    return None


def _types_of_non_graphs(members: Iterable[object]) -> tuple[str, ...]:
    kinds = (type(member).__name__ for member in members if not isinstance(member, StateTransitionGraph))
    return tuple(dict.fromkeys(kinds))
