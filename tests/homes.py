"""The homes of agents, as parameters of tests, and which tests say nothing of one of them."""

from pathlib import Path

import pytest

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.processes)
RESTATE = pytest.param("restate", marks=pytest.mark.processes)

DATABASES = ("sqlite", "postgresql")
STORES = Path(__file__).parent / "stores"
FEW_SEEDS = 2
DATABASE_URLS = ("sqlite_url", pytest.param("postgres_url", marks=pytest.mark.processes))
"""The fixtures with a database of each kind."""


def home_of(item):
    """Return the home that a test of any home, or of the command line on both databases, is run on; otherwise None."""
    called = getattr(item, "callspec", None)
    if called is None:
        return None
    return called.params.get("place") or called.params.get("home")


def shown_elsewhere(items):
    """Yield the tests on databases that show, by their markers, what another home or another variant shows.

    Of the random lives of the stores in a database, all but the first few are among them, too.
    """
    seen = set()
    for item in items:
        if STORES in item.path.parents and seed_of(item) >= FEW_SEEDS:
            yield item
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


def seed_of(item):
    """Return the seed of a test of random lives; 0 if it is another test."""
    called = getattr(item, "callspec", None)
    return 0 if called is None else called.params.get("seed", 0)


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
