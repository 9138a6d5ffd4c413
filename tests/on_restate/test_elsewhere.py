"""What is left out on Restate is there, and is left out for what Restate is declared to lack."""

from importlib import import_module
from importlib.util import find_spec

import pytest

from gatechart.restate import RestateRuntime
from tests.on_restate.elsewhere import ALL, NEEDS, SAMPLE, WHY_NOT


@pytest.mark.parametrize("capability", [*NEEDS, "takes_a_clock"])
def test_what_tests_need_is_declared_to_be_lacking(capability):
    assert getattr(RestateRuntime.capabilities, capability) is False


@pytest.mark.parametrize("modules", [*NEEDS.values(), *WHY_NOT.values()])
def test_tests_that_are_left_out_are_there(modules):
    for module, tests in modules.items():
        (folder,) = (each for each in ("desk", "runtime", "serving") if find_spec(f"tests.{each}.test_{module}"))
        assert tests is ALL or tests <= set(vars(import_module(f"tests.{folder}.test_{module}")))


def test_the_sample_is_there():
    for module in SAMPLE:
        import_module(f"tests.runtime.{module}")
