"""Recorded conversations do not alarm, and loops planted into them do."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from tests.signals.conversations import (
    WAYS,
    Said,
    alarms,
    conversations,
    file_of_conversations,
    goes_well,
    graph_of,
    is_for_tests,
    planted,
)
from tests.skipped import LOUD

CIRCLES = {"repeats", "same_call"}


@pytest.fixture(scope="module")
def recorded() -> list[dict[str, Any]]:
    file = file_of_conversations()
    if not file.exists():
        pytest.skip(f"{LOUD}real conversations: none at {file}; name a file with GATECHART_CONVERSATIONS")
    return [each for each in conversations(file) if is_for_tests(each)]


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
async def test_hardly_any_conversation_that_goes_well_alarms(
    recorded: list[dict[str, Any]], way: Callable[[dict[str, Any]], Any]
) -> None:
    graph, draw = graph_of(recorded), Random(1)
    well = [each for each in recorded if goes_well(each)]
    alarming = {each["id"]: found for each in well if (found := await alarms(graph, way(each), draw))}
    assert len(well) > 600
    assert len(alarming) <= 0.005 * len(well), alarming


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
async def test_nearly_all_loops_planted_into_conversations_are_found(
    recorded: list[dict[str, Any]], way: Callable[[dict[str, Any]], Any]
) -> None:
    graph, draw = graph_of(recorded), Random(2)
    missed = []
    for each in recorded:
        events: list[Said] = planted(list(way(each)), draw)
        if not CIRCLES.intersection(await alarms(graph, events, draw)):
            missed.append(each["id"])
    assert len(missed) <= 0.05 * len(recorded), (len(missed), len(recorded), missed[:9])
