"""Modules that are imported on first use, so that `--help` and completion are fast.

Printing any help imports every module that declares commands. Such a module names the imports of running commands
twice: for the type checker as an import, and for Python as `late(...)`. SQLAlchemy, pydantic and Graphviz are late.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _LateModule:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


def late(*names: str) -> Any:
    """Return modules that are imported when one of their attributes is first used: one, or a tuple of several."""
    modules = tuple(map(_LateModule, names))
    return modules if len(modules) > 1 else modules[0]
