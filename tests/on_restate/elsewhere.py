"""Which tests of the other homes say nothing of Restate: by the capability that it lacks, or the reason."""

import inspect
import re

SAMPLE = (
    "test_runtime_capabilities",
    "test_runtime_failures",
    "test_runtime_ids",
    "test_runtime_inside_turn",
    "test_runtime_until",
)
"""Modules whose tests run on Restate with those that are not slow."""

ALL = None
EMBEDDED = "it is about what is inside an embedded runtime"
LACKING = "needs {}"

NEEDS = {
    "prunes": {"runtime_prune": ALL},
    "migrates_ahead": {},
    "watches_changes": {},
    "bounds_inboxes": {},
    "tells_repeats": {},
}
"""Tests that need what `RestateRuntime.capabilities` says is not had, by the names of the fields."""

WHY_NOT = {
    EMBEDDED: {
        "runtime_commits": ALL,
        "runtime_doubt": ALL,
        "runtime_ends": {"test_an_erasure_goes_on_when_its_caller_is_cancelled"},
    },
    "nobody owns a database, and nobody has to ask whoever does": {"runtime_requests": ALL, "runtime_visiting": ALL},
    "the service does not know whether its caller has gone": {
        "runtime_cancelling": {"test_a_turn_that_fails_after_its_caller_has_gone_is_logged_and_undone"},
    },
    "the exception itself stays in the service": {
        "runtime_failures": {"test_what_an_action_raised_is_the_cause_of_the_error"},
    },
}
"""Tests of which no capability speaks, with the reason why they say nothing of Restate."""

SETS_A_CLOCK = re.compile(r"clock\.|at_rest\(|pass_time\(|\bNOON\b")
LOOKS_INSIDE = re.compile(r"\._(core|outside|host|asking)\b|open_store\(|open_asking\(|attend=|read_only=")


def home_of(item):
    """The home that a test of any home is run on; None where it is another test."""
    called = getattr(item, "callspec", None)
    return None if called is None else called.params.get("place")


def is_sample(item):
    """Whether it runs with the tests that are not slow."""
    return item.path.stem in SAMPLE


def why_not(item):
    """Why a test says nothing of Restate; None where it does."""
    for capability, tests in NEEDS.items():
        if _is_in(tests, item):
            return LACKING.format(capability)
    source = inspect.getsource(item.function)
    if SETS_A_CLOCK.search(source):
        return LACKING.format("takes_a_clock")
    reasons = [reason for reason, tests in WHY_NOT.items() if _is_in(tests, item)]
    return reasons[0] if reasons else (EMBEDDED if LOOKS_INSIDE.search(source) else None)


def _is_in(modules, item):
    module = item.path.stem.removeprefix("test_")
    return module in modules and (modules[module] is ALL or item.originalname in modules[module])
