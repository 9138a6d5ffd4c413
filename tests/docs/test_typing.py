"""The programs of the documents pass strict type checkers, so what a user copies from them is typed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from sybil import Document
from sybil.parsers.markdown import PythonCodeBlockParser

import gatechart
import gatechart.results
import gatechart.testing
from tests.checkers import CHECKERS, ROOT, Said, check

README: Final = ROOT / "README.md"
ELSEWHERE: Final = ROOT / "docs" / "how-to" / "other-frameworks.md"  # its programs need what is not installed here
PAGES: Final = sorted({*(ROOT / "docs").rglob("*.md")} - {ELSEWHERE})
OURS: Final = {*gatechart.__all__, *gatechart.results.__all__, *gatechart.testing.__all__}
WRONG_ON_PURPOSE: Final = "guard=lambda context: True"
UNTYPED: Final = {
    "docs/how-to/from-transitions.md: agent is Agent[Any]",  # a configuration says nothing of types
    "docs/how-to/from-transitions.md: graph is StateTransitionGraph[Any]",
    "docs/how-to/from-xstate.md: toggle is StateTransitionGraph[Any]",  # neither does a file
    "docs/how-to/llm.md: tokens is Subscription[Any]",  # whatever the invoke publishes
    "docs/how-to/mcp.md: result is ToolResult[Any]",  # of a tool that is called by its name
    "docs/how-to/serve.md: agent is Agent[Any]",  # started by the name of its graph
}
REVEAL: Final = re.compile(r"\s*reveal_type\((?P<name>\w+)\)")


def program(document: Path) -> str:
    """Join the Python blocks of a document; each goes on where the one before ended."""
    return "\n".join(example.parsed for example in Document.parse(str(document), PythonCodeBlockParser()).examples())


def module(document: Path) -> str:
    """Name the module that a document's program becomes: readme.py, pages/how_to_serve.py."""
    if document == README:
        return "readme.py"
    return "pages/" + "_".join(document.relative_to(ROOT / "docs").with_suffix(".py").parts).replace("-", "_")


def revealing(text: str) -> str:
    """Return a program that asks, on lines of their own, for the type of what it assigns and enters."""
    lines: list[str] = []
    asked = dict(sorted(questions(ast.parse(text))))
    for number, line in enumerate(text.splitlines(), 1):
        lines += [line, *asked.get(number, ())]
    return "\n".join([*lines, ""])


def questions(tree: ast.Module) -> Iterator[tuple[int, list[str]]]:
    """Yield what to ask after which line of a program."""
    in_classes = {id(node) for kind in ast.walk(tree) if isinstance(kind, ast.ClassDef) for node in kind.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and id(node) not in in_classes:
            indent, after = node.col_offset, node.end_lineno or node.lineno
            targets = node.targets
        elif isinstance(node, ast.With | ast.AsyncWith):
            indent, after = node.body[0].col_offset, node.body[0].lineno - 1
            targets = [item.optional_vars for item in node.items if item.optional_vars]
        else:
            continue
        names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
        yield after, [f"{' ' * indent}reveal_type({name})" for name in names]


@pytest.fixture(scope="module", params=CHECKERS)
def checked(request, tmp_path_factory, processes) -> tuple[dict[str, str], list[Said]]:
    """The lines of all programs by place, and what a checker says of them."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "pages").mkdir()
    (folder / "pages" / "__init__.py").touch()
    lines = {}
    for document in (README, *PAGES):
        text = revealing(program(document))
        (folder / module(document)).write_text(text, encoding="utf-8")
        lines |= {f"{module(document)}:{number}": line for number, line in enumerate(text.splitlines(), 1)}
    # The pages explain one thing each, and leave the types of functions out.
    return lines, check(request.param, folder, loose="pages")


@pytest.mark.slow
def test_the_programs_of_the_documents_pass_a_strict_type_checker(checked) -> None:
    lines, said = checked
    wrong = {place for place, line in lines.items() if WRONG_ON_PURPOSE in line}
    assert [each for each in said if each.error and each.place not in wrong] == []
    assert {each.place for each in said if each.error} == wrong


@pytest.mark.slow
def test_what_the_readme_assigns_has_the_types_that_it_shows(checked) -> None:
    assert {told.removeprefix("README.md: ") for told in types(checked, [README])} == {
        "support is StateTransitionGraph[Case]",
        "runtime is Runtime",
        "agent is Agent[Case]",
        "outcome is Outcome",
    }


@pytest.mark.slow
def test_no_type_of_ours_is_silently_any_in_the_tutorial_and_the_how_to_pages(checked) -> None:
    pages = [page for page in PAGES if page.parent.name in {"tutorial", "how-to"}]
    vague = {told for told in types(checked, pages) if re.search(r"Any|Unknown|Never", told)}
    assert vague == UNTYPED


def types(checked: tuple[dict[str, str], list[Said]], documents: list[Path]) -> Iterator[str]:
    """Yield what is revealed in documents, and is of a type of ours."""
    lines, said = checked
    pages = {module(page): page.relative_to(ROOT) for page in documents}
    for each in said:
        page = pages.get(each.place.partition(":")[0])
        asked = REVEAL.fullmatch(lines[each.place])
        if page and asked and OURS & set(re.findall(r"\w+", each.type)):
            yield f"{page}: {asked['name']} is {each.type}"
