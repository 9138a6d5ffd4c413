"""What the runtime's own tests say of agents, said of those on Restate."""

import inspect
from importlib import import_module

import pytest

pytestmark = pytest.mark.slow

MODULES = ("ends", "failures", "ids", "resume", "rollback", "send", "start")
ELSEWHERE = {
    "test_an_erasure_goes_on_when_its_caller_is_cancelled": "it opens the store below the runtime",
    "test_what_an_action_raised_is_the_cause_of_the_error": "the exception itself stays in the service",
    "test_an_agent_in_a_state_that_is_no_leaf_any_more_is_not_resumed": "the service does",
    "test_many_agents_start_at_once": "agents are found in the order projected",
}
"""Tests of what is inside an embedded runtime, with the reason why they say nothing of this one."""


def _fits(name, test):
    """Whether the test opens a place, and sets no clock."""
    is_test = name.startswith("test_") and "place" in inspect.signature(test).parameters
    return is_test and name not in ELSEWHERE and "clock" not in inspect.getsource(test).lower()


for _module in MODULES:
    _found = inspect.getmembers(import_module(f"tests.runtime.test_runtime_{_module}"), inspect.isfunction)
    globals().update({name: test for name, test in _found if _fits(name, test)})
