"""What the documents show is run, and must print what they say it prints."""

import contextlib
import importlib.util
import io
import subprocess
import sys
from pathlib import Path

import pytest
from sybil import Document
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

from tests.skipped import LOUD

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCUMENTS = sorted((ROOT / "docs").rglob("*.md"))

ELSEWHERE = ROOT / "docs" / "how-to" / "other-frameworks.md"  # its programs need packages that are not installed here
DOCUMENTS.remove(ELSEWHERE)

ONCE = ROOT / "docs" / "how-to" / "operations.md"  # it shows a database's numbers


def name(document: Path) -> str:
    """Where a document is, as the name of its test."""
    return document.relative_to(ROOT).as_posix()


class Printed:
    """Runs a document's Python blocks in order, and compares each text block behind one with what was printed."""

    def __init__(self) -> None:
        self.output = io.StringIO()

    def expect(self, example):
        printed, self.output = self.output.getvalue(), io.StringIO()
        assert printed.strip() == example.parsed.strip()

    def run(self, path: Path) -> int:
        parsers = PythonCodeBlockParser(), CodeBlockParser(language="text", evaluator=self.expect)
        examples = list(Document.parse(str(path), *parsers).examples())
        for example in examples:
            with contextlib.redirect_stdout(self.output):
                example.evaluate()
        return len(examples)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_what_a_document_shows_prints_what_it_says_and_can_be_run_again(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Printed().run(document)
    if document != ONCE:
        Printed().run(document)  # in the same folder


def test_what_the_recipes_for_other_frameworks_show_runs_where_these_are_installed(tmp_path, monkeypatch):
    if not all(importlib.util.find_spec(each) for each in ("agents", "langgraph", "langchain_openai")):
        pytest.skip(f"{LOUD}OpenAI Agents and LangGraph: `make recipes` installs them")
    monkeypatch.chdir(tmp_path)
    Printed().run(ELSEWHERE)


def test_what_the_readme_shows_is_resumed_by_the_second_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (program,) = Document.parse(str(README), PythonCodeBlockParser()).examples()
    printed = Document.parse(str(README), CodeBlockParser(language="text", evaluator=lambda example: None)).examples()
    runs = [
        subprocess.run([sys.executable, "-c", program.parsed], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert [run.stdout for run in runs] == [each.parsed for each in printed], runs
