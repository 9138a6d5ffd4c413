"""The directory: whom work can be handed to, on every home."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from gatechart import AgentContext, EntryPoint, Limits, Runtime, State, StateTransitionGraph, Transition
from gatechart.checks import check
from gatechart.errors import (
    AgentExistsError,
    EntryRefusedError,
    EntryTakenError,
    FrameworkAgentError,
    LookAlikeError,
    PayloadError,
    TooManyEntriesError,
    UnknownAgentError,
    UnknownEntryError,
    UnknownGraphError,
)
from gatechart.graph.handoff import Accepts
from gatechart.hosting.choosing import Choosing
from gatechart.hosting.directory_graph import EntryTerms, directory_graph
from gatechart.hosting.own_agents import own_agents_of
from gatechart.stores import MemoryStore
from gatechart.testing import VirtualClock
from gatechart.values.directory import OUTCOME, Mark
from gatechart.values.framework import DIRECTORY_GRAPH
from gatechart.values.profiles import Hours, Needs, Profile
from tests.runtime.support import WrappedStore

pytestmark = pytest.mark.sqlite_is_enough

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)  # a Tuesday


class Case(AgentContext):
    order: str = ""


def reviewing(name, *, profile=None, accepts=None):
    given = {} if accepts is None else {"accepts": accepts}
    return StateTransitionGraph(
        name,
        context=Case,
        states=["REVIEWING", State("SOLVED", final=True)],
        transitions=[Transition("REVIEWING", "DONE", "SOLVED")],
        entry_points=[EntryPoint("REVIEWING", profile=profile, description="reviews what went wrong")],
        **given,
    )


REFUNDS = Profile(capabilities=("process_refund",), domains=("refunds",), tier=2)
refunds = reviewing("refunds", profile=REFUNDS, accepts=Accepts(capacity=6))
desk = reviewing("desk")


@pytest.fixture
def clock():
    return VirtualClock(NOON)


@pytest.fixture
async def runtime(place, clock):
    async with Runtime.open(place, graphs=[refunds, desk], clock=clock) as runtime:
        yield runtime


async def ids(runtime):
    return [each.id for each in await runtime.directory()]


def anna(runtime, **given):
    profile = Profile(capabilities=("talk",), tier=3)
    return runtime.register_entry("anna", desk, at="REVIEWING", **{"profile": profile, "is_person": True} | given)


async def test_the_directory_has_the_entry_points_with_profiles(runtime):
    [entry] = await runtime.directory()
    assert (entry.id, entry.candidate.profile, entry.candidate.capacity) == ("refunds.REVIEWING", REFUNDS, 6)
    assert (entry.candidate.text, entry.candidate.is_local) == ("reviewing. reviews what went wrong\nrefunds", True)
    assert (entry.unavailable, entry.candidate.performance) == ("", 1.0)


async def test_an_entry_is_registered_changed_and_deregistered(runtime):
    made = await anna(runtime, capacity=2, text="talks to people")
    assert (made.id, made.candidate.profile.tier, made.candidate.is_person) == ("anna", 3, True)
    assert (made.candidate.capacity, made.candidate.text, made.candidate.is_local) == (2, "talks to people", False)
    assert await ids(runtime) == ["anna", "refunds.REVIEWING"]
    changed = await anna(runtime, capacity=5)
    assert (changed.candidate.capacity, changed.candidate.text) == (5, "reviewing. reviews what went wrong\ndesk")
    assert list(await runtime.directory("anna")) == [changed]
    await runtime.deregister_entry("anna")
    assert await ids(runtime) == ["refunds.REVIEWING"]
    with pytest.raises(UnknownEntryError, match="anna"):
        await runtime.deregister_entry("anna")


async def test_what_is_kept_of_an_entry_that_left_is_there_again_when_it_returns(runtime):
    await anna(runtime)
    await runtime.mark_entry("anna", Mark.PINNED)
    await runtime.deregister_entry("anna")
    assert (await anna(runtime)).mark is Mark.PINNED


@pytest.mark.needs("takes_a_clock")
async def test_an_entry_expires_unless_it_is_registered_again(runtime, clock):
    entry = await anna(runtime, lasts="5m")
    assert entry.expires == NOON + timedelta(minutes=5)
    clock.advance("4m")
    assert (await anna(runtime, lasts="5m")).expires == NOON + timedelta(minutes=9)
    clock.advance("4m")
    assert "anna" in await ids(runtime)
    clock.advance("1m")
    assert "anna" not in await ids(runtime)
    assert (await anna(runtime, lasts="5m")).expires == NOON + timedelta(minutes=14)
    assert "anna" in await ids(runtime)


@pytest.mark.needs("takes_a_clock")
async def test_an_entry_that_left_is_forgotten_after_a_week(runtime, clock):
    await anna(runtime, lasts="5m")
    agent = await runtime.resume("directory:anna")
    clock.advance("5m")
    await agent.until("LEFT")
    clock.advance("7d")
    await agent.until("FORGOTTEN")
    assert (await anna(runtime)).id == "anna"  # it begins anew


@pytest.mark.needs("finds_at_once")
async def test_the_directory_is_there_again_when_the_home_opens_again(place, clock):
    async with Runtime.open(place, graphs=[refunds, desk], clock=clock) as runtime:
        await anna(runtime, capacity=2)
        await runtime.mark_entry("refunds.REVIEWING", "closed", reason="stocktaking")
        before = await runtime.directory()
    async with Runtime.open(place, graphs=[refunds, desk], clock=clock) as runtime:
        assert await runtime.directory() == before
        assert [each.unavailable for each in before] == ["", "closed: stocktaking"]


async def test_operators_pin_exclude_and_close_entries_and_undo_that(runtime):
    for mark in (Mark.PINNED, Mark.EXCLUDED, Mark.CLOSED, Mark.NONE):
        entry = await runtime.mark_entry("refunds.REVIEWING", mark, reason="stocktaking")
        assert (entry.mark, entry.mark_reason) == (mark, "stocktaking")
        found = entry.candidate
        assert (found.is_pinned, found.is_excluded, found.is_open) == (
            mark is Mark.PINNED,
            mark is Mark.EXCLUDED,
            mark is not Mark.CLOSED,
        )
        assert (entry.unavailable == "") is (mark in (Mark.PINNED, Mark.NONE))
    with pytest.raises(UnknownEntryError, match=r"no entry 'refunds.NONE'; register it"):
        await runtime.mark_entry("refunds.NONE", Mark.CLOSED)
    with pytest.raises(PayloadError):
        await runtime.mark_entry("refunds.REVIEWING", "shut")


@pytest.mark.needs("takes_a_clock")
async def test_an_entry_is_not_available_outside_its_hours(runtime, clock):
    office = Hours(("MON", "TUE"), "09:00", "17:00")
    assert (await anna(runtime, profile=Profile(schedule=(office,)))).unavailable == ""
    clock.advance("5h")
    [entry] = await runtime.directory("anna")
    assert entry.unavailable == "outside its hours"


async def test_what_cannot_be_registered_is_refused_and_changes_nothing(runtime):
    await anna(runtime, registrant="crm")
    before = await runtime.directory()
    with pytest.raises(UnknownGraphError):
        await runtime.register_entry("x", "bank", at="REVIEWING")
    with pytest.raises(FrameworkAgentError):
        await runtime.register_entry("x", "gatechart.directory", at="REGISTERED")
    with pytest.raises(EntryRefusedError):
        await runtime.register_entry("x", desk, at="CLOSED")
    with pytest.raises(UnknownAgentError):
        await runtime.register_entry("x", desk, at="REVIEWING", agent="nobody")
    with pytest.raises(FrameworkAgentError):
        await runtime.register_entry("x", desk, at="REVIEWING", agent="directory:anna")
    with pytest.raises(PayloadError, match="close or exclude this one"):
        await runtime.deregister_entry("refunds.REVIEWING")
    with pytest.raises(EntryTakenError, match="the graph 'refunds'"):
        await runtime.register_entry("refunds.REVIEWING", desk, at="REVIEWING")
    for name in ("desk.REVIEWING", "desk"):  # of an entry point without a profile, and of a graph
        with pytest.raises(EntryTakenError, match="the graph 'desk'"):
            await runtime.register_entry(name, desk, at="REVIEWING")
    with pytest.raises(EntryTakenError, match="the registrant 'crm'"):
        await anna(runtime, registrant="erp")
    with pytest.raises(EntryTakenError, match="the registrant 'crm'"):
        await runtime.deregister_entry("anna", registrant="erp")
    for wrong in (
        {"profile": Profile(schedule=(Hours(("SOMEDAY",)),))},
        {"lasts": "soon"},
        {"lasts": "0s"},
        {"capacity": -1},
        {"capacity": True},
        {"capacity": "4"},
        {"is_person": "yes"},
        {"profile": Profile(samples=("a" * 1000,) * 50)},
    ):
        with pytest.raises(PayloadError):
            await anna(runtime, registrant="crm", **wrong)
    with pytest.raises(PayloadError):
        await runtime.register_entry("a" * 201, desk, at="REVIEWING")
    for name in ("an\nna", "anna\x1b[2J", "an\u2028na", "an\x85na"):
        with pytest.raises(PayloadError, match="1 to 200 characters, without control characters and line breaks"):
            await runtime.register_entry(name, desk, at="REVIEWING")
    assert await runtime.directory() == before


async def test_what_operators_registered_belongs_to_them(runtime):
    await runtime.register_entry("bert", desk, at="REVIEWING")
    before = await runtime.directory()
    with pytest.raises(EntryTakenError, match="belongs to the operators; register another id"):
        await runtime.register_entry("bert", desk, at="REVIEWING", registrant="erp")
    with pytest.raises(EntryTakenError, match="belongs to the operators"):
        await runtime.deregister_entry("bert", registrant="erp")
    assert await runtime.directory() == before


async def test_an_agent_of_another_graph_with_the_id_of_an_entry_is_left_alone(runtime):
    await own_agents_of(runtime).start("desk", at="REVIEWING", agent_id="directory:anna")
    with pytest.raises(AgentExistsError):
        await anna(runtime)
    assert (await runtime.read("directory:anna")).graph == "desk"


async def test_the_directory_is_listed_a_page_at_a_time(runtime):
    for name in ("c", "a", "b"):
        await runtime.register_entry(name, desk, at="REVIEWING")
    assert [each.id for each in await runtime.directory(limit=2)] == ["a", "b"]
    assert [each.id for each in await runtime.directory(after="b")] == ["c", "refunds.REVIEWING"]


async def test_a_function_can_tell_the_load(clock):
    def busy(candidate):
        return 2.0 if candidate.id == "anna" else None

    async with Runtime.open("memory:", graphs=[refunds, desk], clock=clock, choosing=Choosing(load=busy)) as runtime:
        await anna(runtime)
        assert [each.candidate.load for each in await runtime.directory()] == [1.0, None]


def test_the_graph_of_the_directory_is_sound():
    endless = {"GC102", "GC103"}  # of an entry point of a graph, which stays
    assert {each.code for each in check(directory_graph())} <= endless


async def test_the_graph_of_the_directory_is_not_listed_among_the_users(runtime):
    await anna(runtime)
    assert [each.name for each in runtime.graphs] == ["refunds", "desk"]


@pytest.mark.needs("prunes")
@pytest.mark.needs("takes_a_clock")
async def test_pruning_keeps_entries_and_deletes_those_that_were_forgotten(runtime, clock):
    await anna(runtime)
    await runtime.register_entry("bert", desk, at="REVIEWING", lasts="5m")
    for _ in range(5):
        await anna(runtime)
    bert = await runtime.resume("directory:bert")
    clock.advance("5m")
    await bert.until("LEFT")
    clock.advance("7d")
    await bert.until("FORGOTTEN")
    clock.advance("30d")
    forgotten = await runtime.prune(ended_before="1d", keep_turns=1)
    assert (forgotten.agents, forgotten.turns >= 5) == (1, True)
    assert await ids(runtime) == ["anna", "refunds.REVIEWING"]


@pytest.mark.needs("migrates_ahead")
async def test_entries_survive_a_new_version_of_the_graph_behind_them(place, clock):
    async with Runtime.open(place, graphs=[refunds, desk], clock=clock) as runtime:
        await runtime.mark_entry("refunds.REVIEWING", Mark.PINNED)
    grown = reviewing("refunds", profile=Profile(domains=("refunds", "bills"), tier=4))
    async with Runtime.open(place, graphs=[grown, desk], clock=clock) as runtime:
        assert [each.problem async for each in runtime.migrate()] == [None]
        [entry] = await runtime.directory()
        assert (entry.mark, entry.candidate.profile.tier) == (Mark.PINNED, 4)


@pytest.mark.needs("finds_at_once")
async def test_entries_of_graphs_that_are_gone_are_kept_and_not_listed(place, clock):
    async with Runtime.open(place, graphs=[refunds, desk], clock=clock) as runtime:
        await runtime.mark_entry("refunds.REVIEWING", Mark.PINNED)
    async with Runtime.open(place, graphs=[desk], clock=clock) as runtime:
        assert await ids(runtime) == []
        with pytest.raises(EntryTakenError, match="which is not here"):
            await runtime.register_entry("refunds.REVIEWING", desk, at="REVIEWING")
    async with Runtime.open(place, graphs=[refunds, desk], clock=clock) as runtime:
        assert [each.mark for each in await runtime.directory()] == [Mark.PINNED]


class CountsItsReads(WrappedStore):
    """A store that counts how often the entries of the directory are read."""

    reads = 0

    async def find(self, query):
        self.reads += query.graph == DIRECTORY_GRAPH
        await asyncio.sleep(0)
        return await self.store.find(query)


async def test_calls_that_come_at_once_read_the_directory_once(clock):
    counting = CountsItsReads(MemoryStore())
    async with Runtime.open(counting, graphs=[refunds, desk], clock=clock) as runtime:
        found = await asyncio.gather(*(runtime.directory() for _ in range(100)))
    assert ([[each.id for each in some] for some in found], counting.reads) == ([["refunds.REVIEWING"]] * 100, 1)


def bot(runtime, name, registrant="crm", **given):
    return runtime.register_entry(name, desk, at="REVIEWING", registrant=registrant, **given)


@pytest.mark.needs("takes_a_clock")
async def test_a_registrant_has_no_more_entries_than_the_home_allows_also_after_a_restart(place, clock):
    limits = Limits(entries=3)
    async with Runtime.open(place, graphs=[refunds, desk], clock=clock, limits=limits) as runtime:
        for name in ("one", "two"):
            await bot(runtime, name)
        await bot(runtime, "three", lasts="5m")
    async with Runtime.open(place, graphs=[refunds, desk], clock=clock, limits=limits) as runtime:
        with pytest.raises(TooManyEntriesError, match=r"'crm' has 3 .*deregister one.*Limits\(entries=.*--max-entries"):
            await bot(runtime, "four")
        await bot(runtime, "one", text="renewed")
        await bot(runtime, "four", registrant="erp")
        for number in range(5):
            await bot(runtime, f"person {number}", registrant="")
        await runtime.deregister_entry("one")
        await bot(runtime, "five")
        with pytest.raises(TooManyEntriesError):
            await bot(runtime, "one")
        clock.advance("6m")
        await bot(runtime, "one")


async def test_registrations_that_come_at_once_do_not_exceed_the_bound(place, clock):
    async with Runtime.open(place, graphs=[refunds, desk], clock=clock, limits=Limits(entries=5)) as runtime:
        tries = (bot(runtime, f"bot number {number}") for number in range(12))
        results = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(result, TooManyEntriesError) for result in results) == 7
        assert len(await runtime.directory()) == 6


async def test_more_entries_than_a_bound_that_was_lowered_stay_and_are_renewed(place, clock):
    async with Runtime.open(place, graphs=[desk], clock=clock) as runtime:
        for name in ("one", "two", "three"):
            await bot(runtime, name)
    async with Runtime.open(place, graphs=[desk], clock=clock, limits=Limits(entries=1)) as runtime:
        assert (await bot(runtime, "three", text="still here")).candidate.text == "still here"
        with pytest.raises(TooManyEntriesError):
            await bot(runtime, "four")


async def with_record(runtime):
    """Let work of an entry succeed, for a user, and pin it."""
    await bot(runtime, "bot")
    outcome = {"handoff": "h1", "ended": "completed", "user": "ada", "source": "orders-1", "at": NOON.isoformat()}
    await own_agents_of(runtime).send("directory:bot", OUTCOME, {**outcome, "kind": "refunds"})
    await own_agents_of(runtime).send("directory:bot", OUTCOME, {**outcome, "handoff": "h2", "ended": "failed"})
    await runtime.mark_entry("bot", "pinned", reason="it is good")


@pytest.mark.needs("takes_a_clock")
async def test_a_new_registrant_of_an_id_that_was_given_up_begins_a_record_of_its_own(runtime, clock, caplog):
    await with_record(runtime)
    await runtime.deregister_entry("bot")
    clock.advance("1m")
    entry = await bot(runtime, "bot", "erp")
    assert (entry.registrant, entry.completed, entry.failed, entry.outcomes) == ("erp", 0, 0, ())
    assert (entry.candidate.users, entry.candidate.performance, entry.mark) == ((), 1.0, Mark.NONE)
    assert (entry.former_registrant, entry.changed_hands) == ("crm", NOON + timedelta(seconds=60))
    assert "changed hands, from 'crm' to 'erp'" in caplog.text
    late = {"handoff": "h3", "ended": "failed", "user": "ada", "source": "orders-1", "at": NOON.isoformat()}
    await own_agents_of(runtime).send("directory:bot", OUTCOME, late)
    [entry] = await runtime.directory("bot")
    assert (entry.failed, entry.outcomes) == (0, ())


async def test_the_same_registrant_keeps_its_record(runtime):
    await with_record(runtime)
    await runtime.deregister_entry("bot")
    entry = await bot(runtime, "bot")
    assert (entry.completed, entry.failed, entry.mark) == (1, 1, Mark.PINNED)
    assert (entry.candidate.users, entry.former_registrant) == (("ada",), None)


async def test_what_operators_closed_stays_closed_for_a_new_registrant(runtime):
    await bot(runtime, "bot")
    await runtime.mark_entry("bot", "closed", reason="it guesses")
    await runtime.deregister_entry("bot")
    entry = await bot(runtime, "bot", "erp")
    assert (entry.mark, entry.mark_reason) == (Mark.CLOSED, "it guesses")


@pytest.mark.parametrize(
    ("alike", "existing"),
    [
        ("Anna", "anna"),
        ("\N{CYRILLIC SMALL LETTER A}" * 2, "aa"),
        ("\N{CYRILLIC SMALL LETTER ES}\N{CYRILLIC SMALL LETTER O}", "co"),
        ("\N{FULLWIDTH LATIN SMALL LETTER A}nna", "anna"),
        ("bot-l", "bot-1"),
        ("b0t", "bot"),
        ("bot-\N{ARABIC-INDIC DIGIT ONE}", "bot-1"),
        ("bot-\N{DEVANAGARI DIGIT TWO}", "bot-2"),
        ("\N{LATIN SMALL LETTER A WITH ACUTE}nna", "anna"),
        ("a\N{COMBINING LOW LINE}nna", "anna"),
        ("ann\N{LATIN SMALL LETTER A WITH DOT BELOW}", "anna"),
        ("kamil", "kami\N{LATIN SMALL LETTER L WITH STROKE}"),
        ("\N{LATIN CAPITAL LETTER I WITH DOT ABOVE}da", "ida"),
        ("a\N{RATIO}b", "a:b"),
        ("\N{KATAKANA LETTER E}\N{KATAKANA LETTER RO}", "\N{CJK UNIFIED IDEOGRAPH-5DE5}\N{CJK UNIFIED IDEOGRAPH-53E3}"),
        ("crm\N{EM DASH}bot", "crm-bot"),
        ("crm\N{HYPHEN}bot", "crm-bot"),
        ("refunds.revіewing".replace("і", "i"), "refunds.REVIEWING"),
        ("DESK", "desk"),
        ("desk.ReviewinG", "desk.REVIEWING"),
    ],
)
async def test_an_id_that_looks_like_another_is_refused_and_names_it(runtime, alike, existing):
    if not existing.startswith(("refunds", "desk")):
        await bot(runtime, existing)
    before = await ids(runtime)
    with pytest.raises(LookAlikeError) as refused:
        await bot(runtime, alike)
    assert (refused.value.id, refused.value.existing) == (alike, existing)
    assert await ids(runtime) == before


@pytest.mark.parametrize(
    "unseen",
    [
        "an\N{ZERO WIDTH SPACE}na",
        "anna\N{RIGHT-TO-LEFT OVERRIDE}",
        "an\N{LEFT-TO-RIGHT ISOLATE}na",
        "an\N{SOFT HYPHEN}na",
        "anna\N{COMBINING GRAPHEME JOINER}",
        "\N{HANGUL FILLER}",
        "\N{BRAILLE PATTERN BLANK}",
        " ",
        " anna",
        "anna ",
        "anna  b",
        "anna\N{NO-BREAK SPACE}b",
        "anna\N{IDEOGRAPHIC SPACE}b",
        "\N{ZERO WIDTH NO-BREAK SPACE}anna",
        "anna\N{VARIATION SELECTOR-16}",
        "\N{CYRILLIC SMALL LETTER A}nna",
        "\ue000",
    ],
)
async def test_an_id_that_cannot_be_told_by_looking_at_it_is_refused(runtime, unseen):
    with pytest.raises(PayloadError, match="visible characters"):
        await bot(runtime, unseen)
    assert await ids(runtime) == ["refunds.REVIEWING"]


@pytest.mark.parametrize("name", ["Анна Иванова", "安娜 2", "田中さん", "Zoë", "team-Анна", "anna@example.org", "أحمد"])
async def test_names_of_people_in_any_script_are_registered(runtime, name):
    assert (await bot(runtime, name)).id == name


async def test_an_entry_from_before_these_rules_is_listed_and_renewed(runtime):
    large = {"capacity": 2**62, "profile": {"tier": 10**9, "cost": 1e300, "expected_s": 1e300}}
    old_terms = {"id": "an\u200bna", "graph": "desk", "at": "REVIEWING", "registrant": "crm", **large}
    await own_agents_of(runtime).start(
        DIRECTORY_GRAPH, at="REGISTERED", payload=EntryTerms.model_validate(old_terms), agent_id="directory:an\u200bna"
    )
    [old] = await runtime.directory("an\u200bna")
    assert (old.candidate.capacity, old.candidate.profile.tier) == (2**62, 10**9)
    assert (await bot(runtime, "an\u200bna", text="renewed")).candidate.text == "renewed"


@pytest.mark.parametrize(
    ("wrong", "bound"),
    [
        ({"capacity": 2**63}, "1000000"),
        ({"capacity": 1_000_001}, "1000000"),
        ({"profile": Profile(tier=10**9)}, "1 to 1000"),
        ({"profile": Profile(tier=1_001)}, "1 to 1000"),
        ({"profile": Profile(cost=1e13)}, "0 to 1e\\+12"),
        ({"profile": Profile(expected_s=1e12)}, "3155760000"),
        ({"lasts": "200000d"}, "duration"),
    ],
)
async def test_numbers_have_bounds_which_errors_name(runtime, wrong, bound):
    with pytest.raises(PayloadError, match=bound):
        await bot(runtime, "anna", **wrong)
    assert await ids(runtime) == ["refunds.REVIEWING"]


async def test_numbers_up_to_their_bounds_are_taken(runtime):
    profile = Profile(tier=1_000, cost=1e12, expected_s=3_155_760_000)
    entry = await bot(runtime, "anna", capacity=1_000_000, profile=profile)
    assert (entry.candidate.capacity, entry.candidate.profile) == (1_000_000, profile)
    with pytest.raises(PayloadError, match="0 to 1000"):
        await runtime.choose(needs=Needs(tier=1_001))
    with pytest.raises(ValueError, match="0 to 1,000,000"):
        Accepts(capacity=1_000_001)
