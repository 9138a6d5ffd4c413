import json

from hypothesis import given
from hypothesis import strategies as st

from gatechart.selection.performance import MOST_KINDS, Performance, after
from gatechart.selection.rewards import EndedWork, followed, kind_of, reward_of
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import Needs

NUMBERS = st.none() | st.floats(0, 1e6)
OUTCOMES = st.builds(
    EndedWork,
    st.booleans(),
    st.booleans(),
    NUMBERS,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.none() | st.floats(-1, 2),
    st.integers(0, 9),
)


@given(OUTCOMES)
def test_a_reward_lies_between_0_and_1(outcome):
    assert 0 <= reward_of(outcome) <= 1


def test_work_that_failed_is_worth_nothing_however_content_the_user_was():
    assert reward_of(EndedWork(False, satisfaction=1.0)) == 0


def test_what_came_back_overran_or_was_dear_is_worth_less():
    plain = EndedWork(True)
    worse = (
        EndedWork(True, came_back=True),
        EndedWork(True, duration_s=61, expected_s=60),
        EndedWork(True, cost=2, expected_cost=1),
        EndedWork(True, satisfaction=0.5),
        EndedWork(True, handed_on=1),
    )
    assert all(0 < reward_of(each) < reward_of(plain) for each in worse)
    assert reward_of(EndedWork(True, duration_s=59, expected_s=60, cost=5)) == 1


def test_the_reward_follows_work_to_its_end():
    chain = followed(EndedWork(True, satisfaction=1.0), 3)
    assert [reward_of(each) for each in chain] == [0.25, 0.5, 1.0]
    assert [reward_of(each) for each in followed(EndedWork(False), 2)] == [0, 0]


def test_problems_are_of_the_kind_of_their_domain_then_capability_then_reason():
    assert kind_of(Needs(capabilities=("pay",), domains=("退款", "refunds")), Reason.KNOWLEDGE_GAP) == "refunds"
    assert kind_of(Needs(capabilities=("pay",)), Reason.KNOWLEDGE_GAP) == "pay"
    assert kind_of(Needs(tier=2), Reason.KNOWLEDGE_GAP) == Reason.KNOWLEDGE_GAP.value


def test_performance_begins_at_1_and_follows_the_factors():
    assert Performance().overall == 1.0
    assert after(0.8, 1.0) == 0.85
    assert after(0.8, 0.0) == 0.75
    assert after(1.0, 1.0) == 1.0
    assert after(0.005, 0.0) == 0.0


def test_performance_is_counted_for_each_kind_and_overall():
    found = Performance().after(0.0, "refunds").after(1.0, "orders").after(0.0, "refunds")
    assert found.of("refunds") < found.of() < found.of("orders") == 1.0
    assert found.of("never seen") == found.overall


def test_kinds_are_bounded():
    found = Performance()
    for number in range(MOST_KINDS + 10):
        found = found.after(0.0, f"kind {number}")
    assert len(found.kinds) == MOST_KINDS
    assert found.of("kind 59") == found.overall
    assert len(json.dumps(found.kinds)) < 4_000
