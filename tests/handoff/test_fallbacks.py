from __future__ import annotations

import pickle
from datetime import timedelta
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatechart import HandoffPacket
from gatechart.graph.handoff import Fallbacks, Human, OtherGraph, SameTarget
from gatechart.handoff import FallbackKind, read_packet
from gatechart.handoff.fallbacks import fallback_steps, fallbacks_of, longest_wait_s, next_offer
from gatechart.handoff.reading import unreadable
from gatechart.handoff.selections import with_attempt
from gatechart.values.handoffs import Obstacle

from .strategies import NOW, laws

AGAIN, OTHER, PERSON = SameTarget(attempts=3), OtherGraph("advanced", at="REVIEWING"), Human("desk", at="NORMAL")


def offered(*steps: Any, **fields: Any) -> HandoffPacket:
    """A packet that was offered to a new agent of orders."""
    target = {"target_graph": "orders", "entry_point": "START", "target_agent": "a1", "handoff_id": "h1"}
    return HandoffPacket(**target | {"request": "h1", "fallbacks": fallback_steps(Fallbacks(*steps))} | fields)


def target(offer: tuple[HandoffPacket, float] | None) -> tuple[str, float] | None:
    return offer and (offer[0].target_graph, offer[1])


def walk(packet: HandoffPacket, obstacle: Obstacle) -> list[tuple[str, float]]:
    """The targets offered to, with the waits before, when each rejects for that obstacle."""
    found: list[tuple[str, float]] = []
    while (offer := next_offer(packet, obstacle, "no", NOW)) is not None:
        packet = offer[0].model_copy(update={"handoff_id": f"h{len(found) + 2}"})
        if not packet.target_agent:
            packet = packet.model_copy(update={"target_agent": f"a{len(found) + 2}"})
        found.append((packet.target_graph, offer[1]))
    return found


def test_fallbacks_read_as_they_are_written() -> None:
    fallbacks = Fallbacks(AGAIN, OtherGraph("x", agent="x1"), Human("desk"))
    assert eval(repr(fallbacks)) == fallbacks
    assert eval(repr(OTHER)) == OTHER != Human("advanced", at="REVIEWING")
    assert hash(fallbacks) == hash(Fallbacks(*fallbacks.steps))
    assert pickle.loads(pickle.dumps(fallbacks)) == fallbacks


def test_names_may_be_members_of_an_enum() -> None:
    door = Enum("door", {"NORMAL": "normal"})
    assert Human("desk", at=door.NORMAL) == Human("desk", at="normal")


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: Fallbacks("desk"), TypeError),
        (lambda: OtherGraph(""), ValueError),
        (lambda: SameTarget(attempts=0), ValueError),
        (lambda: SameTarget(factor=0.5), ValueError),
        (lambda: SameTarget(jitter=0.1), ValueError),
    ],
)
def test_fallbacks_that_cannot_be_are_refused(make: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        make()


def test_fallbacks_travel_in_the_packet() -> None:
    packet = offered(AGAIN, OtherGraph("x", agent="x1"), PERSON)
    assert [step.kind for step in packet.fallbacks] == [
        FallbackKind.SAME_TARGET,
        FallbackKind.OTHER_GRAPH,
        FallbackKind.HUMAN,
    ]
    assert packet.fallbacks[0].attempts == 3
    assert (packet.fallbacks[1].graph, packet.fallbacks[1].agent) == ("x", "x1")
    assert HandoffPacket.model_validate(packet.model_dump(mode="json")) == packet


def test_the_next_packet_names_its_target_and_tells_of_the_failed_attempt() -> None:
    offer = next_offer(offered(OTHER, PERSON, request=""), Obstacle.WRONG_SKILLS, "no repairs", NOW)
    assert offer is not None
    packet, wait_s = offer
    assert wait_s == 0
    assert (packet.target_graph, packet.entry_point, packet.target_agent, packet.is_new) == (
        "advanced",
        "REVIEWING",
        "",
        True,
    )
    assert (packet.handoff_id, packet.request) == ("", "h1")
    assert [step.graph for step in packet.fallbacks] == ["desk"]
    (attempt,) = packet.attempts
    assert (attempt.handoff_id, attempt.graph, attempt.entry_point, attempt.agent) == ("h1", "orders", "START", "a1")
    assert (attempt.obstacle, attempt.details, attempt.time) == (Obstacle.WRONG_SKILLS, "no repairs", NOW)
    assert HandoffPacket.model_validate(packet.model_dump(mode="json")) == packet


def test_a_living_agent_may_be_the_next_target() -> None:
    offer = next_offer(offered(OtherGraph("orders", agent="a9")), Obstacle.ENDED, "", NOW)
    assert offer is not None
    assert (offer[0].target_agent, offer[0].is_new) == ("a9", False)


def test_an_obstacle_that_passes_is_tried_again_with_longer_waits_and_then_the_next() -> None:
    found = walk(offered(AGAIN, OTHER, PERSON), Obstacle.FAILURE)
    assert found == [("orders", 1.0), ("orders", 2.0), ("advanced", 0.0), ("desk", 0.0)]


def test_a_new_agent_that_is_tried_again_keeps_its_id() -> None:
    offer = next_offer(offered(AGAIN), Obstacle.FAILURE, "", NOW)
    assert offer is not None
    assert (offer[0].target_agent, offer[0].is_new, offer[0].fallbacks) == (
        "a1",
        True,
        fallback_steps(Fallbacks(AGAIN)),
    )


def test_an_overload_asks_another_first_then_again_then_a_person() -> None:
    overload = Obstacle.OVERLOAD
    assert walk(offered(AGAIN, PERSON, OTHER), overload)[0] == ("advanced", 0.0)
    assert walk(offered(PERSON, AGAIN), overload)[:3] == [("orders", 1.0), ("orders", 2.0), ("desk", 0.0)]
    assert walk(offered(AGAIN, OTHER, PERSON), overload) == [
        ("advanced", 0.0),
        ("advanced", 1.0),
        ("advanced", 2.0),
        ("desk", 0.0),
    ]


def test_wrong_skills_ask_another_then_a_person_and_never_again() -> None:
    assert walk(offered(AGAIN, PERSON, OTHER), Obstacle.WRONG_SKILLS) == [("advanced", 0.0)]
    assert walk(offered(AGAIN, OTHER, PERSON), Obstacle.WRONG_SKILLS) == [("advanced", 0.0), ("desk", 0.0)]
    assert walk(offered(AGAIN), Obstacle.WRONG_SKILLS) == []


def test_an_unknown_graph_goes_at_once_to_the_next_that_is_another() -> None:
    assert walk(offered(AGAIN, OtherGraph("orders", at="X"), PERSON, OTHER), Obstacle.UNKNOWN_GRAPH) == [
        ("desk", 0.0),
        ("advanced", 0.0),
    ]


def test_another_entry_point_of_the_graph_is_another_target_where_the_graph_is_not_the_obstacle() -> None:
    steps = (OtherGraph("orders", at="START"), OtherGraph("orders", at="LATER"), OTHER)
    assert walk(offered(*steps), Obstacle.NO_ENTRY) == [("orders", 0.0), ("advanced", 0.0)]
    assert walk(offered(*steps), Obstacle.OVERLOAD) == [("advanced", 0.0)]


def test_a_living_agent_that_has_ended_may_be_followed_by_a_new_one_of_its_graph() -> None:
    packet = offered(OtherGraph("orders", at="START"), is_new=False)
    for obstacle in (Obstacle.ENDED, Obstacle.UNKNOWN_GRAPH):
        offer = next_offer(packet, obstacle, "", NOW)
        assert offer is not None
        assert (offer[0].is_new, offer[0].target_agent) == (True, "")


def test_a_loop_goes_straight_to_the_person_with_the_evidence() -> None:
    offer = next_offer(offered(AGAIN, OTHER, PERSON), Obstacle.LOOP, "A → B → A", NOW)
    assert offer is not None
    assert target(offer) == ("desk", 0.0)
    assert offer[0].evidence == "A → B → A"
    assert next_offer(offered(AGAIN, OTHER), Obstacle.LOOP, "A → B → A", NOW) is None


def test_where_nothing_is_left_every_attempt_is_told() -> None:
    packet = offered()
    assert next_offer(packet, Obstacle.ENDED, "gone", NOW) is None
    assert [each.details for each in with_attempt(packet, Obstacle.ENDED, "gone", NOW).attempts] == ["gone"]


def test_tries_again_are_counted_for_each_target_anew() -> None:
    found = walk(offered(AGAIN, OTHER, SameTarget(attempts=2, first_s=7)), Obstacle.GUARD)
    assert found == [("orders", 1.0), ("orders", 2.0), ("advanced", 0.0), ("advanced", 7.0)]


def test_details_with_lone_surrogates_are_kept_readable() -> None:
    offer = next_offer(offered(PERSON), Obstacle.LOOP, "odd \ud800", NOW)
    assert offer is not None
    assert offer[0].evidence == offer[0].attempts[0].details == "odd \\ud800"
    assert HandoffPacket.model_validate(offer[0].model_dump(mode="json")) == offer[0]


steps = st.lists(
    st.builds(SameTarget, attempts=st.integers(1, 3))
    | st.builds(OtherGraph, st.sampled_from("ABC"), at=st.sampled_from("XY"), agent=st.sampled_from(["", "a1"]))
    | st.builds(Human, st.sampled_from(["desk", "A"])),
    max_size=5,
)


@laws
@given(steps, st.booleans(), st.lists(st.sampled_from(Obstacle), min_size=1, max_size=4))
def test_fallbacks_come_to_an_end_and_tell_of_every_attempt(
    fallbacks: list[Any], is_new: bool, obstacles: list[Obstacle]
) -> None:
    packet = offered(*fallbacks, is_new=is_new)
    most = 1 + sum(isinstance(step, OtherGraph | Human) for step in fallbacks)
    for made in range(1, most * 9 + 2):
        obstacle = obstacles[made % len(obstacles)]
        now = NOW + timedelta(seconds=made)
        offer = next_offer(packet, obstacle, str(made), now)
        if offer is None:
            assert [each.details for each in with_attempt(packet, obstacle, str(made), now).attempts][-1] == str(made)
            return
        before, (packet, wait_s) = packet, offer
        is_again = (packet.target_graph, packet.entry_point) == (before.target_graph, before.entry_point)
        assert obstacle.passes or len(packet.fallbacks) < len(before.fallbacks)
        assert wait_s == 0 or (is_again and obstacle.passes)
        assert len(packet.attempts) == made
        assert [each.details for each in packet.attempts] == [str(n + 1) for n in range(made)]
        packet = packet.model_copy(update={"handoff_id": f"h{made}", "target_agent": packet.target_agent or f"n{made}"})
    pytest.fail("the fallbacks have no end")


def test_fallbacks_without_another_target_end_after_as_many_offers_as_they_say() -> None:
    assert walk(offered(AGAIN), Obstacle.OVERLOAD) == [("orders", 1.0), ("orders", 2.0)]
    assert walk(offered(SameTarget(attempts=1)), Obstacle.OVERLOAD) == []


def test_fallbacks_come_back_from_the_packet() -> None:
    fallbacks = Fallbacks(AGAIN, SameTarget(2, 3.0, 1.5, 9.0), OTHER, OtherGraph("b", at="IN", agent="b-1"), PERSON)
    assert fallbacks_of(fallback_steps(fallbacks)) == fallbacks


STORED = {
    "ladder": [
        {"kind": "again", "attempts": 2, "first_s": 3.0, "factor": 1.5, "most_s": 9.0},
        {"kind": "other", "graph": "b", "entry_point": "IN", "agent": "b-1"},
        {"kind": "person", "graph": "desk", "entry_point": "NORMAL"},
    ]
}


def test_packets_that_were_stored_with_a_ladder_are_read() -> None:
    packet = read_packet(STORED)
    expected = Fallbacks(
        SameTarget(2, 3.0, 1.5, 9.0), OtherGraph("b", at="IN", agent="b-1"), Human("desk", at="NORMAL")
    )
    assert fallbacks_of(packet.fallbacks) == expected
    assert "ladder" not in packet.model_dump(mode="json")
    assert read_packet(packet.model_dump(mode="json")) == packet


def test_a_stored_packet_that_cannot_be_read_keeps_its_ladder() -> None:
    packet = unreadable({"schema_version": 0, **STORED}, "no migration")
    assert packet.fallbacks == read_packet(STORED).fallbacks


def test_the_longest_pause_is_read_from_packets_of_before_too() -> None:
    of_today = read_packet(STORED).model_dump(mode="json")
    assert longest_wait_s(STORED) == longest_wait_s(of_today) == 9.0
    assert longest_wait_s({}) == longest_wait_s({"fallbacks": STORED["ladder"][1:]}) == float("inf")
