"""Applications that are chart files: `chart.yaml`, or with what its names stand for `chart.yaml:module`.

That may also be `module:attribute`, and several of either, joined by commas.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from gatechart.cli.errors import AppBindingsError, AppNameError
from gatechart.cli.importing import App, imported
from gatechart.errors import InvalidChartError
from gatechart.graph import StateTransitionGraph

_BINDING: Final = r"[^:/\\,]+(:\w+)?"
_FORM: Final = re.compile(
    rf"(?P<file>.+?\.(yaml|yml|json))(:(?P<bindings>{_BINDING}(,{_BINDING})*))?", re.IGNORECASE | re.DOTALL
)
_BEGINNING: Final = re.compile(r".+?\.(yaml|yml|json)(:|$)", re.IGNORECASE | re.DOTALL)
_UNBOUND: Final = "pass it with bind="  # how `gatechart.charts` puts it, for whoever calls from Python


def is_chart(name: str) -> bool:
    """Whether the name of an application names a chart file.

    >>> is_chart("charts/lamp.yaml:lamp"), is_chart("json:graphs")
    (True, False)
    """
    return _BEGINNING.match(name) is not None


def load_chart(app: App) -> StateTransitionGraph:
    """The graph of a chart file.

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
    """What `module`, or `module:attribute`, stands for."""
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
    """The path as short as it can be told."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _with_remedies(error: InvalidChartError, file: str, names: str | None) -> InvalidChartError:
    """The error, telling how names are bound on the command line rather than in Python."""
    form = f"name the module that has it: let the app be {file}:package.module"
    remedy = f"{names!r} has none; define it there, or name its module, too, behind a comma" if names else form
    faults = (replace(fault, remedy=remedy) if fault.remedy == _UNBOUND else fault for fault in error.faults)
    return InvalidChartError(error.file, tuple(faults))
