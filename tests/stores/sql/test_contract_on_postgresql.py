"""The contract of stores holds on PostgreSQL."""

import pytest

from gatechart.stores import open_store
from gatechart.testing.contracts import StoreContract


class TestPostgresStore(StoreContract):
    @pytest.fixture
    async def store(self, postgres_url):
        async with open_store(postgres_url) as store:
            yield store
