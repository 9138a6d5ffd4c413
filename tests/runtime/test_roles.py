"""What a runtime may be to its database: owner, standby, one that takes over, visitor, reader."""

import pytest

from gatechart import Runtime
from gatechart.errors import PayloadError
from gatechart.runtime import Role
from tests.runtime.support import parcel


async def test_an_unknown_role_is_refused_and_nothing_is_opened(sqlite_path, sqlite_url):
    with pytest.raises(PayloadError, match=r"unknown role 'guest'.*'owner', 'standby', 'take_over'"):
        async with Runtime.open(sqlite_url, graphs=parcel, role="guest"):
            pass
    assert not sqlite_path.exists()


@pytest.mark.parametrize("role", list(Role))
async def test_each_role_opens_a_database(sqlite_url, role):
    async with Runtime.open(sqlite_url, graphs=parcel) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="p")
    async with Runtime.open(sqlite_url, graphs=parcel, role=role) as runtime:
        assert (await runtime.resume("p")).id == "p"
