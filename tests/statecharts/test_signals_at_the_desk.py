"""The service desk notices hardly anything in recorded conversations: its users are served."""

from __future__ import annotations

from pathlib import Path
from zlib import crc32

import pytest

from gatechart import Runtime
from gatechart.charts import load
from gatechart.testing import VirtualClock
from statecharts.service_desk import actions, context, guards
from statecharts.service_desk.catalogue import Catalogue
from statecharts.service_desk.conversations import Conversation
from statecharts.service_desk.replay import replay

CHART = Path(actions.__file__).with_name("chart.yaml")


@pytest.mark.slow
async def test_hardly_any_conversation_at_the_desk_alarms(
    recorded: tuple[tuple[Conversation, ...], Catalogue], clock: VirtualClock
) -> None:
    chart = CHART.read_text(encoding="utf-8") + "\nsignals: [handing_on, looping]\n"
    watched = load(chart, bind=[actions, context, guards])
    conversations, catalogue = recorded
    tested = [each for each in conversations if crc32(each.id.encode()) % 2]  # see tests/signals/conversations.py
    async with Runtime.open("memory:", graphs=[watched], clock=clock) as runtime:
        report = await replay(tested, catalogue, runtime)
        assert report.conversations == len(tested) > 400
        alarms = {}
        for each in tested:
            agent = await runtime.resume(each.id)
            if fired := [entry.fired.signal for entry in await agent.history() if entry.fired is not None]:
                alarms[each.id] = fired
    assert len(alarms) <= 0.005 * len(tested), alarms
