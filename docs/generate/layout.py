"""The pages of the site, in one folder, and their order in the navigation."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SECTIONS: Final = {
    "tutorial": "Tutorial",
    "how-to": "How to",
    "reference": "Reference",
    "explanation": "Explanation",
}
FIRST: Final = (
    *(
        "index",
        "long-lived",
        "send",
        "find",
        "llm",
        "tools",
        "model-loop",
        "mcp",
        "other-frameworks",
        "hand-over",
        "web",
        "sync",
        "test",
        "operations",
        "deploy",
        "serve",
        "scale",
    ),
    *(
        "python",
        "statecharts",
        "events",
        "charts",
        "handoff",
        "transfers",
        "api",
        "chart-keys",
        "commands",
        "http",
        "errors",
        "configuration",
    ),
    *("promises", "comparison", "architecture", "benchmarks"),
    *("machine", "turns", "stores", "hosting", "features", "faces", "tests", "decisions"),
)
"""The names of pages that come first in their section; the others follow by name, and the glossary last."""


def lay_out(target: Path, generated: Mapping[str, str]) -> None:
    """Write all pages into a new folder, and beside it the configuration that lists them.

    generated: the text of generated pages, by path below the target.
    """
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT / "docs", target, ignore=shutil.ignore_patterns("generate", "*.txt", "__pycache__"))
    shutil.copytree(ROOT / "diagrams", target / "diagrams", ignore=shutil.ignore_patterns("*.dot"))
    for page in target.rglob("*.md"):
        page.write_text(inside(page.read_text(encoding="utf-8")), encoding="utf-8")
    for path, text in generated.items():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text, encoding="utf-8")
    (target.parent / "mkdocs.yml").write_text(configuration(target), encoding="utf-8")


def inside(text: str) -> str:
    """Turn links to the drawings, which lie beside docs/, into links inside the site."""
    return re.sub(r"\]\(\.\./((?:\.\./)*)diagrams/", r"](\1diagrams/", text)


def configuration(target: Path) -> str:
    """Return the text of build/mkdocs.yml: the folders, and the order of the pages."""
    lines = [f"INHERIT: {ROOT / 'mkdocs.yml'}", f"docs_dir: {target.name}", "site_dir: site", "nav:", "  - index.md"]
    for folder, title in SECTIONS.items():
        lines += [f"  - {title}:", *(f"      {line}" for line in listed(target, folder))]
    return "\n".join([*lines, ""])


def listed(target: Path, folder: str) -> Iterator[str]:
    """List the pages of a folder for the navigation. A page with a folder of its name is a section with these pages."""
    for page in ordered(target / folder):
        path = f"{folder}/{page}"
        if (target / path).is_dir():
            yield f"- {page.capitalize()}:"
            yield f"    - {path}.md"
            yield from (f"    {line}" for line in listed(target, path))
        else:
            yield f"- {path}.md"


def ordered(folder: Path) -> Iterator[str]:
    """List the pages of a section."""
    pages = {page.stem for page in folder.glob("*.md")}
    first = [name for name in FIRST if name in pages]
    yield from first
    yield from sorted(pages - {*first, "glossary"})
    yield from pages & {"glossary"}
