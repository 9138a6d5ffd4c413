"""The page about checks lists the rules that there are."""

from __future__ import annotations

from tests.docs.checks_page import PAGE, page


def test_the_page_about_checks_says_what_each_rule_finds():
    assert page() == PAGE.read_text(encoding="utf-8"), "run `python -m tests.docs.checks_page`"
