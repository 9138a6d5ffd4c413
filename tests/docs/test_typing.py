"""The programs of the documents pass mypy --strict, so what a user copies from them is typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest
from mypy import api
from sybil import Document
from sybil.parsers.markdown import PythonCodeBlockParser

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = sorted((ROOT / "docs").rglob("*.md"))
CONFIG: Final = """
[mypy]
strict = True
follow_imports = silent
# The pages explain one thing each, and leave the types of functions out.
[mypy-pages.*]
disallow_untyped_defs = False
disallow_untyped_calls = False
"""
WRONG_ON_PURPOSE: Final = "guard=lambda context: True"


def program(document: Path) -> str:
    """Join the Python blocks of a document; each goes on where the one before ended."""
    return "\n".join(example.parsed for example in Document.parse(str(document), PythonCodeBlockParser()).examples())


def module(page: Path) -> str:
    """Name the module that a page's program becomes: how_to_serve.py."""
    return "_".join(page.relative_to(ROOT / "docs").with_suffix(".py").parts).replace("-", "_")


@pytest.mark.slow
def test_the_programs_of_the_documents_pass_a_strict_type_checker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mypy.ini").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "__init__.py").touch()
    (tmp_path / "readme.py").write_text(program(ROOT / "README.md"), encoding="utf-8")
    for page in PAGES:
        (tmp_path / "pages" / module(page)).write_text(program(page), encoding="utf-8")
    monkeypatch.setenv("MYPYPATH", f"{ROOT / 'src'}:{ROOT}")
    monkeypatch.chdir(tmp_path)
    told, _, _ = api.run(["--no-error-summary", f"--cache-dir={tmp_path / 'cache'}", "readme.py", "pages"])
    errors = {match[1] for line in told.splitlines() if (match := re.match(r"(.+?:\d+): error: ", line))}
    programs = {path.relative_to(tmp_path): path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.py")}
    lines = {f"{path}:{n}": line for path, text in programs.items() for n, line in enumerate(text.splitlines(), 1)}
    assert errors == {place for place, line in lines.items() if WRONG_ON_PURPOSE in line}, told
