"""The conformance tests of CEL: guards mean what the language says. `conformance` prints the rate of each section."""

from __future__ import annotations

import pytest

from tests.charts.conformance import CASES, NOT_FOR_GUARDS, verdicts
from tests.skipped import LOUD

pytestmark = pytest.mark.skipif(not CASES.exists(), reason=f"{LOUD}the conformance tests of CEL: {CASES} is missing")


def test_every_expression_comes_to_what_the_language_says():
    wrong = [verdict for verdict in verdicts() if not verdict.passes and verdict.name not in NOT_FOR_GUARDS]
    assert wrong == []


def test_no_expression_that_has_a_value_is_refused_at_load():
    refused = [verdict for verdict in verdicts() if verdict.faults and not isinstance(verdict.answer, Exception)]
    assert refused == []
