"""The circuit breaker: its chart against plain rules, its permits at half-open, and what an operator does."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart.checks import check
from gatechart.tools import Breaker, breaker_graph
from gatechart.values.breakers import BreakerPolicy, BreakerRecord, BreakerState, Permit, Rejection

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)

START = datetime(2026, 1, 1, tzinfo=UTC)
CLOSED, OPEN, HALF_OPEN, ISOLATED = BreakerState


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def asked(breaker: Breaker, policy: BreakerPolicy, seconds: float) -> Permit:
    admission = breaker.ask(policy, at(seconds))
    assert isinstance(admission, Permit)
    return admission


def failed(breaker: Breaker, policy: BreakerPolicy, seconds: float, times: int = 1) -> None:
    for _ in range(times):
        breaker.fail(asked(breaker, policy, seconds), at(seconds), "503")


class Rules:
    """Polly's rules in plain code, with a number of permits at half-open, to compare with."""

    def __init__(self, policy: BreakerPolicy) -> None:
        self.policy = policy
        self.state = CLOSED
        self.entry = 0
        self.in_a_row = 0
        self.buckets: list[list[float]] = []  # when it began, calls, failures
        self.breaks = 0
        self.blocked_until = 0.0
        self.trials: dict[int, float] = {}
        self.given = self.good = 0

    def ask(self, now: float) -> bool:
        if self.state is OPEN and now >= self.blocked_until:
            self.enter(HALF_OPEN)
        if self.state is not HALF_OPEN:
            return self.state is CLOSED
        if len([end for end in self.trials.values() if end > now]) + self.good >= self.policy.permits:
            return False
        expired = [number for number, end in self.trials.items() if end <= now]
        if expired:
            del self.trials[expired[0]]
        self.given += 1
        self.trials[self.given] = now + self.policy.break_after(self.breaks)
        return True

    def end(self, permit: Permit, now: float, result: str) -> None:
        if permit.entry != self.entry:
            return
        if self.state is CLOSED and result != "released":
            self.count(now, result == "failed")
        elif self.state is HALF_OPEN and self.trials.pop(permit.number, None) is not None:
            if result == "failed":
                self.open(now)
            elif result == "succeeded":
                self.good += 1
                if self.good >= self.policy.permits:
                    self.enter(CLOSED)

    def count(self, now: float, is_failure: bool) -> None:
        window_s = self.policy.window_s
        self.in_a_row = self.in_a_row + 1 if is_failure else 0
        if not self.buckets or now - self.buckets[-1][0] >= window_s / 10:
            self.buckets.append([now, 0, 0])
        self.buckets = [each for each in self.buckets if now - each[0] < window_s]
        self.buckets[-1][1] += 1
        self.buckets[-1][2] += is_failure
        calls, failures = sum(each[1] for each in self.buckets), sum(each[2] for each in self.buckets)
        ratio, most = self.policy.failure_ratio, self.policy.failures_in_a_row
        is_ratio = ratio is not None and calls >= self.policy.minimum_throughput and failures / calls >= ratio
        if is_failure and (is_ratio or (most is not None and self.in_a_row >= most)):
            self.open(now)

    def open(self, now: float) -> None:
        self.enter(OPEN)
        self.breaks += 1
        self.blocked_until = now + self.policy.break_after(self.breaks)

    def enter(self, state: BreakerState) -> None:
        self.state = state
        self.entry += 1
        self.in_a_row = self.given = self.good = 0
        self.buckets, self.trials = [], {}
        if state is CLOSED:
            self.breaks = 0


POLICIES = st.builds(
    BreakerPolicy,
    failures_in_a_row=st.none() | st.integers(1, 4),
    failure_ratio=st.none() | st.sampled_from([0.1, 0.5, 1]),
    window_s=st.sampled_from([10, 30]),
    minimum_throughput=st.integers(1, 5),
    break_s=st.sampled_from([4, 20]),
    break_growth=st.sampled_from([1, 2]),
    most_break_s=st.just(50),
    permits=st.integers(1, 3),
)
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 3, 4, 25]),  # seconds since the one before
        st.sampled_from(["ask", "ask", "succeeded", "failed", "failed", "released", "isolate", "close"]),
        st.integers(0, 5),  # which of the calls under way ends
    ),
    max_size=60,
)


@settings(max_examples=400, deadline=None)
@given(POLICIES, OPERATIONS)
def test_the_chart_decides_as_the_plain_rules_do(policy: BreakerPolicy, operations: list[tuple[int, str, int]]) -> None:
    breaker, rules, now = Breaker("crm"), Rules(policy), 0
    under_way: list[Permit] = []
    for pause, operation, which in operations:
        now += pause
        if operation == "ask":
            admission = breaker.ask(policy, at(now))
            assert isinstance(admission, Permit) is rules.ask(now)
            under_way += [admission] if isinstance(admission, Permit) else []
        elif operation == "isolate":
            breaker.isolate(at(now), "maintenance")
            rules.enter(ISOLATED)
        elif operation == "close":
            breaker.close(at(now))
            rules.enter(CLOSED)
        elif under_way:
            permit = under_way.pop(which % len(under_way))
            finish(breaker, permit, now, operation)
            rules.end(permit, now, operation)
        assert (breaker.state, breaker.entry) == (rules.state, rules.entry)
        assert breaker.record.retry_at == (at(rules.blocked_until) if rules.state is OPEN else None)


def finish(breaker: Breaker, permit: Permit, now: float, result: str) -> None:
    if result == "failed":
        breaker.fail(permit, at(now), "503")
    elif result == "succeeded":
        breaker.succeed(permit, at(now))
    else:
        breaker.release(permit, at(now))


@pytest.mark.parametrize("permits", [1, 3])
def test_of_a_hundred_callers_at_half_open_exactly_the_permits_get_through(permits: int) -> None:
    policy = BreakerPolicy(break_s=60, permits=permits)
    breaker = Breaker("crm")
    failed(breaker, policy, 0, times=5)

    admissions = [breaker.ask(policy, at(60)) for _ in range(100)]

    assert sum(isinstance(each, Permit) for each in admissions) == permits
    assert admissions[-1] == Rejection("crm", HALF_OPEN, at(120), "503")


def test_it_opens_at_half_of_the_calls_failing() -> None:
    policy, breaker = BreakerPolicy(failure_ratio=0.5, minimum_throughput=10), Breaker("crm")
    for second in range(9):
        finish(breaker, asked(breaker, policy, second), second, "failed" if second % 2 else "succeeded")
    assert breaker.state is CLOSED  # 4 of 9

    failed(breaker, policy, 9)

    assert breaker.record == BreakerRecord("crm", OPEN, at(9), at(309), 1, "503")


def test_calls_that_are_older_than_the_window_count_no_longer() -> None:
    policy, breaker = BreakerPolicy(failure_ratio=0.5, minimum_throughput=4, window_s=30), Breaker("crm")
    failed(breaker, policy, 0, times=3)
    failed(breaker, policy, 30)
    assert breaker.state is CLOSED


def test_a_failed_trial_opens_it_at_once_and_breaks_grow_until_it_is_closed() -> None:
    policy, breaker = BreakerPolicy(failures_in_a_row=1, break_s=10, break_growth=2, permits=2), Breaker("crm")
    failed(breaker, policy, 0)
    failed(breaker, policy, 10)
    assert breaker.record == BreakerRecord("crm", OPEN, at(10), at(30), 2, "503")

    first, second = asked(breaker, policy, 30), asked(breaker, policy, 30)
    breaker.succeed(first, at(31))
    assert breaker.state is HALF_OPEN
    breaker.succeed(second, at(32))
    assert breaker.record == BreakerRecord("crm", CLOSED, at(32))

    failed(breaker, policy, 40)
    assert breaker.record.retry_at == at(50)


def test_the_result_of_a_call_from_before_the_break_says_nothing() -> None:
    policy, breaker = BreakerPolicy(failures_in_a_row=1, break_s=10), Breaker("crm")
    early, late = asked(breaker, policy, 0), asked(breaker, policy, 0)
    failed(breaker, policy, 0)
    trial = asked(breaker, policy, 10)

    breaker.fail(early, at(11), "an answer from long ago")
    breaker.succeed(late, at(11))
    assert breaker.state is HALF_OPEN

    breaker.succeed(trial, at(12))
    assert breaker.state is CLOSED


def test_a_released_trial_goes_to_the_next_caller() -> None:
    policy, breaker = BreakerPolicy(failures_in_a_row=1, break_s=10), Breaker("crm")
    failed(breaker, policy, 0)
    trial = asked(breaker, policy, 10)
    assert isinstance(breaker.ask(policy, at(11)), Rejection)

    breaker.release(trial, at(11))

    assert asked(breaker, policy, 11).number == 2


def test_a_trial_without_a_result_is_given_again_after_the_time_of_a_break() -> None:
    policy, breaker = BreakerPolicy(failures_in_a_row=1, break_s=10), Breaker("crm")
    failed(breaker, policy, 0)
    lost = asked(breaker, policy, 10)
    assert isinstance(breaker.ask(policy, at(19)), Rejection)

    again = asked(breaker, policy, 20)
    breaker.fail(lost, at(21), "it hung")
    assert breaker.state is HALF_OPEN

    breaker.succeed(again, at(22))
    assert breaker.state is CLOSED


def test_an_isolated_one_rejects_until_an_operator_closes_it() -> None:
    policy, breaker = BreakerPolicy(), Breaker("crm")
    breaker.isolate(at(0), "the CRM moves")
    assert breaker.ask(policy, at(100_000)) == Rejection("crm", ISOLATED, None, "the CRM moves")

    breaker.close(at(100_001))

    assert asked(breaker, policy, 100_001)
    assert breaker.is_fresh


@pytest.mark.parametrize("state", BreakerState)
def test_one_that_is_read_back_decides_as_it_would_have(state: BreakerState) -> None:
    policy, breaker = BreakerPolicy(failures_in_a_row=1, break_s=10), Breaker("crm")
    if state is ISOLATED:
        breaker.isolate(at(0), "the CRM moves")
    if state in (OPEN, HALF_OPEN):
        failed(breaker, policy, 0)
    if state is HALF_OPEN:
        asked(breaker, policy, 10)

    again = Breaker("crm", breaker.record)

    assert again.record == breaker.record
    assert isinstance(again.ask(policy, at(9)), Permit) is (state in (CLOSED, HALF_OPEN))  # a lost trial is begun anew


def test_one_that_is_written_and_read_goes_on_with_its_trials() -> None:
    policy, breaker = BreakerPolicy(failure_ratio=0.5, minimum_throughput=2, break_s=10, permits=2), Breaker("crm")
    failed(breaker, policy, 0, times=2)
    trial = asked(breaker, policy, 10)

    again = Breaker.read("crm", breaker.write())

    asked(again, policy, 11)
    assert isinstance(again.ask(policy, at(11)), Rejection)
    again.fail(trial, at(12), "504")
    assert again.record == BreakerRecord("crm", OPEN, at(12), at(22), 2, "504")


def test_one_is_tripped_only_if_it_is_closed_since_then() -> None:
    policy, breaker = BreakerPolicy(break_s=10), Breaker("crm")
    breaker.isolate(at(0), "the CRM moves")
    breaker.close(at(1))
    breaker.trip(0, policy, at(2), "counted before it was isolated")
    assert breaker.state is CLOSED

    breaker.trip(breaker.entry, policy, at(2), "503")
    breaker.trip(breaker.entry, policy, at(3), "another process came later")

    assert breaker.record == BreakerRecord("crm", OPEN, at(2), at(12), 1, "503")


@pytest.mark.parametrize(
    "wrong",
    [
        {"failures_in_a_row": 0},
        {"failure_ratio": 0},
        {"failure_ratio": 1.1},
        {"permits": 0},
        {"break_s": 0},
        {"break_growth": 0.5},
        {"minimum_throughput": 0},
    ],
)
def test_a_policy_that_cannot_be_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        BreakerPolicy(**wrong)  # type: ignore[arg-type]


def test_its_chart_has_no_findings() -> None:
    assert not check(breaker_graph())


def test_a_rejection_says_since_when_it_has_not_closed_and_how_many_it_refused():
    breaker, policy = Breaker("crm"), BreakerPolicy(failures_in_a_row=1, break_s=30)
    for at_s in (0, 30):
        breaker.fail(breaker.ask(policy, NOON + timedelta(seconds=at_s)), NOON + timedelta(seconds=at_s), "503")
        for refused in (1, 2):
            rejection = breaker.ask(policy, NOON + timedelta(seconds=at_s + refused))
            assert (rejection.open_since, rejection.refused) == (NOON, refused)
    assert breaker.record.open_since == NOON
    breaker.succeed(breaker.ask(policy, NOON + timedelta(seconds=60)), NOON + timedelta(seconds=60))
    assert breaker.record.open_since is None


def test_one_that_was_stored_without_that_has_been_open_since_it_opened_last():
    stored = BreakerRecord("crm", BreakerState.OPEN, NOON, NOON + timedelta(seconds=30), 4, "503")
    assert Breaker("crm", stored).ask(BreakerPolicy(), NOON).open_since == NOON
