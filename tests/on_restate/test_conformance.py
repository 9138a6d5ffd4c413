"""What the runtime's own tests say of agents, said of those on Restate."""

import inspect
from importlib import import_module

MODULES = ("ends", "failures", "ids", "resume", "rollback", "send", "start")
ELSEWHERE = frozenset[str]()
"""Tests of what this home declares not to have, or of what is inside an embedded runtime."""


def _fits(name, test):
    """Whether the test opens a place, and sets no clock."""
    is_test = name.startswith("test_") and "place" in inspect.signature(test).parameters
    return is_test and name not in ELSEWHERE and "clock" not in inspect.getsource(test).lower()


for _module in MODULES:
    _found = inspect.getmembers(import_module(f"tests.runtime.test_runtime_{_module}"), inspect.isfunction)
    globals().update({name: test for name, test in _found if _fits(name, test)})
