"""What is left out on Restate is there, and is left out for what Restate is declared to lack."""

from importlib import import_module

import pytest

from gatechart.restate import RestateRuntime
from tests.restate.elsewhere import ALL, NEEDS, SAMPLE, WHY_NOT


@pytest.mark.parametrize("capability", [*NEEDS, "takes_a_clock"])
def test_what_tests_need_is_declared_to_be_lacking(capability):
    assert getattr(RestateRuntime.capabilities, capability) is False


@pytest.mark.parametrize("modules", [*NEEDS.values(), *WHY_NOT.values()])
def test_tests_that_are_left_out_are_there(modules):
    for module, tests in modules.items():
        assert tests is ALL or tests <= set(vars(found(module)))


def test_the_sample_is_there():
    assert all(map(found, SAMPLE))


def found(module):
    folder, _, name = module.replace("/", ".").rpartition(".")
    return import_module(f"tests.{folder}.test_{name}")
