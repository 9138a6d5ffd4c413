"""What the package promises about itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import gatechart

PACKAGE = Path(gatechart.__file__).parent
FILES = sorted(file for files in ("charts/*.py", "chartfiles/*.py", "*/chart*.py") for file in PACKAGE.glob(files))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_no_function_is_longer_than_a_screen(path):
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, functions):
            assert node.end_lineno - node.lineno < 42, node.name


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_nothing_imports_by_name_or_runs_text(path):
    names = {node.id for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Name)}
    assert not names & {"eval", "exec", "compile", "__import__", "import_module"}
