"""Modules of an application, imported from its folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from traceback import extract_tb
from types import ModuleType

from gatechart.cli.errors import AppImportError, AppModuleError
from gatechart.errors import GatechartError


@dataclass(frozen=True, slots=True)
class App:
    """Where graphs are, and the folder from which its modules can be imported and its files be named."""

    name: str  # `module:attribute`, or `chart.yaml:module` and the like
    folder: Path


def imported(app: App, module: str) -> ModuleType:
    """The module of this name. Raises AppModuleError, AppImportError, and what gatechart raised on the way."""
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
    """The innermost line of the application's own code, where it has one, that was running."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    frames = extract_tb(error.__traceback__)
    own = [frame for frame in frames if _is_own(app, Path(frame.filename))]
    frame = (own or frames)[-1]
    return f"{frame.filename}:{frame.lineno}"


def _is_own(app: App, file: Path) -> bool:
    return file.is_relative_to(app.folder) and "site-packages" not in file.parts
