"""The contract of stores holds on SQLite."""

import pytest

from gatechart.stores import open_store
from gatechart.testing.contracts import StoreContract


class TestSqliteStore(StoreContract):
    @pytest.fixture
    async def store(self, sqlite_url):
        async with open_store(sqlite_url) as store:
            yield store
