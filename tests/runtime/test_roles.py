"""What a runtime may be opened as: a host, one that waits or takes over, a visitor, a reader; one of them."""

from itertools import product

import pytest

from gatechart import Runtime
from gatechart.errors import PayloadError
from tests.runtime.support import parcel

FLAGS = ("standby", "take_over", "attend", "read_only")
EVERY_WAY = [dict(zip(FLAGS, values, strict=True)) for values in product((False, True), repeat=4)]
ROLES = {"standby": True, "take_over": True, "attend": False, "read_only": True}


def chosen(flags):
    return [name for name, wanted in ROLES.items() if flags[name] is wanted]


def told(flags):
    return ", ".join(f"{name}={value}" for name, value in flags.items())


@pytest.mark.parametrize("flags", [each for each in EVERY_WAY if len(chosen(each)) > 1], ids=told)
async def test_roles_that_contradict_each_other_are_refused_and_nothing_is_opened(sqlite_path, sqlite_url, flags):
    with pytest.raises(PayloadError, match=r"contradict each other.*at most one of them") as raised:
        async with Runtime.open(sqlite_url, graphs=parcel, **flags):
            pass
    assert all(f"{name}={ROLES[name]}" in str(raised.value) for name in chosen(flags))
    assert not sqlite_path.exists()


@pytest.mark.parametrize("flags", [each for each in EVERY_WAY if len(chosen(each)) <= 1], ids=told)
async def test_each_role_by_itself_opens_a_database(sqlite_url, flags):
    async with Runtime.open(sqlite_url, graphs=parcel) as runtime:
        await runtime.start("parcel", at="PACKING", agent_id="p")
    async with Runtime.open(sqlite_url, graphs=parcel, **flags) as runtime:
        assert (await runtime.resume("p")).id == "p"
