"""Nothing inside a package imports in a circle, and everything public has a docstring."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

import pytest

import gatechart

SOURCE: Final = Path(gatechart.__file__).parent
PACKAGES: Final = sorted(
    ".".join(("gatechart", *init.parent.relative_to(SOURCE).parts)) for init in SOURCE.rglob("__init__.py")
)


@cache
def modules() -> dict[str, ast.Module]:
    """Every module of the package by its name, parsed."""
    found: dict[str, ast.Module] = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(("gatechart", *(parts[:-1] if parts[-1] == "__init__" else parts)))
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def imported(tree: ast.Module) -> Iterator[str]:
    """Every module of this project that a module imports, inside functions and for types included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in modules() else node.module for name in names)


def inner_imports(package: str) -> dict[str, set[str]]:
    """Which modules of a package, its own packages as one module each, import which others of it.

    What the package itself re-exports (its `__init__`) stands for the whole, so it is left out as a source.
    """
    found: dict[str, set[str]] = {}
    for name, tree in modules().items():
        here = inside(package, name)
        if here is not None:
            targets = {inside(package, each) for each in imported(tree)}
            found.setdefault(here, set()).update(target for target in targets if target not in (None, here))
    return found


def inside(package: str, name: str) -> str | None:
    """The direct member of the package in which the module is; None for the package itself and for all others."""
    prefix = f"{package}."
    return prefix + name.removeprefix(prefix).partition(".")[0] if name.startswith(prefix) else None


@pytest.mark.parametrize("package", PACKAGES)
def test_no_imports_inside_a_package_go_in_a_circle(package):
    try:
        TopologicalSorter(inner_imports(package)).prepare()
    except CycleError as error:
        circle = " → ".join(name.removeprefix(f"{package}.") for name in reversed(error.args[1]))
        pytest.fail(f"{package}: {circle}")


def undocumented(tree: ast.Module, name: str) -> Iterator[str]:
    """The public things of a module that have no docstring, the module itself among them."""
    if not ast.get_docstring(tree):
        yield name
    yield from _undocumented(tree.body, name)


def _undocumented(body: list[ast.stmt], place: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
            here = f"{place}.{node.name}"
            decorators = [ast.unparse(each).rpartition(".")[2] for each in node.decorator_list]
            if not ast.get_docstring(node) and not {"overload", "setter"} & set(decorators):
                yield here
            if isinstance(node, ast.ClassDef):
                yield from _undocumented(node.body, here)


def test_everything_public_has_a_docstring():
    named = {name: tree for name, tree in modules().items() if not name.rpartition(".")[2].startswith("_")}
    assert [
        thing
        for name, tree in {**named, "gatechart.__main__": modules()["gatechart.__main__"]}.items()
        for thing in undocumented(tree, name)
    ] == []


def passed_on(package: str) -> set[str]:
    """The names that a package imports from its own modules, for users. Names of modules are left out."""
    nodes = (node for node in modules()[package].body if isinstance(node, ast.ImportFrom) and node.module)
    names = {alias.name for node in nodes if inside(package, str(node.module)) for alias in node.names}
    return {name for name in names if f"{package}.{name}" not in modules()}


def imports_of_users() -> Iterator[tuple[str, str]]:
    """Every module that imports from a package as users do, and the name."""
    for module, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in PACKAGES[1:]:
                names = {alias.name for alias in node.names} & passed_on(node.module)
                yield from ((module, f"{node.module}.{name}") for name in names)


def test_modules_import_names_from_the_modules_that_define_them():
    assert [
        (module, name) for module, name in imports_of_users() if module not in (*PACKAGES, "gatechart.__main__")
    ] == []
