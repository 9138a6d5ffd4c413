"""The façade has every verb, with the parameters and words of the asynchronous one."""

from __future__ import annotations

from inspect import signature

import pytest

import gatechart
from gatechart import sync
from gatechart.api.home import AgentHome

MIRRORS = {
    AgentHome: sync.Home,
    gatechart.Agent: sync.Agent,
    gatechart.Runtime: sync.Runtime,
}
VERBS = [
    (verb, mirrored, mirror)
    for mirrored, mirror in MIRRORS.items()
    for verb in dir(mirrored)
    if not verb.startswith("_") and not (mirrored is gatechart.Runtime and verb == "open")
]


@pytest.mark.parametrize(("verb", "mirrored", "mirror"), VERBS, ids=lambda value: getattr(value, "__name__", value))
def test_every_verb_is_there_with_its_parameters(verb, mirrored, mirror):
    there, here = getattr(mirrored, verb), getattr(mirror, verb, None)
    assert here is not None, f"a new verb: add a line for {verb} to gatechart/sync"
    if isinstance(there, property):
        assert isinstance(here, property)
    else:
        assert signature(here).parameters == signature(there).parameters


@pytest.mark.parametrize(("verb", "mirrored", "mirror"), VERBS, ids=lambda value: getattr(value, "__name__", value))
def test_every_verb_says_what_it_does(verb, mirrored, mirror):
    there, here = getattr(mirrored, verb), getattr(mirror, verb)
    assert here.__doc__
    if not isinstance(there, property) and mirror is not sync.Runtime:
        assert here.__doc__ == there.__doc__


def test_opening_takes_what_opening_the_runtime_takes():
    assert signature(sync.open) == signature(gatechart.Runtime.open)
