"""Each verdict on agents that went through crashes can be a bad one."""

from copy import deepcopy

import pytest

from tests.restate.verdicts import Found, Load, faults, was_spared

LOAD = Load(20)
HISTORY = ["agent.started.COUNTING", *["COUNTED"] * 20, "CHARGED", "done.invoke.charge", *["PASSED"] * 6]
FOUND = Found(
    seen=list(range(1, 21)),
    passed=[["before", n] for n in (3, 6, 9, 12, 15, 18)],
    rings=2,
    receipts=["first second"],
    history=[(n + 1, event, n if event == "COUNTED" else None) for n, event in enumerate(HISTORY)],
    mail=[("POISONED", "dead"), *[("CHARGED", "refused")] * 4],
    steps=[("10", "begun"), ("10", "first"), ("10", "begun"), ("10", "second")],
)


def test_agents_that_are_as_they_must_be_have_no_faults():
    assert faults("a", "before", FOUND, LOAD, 0) == []


def test_a_step_may_be_taken_again_where_a_process_died_before_its_result_was_recorded():
    found = deepcopy(FOUND)
    found.steps = [("10", step) for step in ("begun", "first", "begun", "first", "second", "begun", "second")]
    assert faults("a", "before", found, LOAD, 2) == []


def swap(rows):
    rows[1], rows[2] = rows[2], rows[1]


SEEDED = {
    "numbers lost: [20]": lambda found: found.seen.pop(),
    "numbers doubled: [4]": lambda found: found.seen.insert(4, 4),
    "numbers out of order": lambda found: swap(found.seen),
    "numbers of before lost": lambda found: found.passed.pop(0),
    "numbers of before doubled": lambda found: found.passed.append(found.passed[0]),
    "numbers of before out of order": lambda found: swap(found.passed),
    "1 of 2 timers rang": lambda found: setattr(found, "rings", 1),
    "3 of 2 timers rang": lambda found: setattr(found, "rings", 3),
    "versions in the history lost: [5]": lambda found: found.history.pop(4),
    "versions in the history out of order": lambda found: swap(found.history),
    "numbers in the history doubled: [20]": lambda found: found.history.append((30, "COUNTED", 20)),
    "the poison is not parked": lambda found: found.mail.remove(("POISONED", "dead")),
    "the poison is not parked, once": lambda found: found.mail.append(("POISONED", "dead")),
    "mail is left": lambda found: found.mail.append(("COUNTED", "waiting")),
    "1 charges and 3 refused are not 5": lambda found: found.mail.remove(("CHARGED", "refused")),
    "1 charges, 2 receipts": lambda found: found.receipts.append("first second"),
    "receipts are not right": lambda found: found.receipts.__setitem__(0, "first"),
    "0 invocations took steps": lambda found: found.steps.clear(),
    "a recorded step was run again in 10: bfbsf": lambda found: found.steps.append(("10", "first")),
    "a recorded step was run again in 10: bbs": lambda found: found.steps.pop(1),
    "steps were run too often in 10: bfbss": lambda found: found.steps.append(("10", "second")),
}


@pytest.mark.parametrize("fault", SEEDED)
def test_a_seeded_fault_is_seen(fault):
    found = deepcopy(FOUND)
    SEEDED[fault](found)
    assert any(fault in each for each in faults("a", "before", found, LOAD, 0))


def test_a_kill_that_met_no_invocation_under_way_proves_nothing():
    assert was_spared(FOUND.steps)
    assert not was_spared([("10", "begun"), ("10", "first"), ("10", "second")])
    assert not was_spared([("10", "begun"), ("10", "begun"), ("10", "first"), ("10", "second")])
