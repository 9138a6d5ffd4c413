"""What choices keep lasts: through migrations, pruning and a backup, until it is erased."""

import pytest

from gatechart import Runtime
from gatechart.hosting.directory_graph import entry_context
from gatechart.hosting.evaluating import evaluate_directory
from gatechart.runtime import Choosing
from gatechart.selection import Learned
from gatechart.stores import upgrade_store
from gatechart.stores.sql.schema import NEWEST
from gatechart.testing import VirtualClock
from gatechart.values.directory import Ended, Mark
from gatechart.values.homes import Role
from gatechart.values.profiles import Hours, Profile
from tests.homes import DATABASE_URLS
from tests.runtime.handovers import rest, worker
from tests.runtime.test_choosing import NOBODY, asking, begun
from tests.runtime.test_learning import LEARNING, asking_for, asks, failing, handed, parcel, refund
from tests.stores.sql.earlier import set_back

GRAPHS = (asks(LEARNING), refund, parcel, worker("desk"), asking(NOBODY, "lost"))


def opened(place, **more):
    """A home that learns from its choices."""
    trusted = Choosing(learned=Learned(trusted=True))
    return Runtime.open(place, graphs=GRAPHS, choosing=trusted, clock=VirtualClock(), **more)


async def worked(runtime):
    """Have entries marked and registered, and work chosen, refused, rated, completed, failed and going on."""
    office = Hours(("MON",), "00:00", "00:00", "Europe/Berlin")
    soothing = Profile(("soothe",), tier=3, schedule=(office,))
    await runtime.register_entry("anna", "desk", at="WORKING", is_person=True, capacity=4, lasts="9d", profile=soothing)
    await runtime.mark_entry("anna", Mark.PINNED, reason="she knows")
    await runtime.register_entry("bert", "desk", at="WORKING", profile=soothing)
    await runtime.mark_entry("bert", Mark.EXCLUDED)
    await runtime.mark_entry("desk.WORKING", Mark.CLOSED, reason="stocktaking")
    await failing(runtime, 1)
    (failed,) = await runtime.handoffs()
    await runtime.rate_handoff(failed.id, needed=True, in_time=False, quality=0.25)
    await (await handed(runtime)).send("DONE")
    await begun(runtime, "lost")
    await handed(runtime)
    await rest(runtime)


async def everything(runtime):
    """All that choices keep, and what follows from it."""
    kept = (await runtime.find(graph="gatechart.directory")).agents
    choice = await runtime.choose(asking_for(LEARNING))
    return {
        "handoffs": await runtime.handoffs(limit=1000),
        "directory": await runtime.directory(),
        "kept": {each.agent_id: entry_context(each) for each in kept},
        "next": (choice.candidate, choice.explanation.details, [each.id for each in choice.explanation.judged]),
        "learned": {each.id: rounded(each.parts) for each in choice.explanation.judged},
        "evaluated": await evaluate_directory(runtime),
    }


def rounded(parts):
    """Return them without the last digits: what was learned in another order of sums differs there."""
    return {name: round(number, 12) for name, number in parts}


def assert_complete(found):
    """Something of each kind is there to be lost."""
    refunds, anna = found["kept"]["directory:refund.WORKING"], found["kept"]["directory:anna"]
    explained = [each.choice["details"] for each in found["handoffs"]]
    assert [each.startswith("none of") for each in explained] == [False, False, True, False]
    assert ends_of(found) == [Ended.FAILED, Ended.COMPLETED, None]
    assert all(each.features and each.user == "ada" for each in choices_of(found))
    assert (refunds.outcomes[0].quality, refunds.outcomes[0].user) == (0.25, "ada")
    assert (refunds.failed, refunds.performance.overall < 1.0) == (1, True)
    assert (anna.mark, anna.mark_reason, anna.expires is not None) == (Mark.PINNED, "she knows", True)
    assert [each.mark for each in found["directory"]] == [Mark.PINNED, Mark.EXCLUDED, Mark.CLOSED, Mark.NONE, Mark.NONE]
    assert found["learned"]["refund.WORKING"]["learned"] != 0


def choices_of(found):
    """The choices that are kept, in the order made."""
    kept = {each.handoff: each for context in found["kept"].values() for each in context.choices}
    return [kept[each.id] for each in found["handoffs"] if each.id in kept]


def ends_of(found):
    """How the work of each ended."""
    return [each.ended for each in choices_of(found)]


async def assert_goes_on(runtime, found):
    """All is as it was, and the work that goes on is joined to its choice when it ends."""
    assert await everything(runtime) == found
    await runtime.send(found["handoffs"][-1].target, "DONE")
    await rest(runtime)
    assert ends_of(await everything(runtime)) == [Ended.FAILED, Ended.COMPLETED, Ended.COMPLETED]


@pytest.mark.parametrize("url", DATABASE_URLS)
async def test_what_choices_keep_survives_the_migration_of_the_first_schema_that_has_them(url, request):
    place = request.getfixturevalue(url)
    async with opened(place) as runtime:
        await worked(runtime)
        assert_complete(found := await everything(runtime))
    await set_back(place, "0016")
    assert await upgrade_store(place) == ("0016", NEWEST)
    async with opened(place) as runtime:
        await assert_goes_on(runtime, found)


async def test_a_backup_explains_the_same_choices_and_has_learned_the_same(backup):
    async with opened(backup.url) as runtime:
        await worked(runtime)
        backup.take()
        assert_complete(found := await everything(runtime))
    async with opened(backup.restored_url, role=Role.TAKE_OVER) as runtime:
        await assert_goes_on(runtime, found)


@pytest.mark.sqlite_is_enough
@pytest.mark.needs("prunes")
@pytest.mark.needs("takes_a_clock")
async def test_pruning_forgets_turns_and_nothing_of_what_choices_keep(place):
    async with opened(place) as runtime:
        await worked(runtime)
        assert_complete(found := await everything(runtime))
        assert (await runtime.prune(keep_turns=1)).turns > 0
        await assert_goes_on(runtime, found)
