"""Handoffs in words."""

import pytest

from gatechart import Fallbacks, HandoffPacket, Human, SameTarget
from gatechart.api.descriptions import packet_sections
from gatechart.handoff.fallbacks import fallback_steps
from gatechart.selection import Best, Needs

REFUNDS = Needs(domains=("refunds",))


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (SameTarget(attempts=2), ("same_target", "up to 2 offers to the same target")),
        (Human("desk", at="WORKING"), ("human", "desk at WORKING")),
        (Best(), ("best", "the best")),
        (Best(REFUNDS), ("best", "the best for refunds")),
        (Best(entries="anna"), ("best", "anna")),
        (Best(REFUNDS, entries=("anna", "bert")), ("best", "anna or bert for refunds")),
    ],
)
def test_what_is_still_to_be_tried_is_told_with_whom_it_names(step, told):
    packet = HandoffPacket(fallbacks=fallback_steps(Fallbacks(step)))
    assert dict(packet_sections(packet))["Still to be tried"] == [told]
