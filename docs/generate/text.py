"""Docstrings and tables as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from inspect import cleandoc
from typing import Final

_EXAMPLE: Final = re.compile(r"((?:^[ ]*>>> .*\n?(?:^(?!\s*$).*\n?)*)+)", re.MULTILINE)
_ARGUMENT: Final = re.compile(r"^([a-z_]+(?:, [a-z_]+)*): (?=\S)")


def prose(docstring: str) -> str:
    """Return a docstring as Markdown: arguments as a list, examples as code."""
    lines: list[str] = []
    for chunk in _EXAMPLE.split(cleandoc(docstring)):
        if chunk.startswith(">>> "):
            lines += ["", "```pycon", chunk.rstrip(), "```", ""]
        else:
            lines += _listed(chunk)
    return "\n".join(lines) + "\n"


def _listed(text: str) -> Iterable[str]:
    was_argument = False
    for line in text.splitlines():
        told = _ARGUMENT.match(line)
        if told and not was_argument:
            yield ""
        if not line.strip() or told:
            was_argument = bool(told)
        escaped = outside_code(line)
        yield (
            f"- `{told[1]}`: {outside_code(line[told.end() :])}"
            if told
            else f"  {escaped}"
            if was_argument
            else escaped
        )


def outside_code(text: str) -> str:
    """Escape what HTML would take for a tag, except in code."""
    parts = text.split("`")
    return "`".join(part if n % 2 else part.replace("<", "&lt;") for n, part in enumerate(parts))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; a bar in a cell is escaped."""
    cells = [[outside_code(" ".join(cell.split())).replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(["| " + " | ".join(row) + " |" for row in (columns, ["---"] * len(columns), *cells)]) + "\n"
