from __future__ import annotations

from typing import Any

import pytest

from gatechart import HandoffPacket
from gatechart.graph.handoff import Fallbacks, Human
from gatechart.handoff import read_packet
from gatechart.handoff.fallbacks import fallback_steps
from gatechart.handoff.reading import RAW, unreadable


def test_a_packet_that_cannot_be_read_is_kept_raw_with_the_error_and_its_way() -> None:
    fallbacks = fallback_steps(Fallbacks(Human("desk", at="NORMAL")))
    payload = HandoffPacket(handoff_id="h1", source_agent="a1", fallbacks=fallbacks).model_dump(mode="json")
    payload |= {"schema_version": 0, "reason": "boredom", "session_id": 7}
    packet = unreadable(payload, "no migration")
    assert (packet.handoff_id, packet.source_agent, packet.session_id) == ("h1", "a1", "")
    assert (packet.fallbacks, packet.evidence) == (fallbacks, "no migration")
    assert packet.model_extra == {RAW: payload}
    assert read_packet(packet.model_dump(mode="json")) == packet


@pytest.mark.parametrize("payload", [{}, {"fallbacks": 7}, {"fallbacks": [{"kind": "odd"}]}])
def test_a_packet_without_a_way_is_kept_too(payload: dict[str, Any]) -> None:
    packet = unreadable(payload, "odd")
    assert packet.fallbacks == ()
    assert packet.model_extra == {RAW: payload}
