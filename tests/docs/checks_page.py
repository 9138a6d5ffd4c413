"""The table of rules in docs/reference/checks.md: `python -m tests.docs.checks_page` writes it anew."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gatechart.checks import RULES

PAGE: Final = Path(__file__).parents[2] / "docs" / "reference" / "checks.md"
BEGIN: Final = "<!-- rules -->"
END: Final = "<!-- end of rules -->"


def page() -> str:
    """Return the page with the table as the rules say it."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{rest[rest.index(END) :]}"


def table() -> str:
    """Return a row for each rule: code, severity, what it finds, and when."""
    rows = (
        f"| {rule.code} | {rule.severity} | {rule.meaning} | {' '.join(rule.explanation.split())} |" for rule in RULES
    )
    return "\n".join(["| code | severity | finding | conditions and exceptions |", "| --- | --- | --- | --- |", *rows])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
