"""A page for each public package: every name with its signature, its fields and its docstring."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from textwrap import dedent
from types import GenericAlias, ModuleType
from typing import Any, Final

import gatechart
import gatechart.results
from docs.generate.text import prose

HEAD: Final = """# Public names

Everything that `from gatechart import …` imports, then the names of the packages for handoffs, signals, selection and
so on, then what calls return ([results](#results)). This page is made from the code.
"""
INTRODUCED: Final = {
    "ANY": "Stands for any state: `Transition(ANY, …)` is taken from wherever the agent is, after all others.",
}


PACKAGES: Final = (
    *("handoff", "signals", "selection", "escape", "tools", "models", "alerts", "watchdog", "runtime", "charts"),
    *("checks", "clients", "testing"),
)


def api() -> str:
    """Return the page of the top-level names, the public packages, and what calls return."""
    shown: set[str] = set()
    lines = [HEAD, "## What you create and call", "", *section(gatechart, shown)]
    for name in PACKAGES:
        package = import_module(f"gatechart.{name}")
        introduction = prose((package.__doc__ or "").partition("\n\n")[0])
        lines += [f"## gatechart.{name}", "", introduction, *section(package, shown)]
    lines += ["## Results", "", "Imported from `gatechart.results`.", "", *section(gatechart.results, shown)]
    return "\n".join(lines)


def section(package: ModuleType, shown: set[str]) -> Iterator[str]:
    """Describe the names of a package that no section before has shown."""
    for name in sorted(set(package.__all__) - shown, key=str.lower):
        shown.add(name)
        yield from documented(name, getattr(package, name))


def documented(name: str, value: Any) -> Iterator[str]:
    """Describe a public name: a class with its fields and methods, a function, or a constant."""
    yield f"### {name}\n"
    if inspect.isclass(value) and not isinstance(value, GenericAlias):
        yield code(class_header(value))
        yield prose(value.__doc__ or "")
        for member in members(value):
            yield from method(value, member)
    elif inspect.isroutine(value):
        yield code(header(value))
        yield prose(value.__doc__ or "")
    elif name in INTRODUCED:
        yield prose(INTRODUCED[name])
    else:
        yield code(f"{name} = {value!r}")


def class_header(kind: type) -> str:
    """Return the line that begins a class, and its public fields as they are written, comments included."""
    source = dedent(inspect.getsource(kind)).splitlines()
    tree = ast.parse("\n".join(source)).body[0]
    assert isinstance(tree, ast.ClassDef)
    bases = [ast.unparse(base) for base in tree.bases]
    fields = [
        line
        for node in tree.body
        if isinstance(node, ast.AnnAssign | ast.Assign) and is_field(node)
        for line in source[node.lineno - 1 : node.end_lineno]
    ]
    init = next(
        (
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef) and node.name == "__init__" and not is_overload(node)
        ),
        None,
    )
    shown = [] if fields or init is None else signature(init).splitlines()
    return "\n".join(
        [f"class {kind.__name__}({', '.join(bases)}):".replace("()", ""), *fields, *(f"    {line}" for line in shown)]
    )


def is_field(node: ast.AnnAssign | ast.Assign) -> bool:
    """Whether a statement of a class declares a field that a user can set or read."""
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    return isinstance(target, ast.Name) and not target.id.startswith("_") and target.id != "model_config"


def is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a definition only says a type."""
    return any(ast.unparse(each).endswith("overload") for each in node.decorator_list)


def members(kind: type) -> Iterator[str]:
    """List the public methods and properties that this package defines, in the order of their definition."""
    seen = set()
    for each in kind.__mro__:
        if each.__module__.partition(".")[0] == "gatechart":
            for name, value in vars(each).items():
                if name not in seen and not name.startswith("_") and is_documented(value):
                    seen.add(name)
                    yield name


def is_documented(member: object) -> bool:
    """Whether a member of a class is a function or a property, rather than data."""
    return isinstance(member, property | classmethod | staticmethod) or inspect.isroutine(member)


def method(kind: type, name: str) -> Iterator[str]:
    """Describe a method or a property."""
    member = inspect.getattr_static(kind, name)
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    if not function.__doc__:
        return
    yield f"#### {kind.__name__}.{name}\n"
    yield code(header(function))
    yield prose(function.__doc__)


def header(function: Any) -> str:
    """Return how a function is called, as it is written."""
    source = ast.parse(dedent(inspect.getsource(inspect.unwrap(function)))).body[0]
    assert isinstance(source, ast.FunctionDef | ast.AsyncFunctionDef)
    return signature(source)


def signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return a definition without its body, one parameter to a line if it is long."""
    kept = [
        each
        for each in node.decorator_list
        if ast.unparse(each) in {"property", "classmethod", "staticmethod", "asynccontextmanager"}
    ]
    node.decorator_list, node.body = kept, [ast.Expr(ast.Constant(...))]
    text = ast.unparse(node).removesuffix("\n    ...").removesuffix(":")
    if max(map(len, text.splitlines())) <= 100:
        return text
    before, _, rest = text.partition("(")
    inner, arrow, returned = rest.rpartition(")")
    parts = re.split(r", (?![^\[(]*[\])])", inner)
    return f"{before}(\n    " + ",\n    ".join(parts) + f",\n{arrow}{returned}"


def code(text: str) -> str:
    """Return a block of Python."""
    return f"```py\n{text}\n```\n"
