"""The homes of agents, as parameters of tests, and which tests say nothing of one of them."""

import pytest

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.processes)
RESTATE = pytest.param("restate", marks=pytest.mark.processes)

DATABASES = ("sqlite", "postgresql")
DATABASE_URLS = ("sqlite_url", pytest.param("postgres_url", marks=pytest.mark.processes))
"""The fixtures with a database of each kind."""


def home_of(item):
    """Return the home that a test of any home is run on; None if it is another test."""
    called = getattr(item, "callspec", None)
    return None if called is None else called.params.get("place")


def shown_elsewhere(items):
    """Yield the tests on databases that show, by their markers, what another home or another variant shows."""
    seen = set()
    for item in items:
        test, home = item.nodeid.partition("[")[0], home_of(item)
        if home not in DATABASES:
            continue
        is_first = (test, home) not in seen
        seen.add((test, home))
        marks = {mark.name for mark in item.iter_markers()}
        if (home == "postgresql" and "sqlite_is_enough" in marks) or (
            "one_variant_is_enough" in marks and not is_first
        ):
            yield item


def why_not_on_restate(item):
    """Return why a test says nothing of Restate: by its markers, and by what Restate declares; None if it does."""
    for marker in item.iter_markers("not_on_restate"):
        return marker.args[0]
    for marker in item.iter_markers("needs"):
        if not is_had_on_restate(marker.args[0]):
            return f"needs {marker.args[0]}"
    return None


def is_had_on_restate(capability):
    """Whether Restate has a capability. Raises AttributeError if no home declares it."""
    try:
        from gatechart.restate import runtime
    except ModuleNotFoundError:  # without the extra nothing is tested there
        return False
    return bool(getattr(runtime.RESTATE, capability))
