"""The homes of agents, as parameters of tests, and which tests say nothing of one of them."""

from collections import Counter
from pathlib import Path

import pytest

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.processes)
RESTATE = pytest.param("restate", marks=pytest.mark.processes)

DATABASES = ("sqlite", "postgresql")
DATABASE_URLS = ("sqlite_url", pytest.param("postgres_url", marks=pytest.mark.processes))
"""The fixtures with a database of each kind."""

HOMES = ("place", "home", "crash_url", "new_url")
"""The fixtures whose parameter is a home."""

STORES, CRASHES = (Path(__file__).parent / each for each in ("stores", "crash"))
FEW_SEEDS = 2  # of random lives, on databases
EACH_MOMENT = 3  # of those at which processes are killed beside PostgreSQL


def home_of(item):
    """Return the home that a test of any home, or of databases in other processes, is run on; otherwise None."""
    called = getattr(item, "callspec", None)
    if called is None:
        return None
    return next((called.params[each] for each in HOMES if each in called.params), None)


def shown_elsewhere(items):
    """Yield the tests on databases that show, by their markers, what another home or another variant shows.

    Of the random lives of the stores in a database, all but the first few are among them, too, and of the moments at
    which a process is killed beside PostgreSQL, all but each third.
    """
    seen = Counter()
    for item in items:
        if item.path.is_relative_to(STORES) and seed_of(item) >= FEW_SEEDS:
            yield item
        test, home = item.nodeid.partition("[")[0], home_of(item)
        if home not in DATABASES:
            continue
        is_first = not seen[test, home]
        if home == "postgresql" and seen[test, home] % EACH_MOMENT and item.path.is_relative_to(CRASHES):
            yield item
        seen[test, home] += 1
        marks = {mark.name for mark in item.iter_markers()}
        if (home == "postgresql" and "sqlite_is_enough" in marks) or (
            "one_variant_is_enough" in marks and not is_first
        ):
            yield item


def in_memory_too(items):
    """Yield the tests of any home that run on another one, and in memory as well."""
    tests = {item: item.nodeid.partition("[")[0] for item in items if home_of(item) is not None}
    in_memory = {test for item, test in tests.items() if home_of(item) == "memory"}
    yield from (item for item, test in tests.items() if home_of(item) != "memory" and test in in_memory)


def on_sqlite_too(items):
    """Yield the tests that kill processes beside PostgreSQL, as they do beside SQLite."""
    yield from (item for item in items if home_of(item) == "postgresql" and item.path.is_relative_to(CRASHES))


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
