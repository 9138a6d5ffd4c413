"""The site is built without a fault, and no page of it asks another host for anything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import gatechart
from docs.generate import pages
from docs.generate.api import api
from docs.generate.layout import SECTIONS, inside, listed, ordered
from docs.generate.text import prose
from gatechart.cli.commands import COMMANDS
from tests.skipped import LOUD

ROOT: Final = Path(__file__).parents[2]
MKDOCS: Final = ROOT / ".docs-venv" / "bin" / "mkdocs"
LOADED: Final = re.compile(
    r"<(?:script|img|iframe|link(?! rel=.?(?:canonical|next|prev)))\b[^>]*(?:src|href)=.?(?:https?:)?//"
)
LINK: Final = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.fixture(scope="module")
def site(tmp_path_factory, processes) -> Path:
    """The site as `make docs` builds it; broken links and anchors end the build."""
    if not MKDOCS.exists():
        pytest.skip(f"{LOUD}MkDocs: `make docs` installs it")
    folder = tmp_path_factory.mktemp("build")
    (folder / "mkdocs.yml").touch()
    run([sys.executable, "-m", "docs.generate", folder / "pages"])
    run([MKDOCS, "build", "--strict", "-f", folder / "mkdocs.yml"])
    return folder / "site"


def run(command: list[object]) -> None:
    done = subprocess.run([str(part) for part in command], check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_page_of_the_site_loads_anything_from_another_host(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(SECTIONS)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not LOADED.search(text), page
        assert 'class="mermaid"' not in text, f"{page}: the theme would fetch Mermaid from a CDN; draw the chart"
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(.?(?:https?:)?//", style.read_text(encoding="utf-8")), style


def test_the_site_can_be_searched_as_it_lies_on_disk(site):
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index = {")
    assert 'src="assets/iframe-worker.js"' in (site / "index.html").read_text(encoding="utf-8")
    assert (site / "assets" / "iframe-worker.js").is_file()


def test_what_loads_from_another_host_would_be_noticed():
    assert LOADED.search('<script src="https://unpkg.com/mermaid"></script>')
    assert LOADED.search("<link rel=stylesheet href=//fonts.googleapis.com/css>")
    assert not LOADED.search('<script src="../assets/javascripts/bundle.js"></script>')


def test_pages_are_listed_in_an_order_that_a_reader_expects():
    assert list(ordered(ROOT / "docs" / "reference"))[-1] == "glossary"


def test_a_page_with_a_folder_of_its_name_is_a_section_with_the_pages_of_that_folder():
    lines = list(listed(ROOT / "docs", "explanation"))
    start = lines.index("- Architecture:")
    assert lines[start + 1 : start + 3] == [
        "    - explanation/architecture.md",
        "    - explanation/architecture/machine.md",
    ]
    pages = {line.rpartition("- ")[2] for line in lines if line.endswith(".md")}
    folder = ROOT / "docs" / "explanation"
    assert pages == {path.relative_to(ROOT / "docs").as_posix() for path in folder.rglob("*.md")}


def test_a_link_to_a_drawing_leads_into_the_site_from_a_page_at_any_depth():
    assert inside("[a](../diagrams/a.svg)") == "[a](diagrams/a.svg)"
    assert inside("[a](../../../diagrams/a.svg)") == "[a](../../diagrams/a.svg)"


def test_every_link_of_the_readme_leads_to_a_file():
    targets = LINK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_reference_has_every_public_name_command_and_error():
    api_page, command_page, errors_page = api(), pages.commands(), pages.error_page()
    assert [name for name in gatechart.__all__ if f"\n### {name}\n" not in api_page] == []
    assert [name for name in (*COMMANDS, "mail retry", "restate serve") if f"\n## {name}\n" not in command_page] == []
    assert "| `StoreOwnedError` |" in errors_page


def test_a_docstring_becomes_a_list_of_its_arguments_and_a_block_of_its_examples():
    told = prose('Find it.\n\nname: of the <thing>,\nor None. Raises `<x>`.\n\n>>> find("a")\n1\n')
    assert "- `name`: of the &lt;thing>,\n  or None. Raises `<x>`." in told
    assert '```pycon\n>>> find("a")\n1\n```' in told
