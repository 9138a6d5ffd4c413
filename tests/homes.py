"""The homes of agents that need processes, as parameters of tests."""

import pytest

POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.processes)
RESTATE = pytest.param("restate", marks=pytest.mark.processes)

DATABASE_URLS = ("sqlite_url", pytest.param("postgres_url", marks=pytest.mark.processes))
"""The fixtures with a database of each kind."""
