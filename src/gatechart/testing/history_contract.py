"""Tests of a store's promises about the past: return to it, and forget it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any, Final

import pytest

from gatechart.errors.event import UnknownAgentError, UnknownVersionError
from gatechart.ports import Store
from gatechart.testing.records import (
    COMMITTED,
    NOON,
    assert_unknown,
    at_once,
    commit_each,
    found,
    going_on,
    lives,
    started,
    verdicts,
)
from gatechart.values.agents import Event, Snapshot, Status
from gatechart.values.commits import Posting, TurnRecord, Verdict
from gatechart.values.mail import Mail, MailStatus
from gatechart.values.queries import HistoryEntry, MailQuery, Pruned, Pruning
from gatechart.values.transfers import TransferCount, Visit

LATER = NOON + timedelta(days=1)  # later than every turn of `lives`
ALL_IDS_OUT = Pruning(ids_since=LATER)


class HistoryContract:
    """The tests of a store's history. Subclass it and provide the store as a fixture, as for StoreContract."""

    pytestmark = pytest.mark.asyncio

    async def test_a_list_that_grew_is_told_by_what_was_appended(self, store: Store) -> None:
        """An entry has the new items of lists that only grew, and the new value of every other field that changed."""
        first = started("a", context={"grew": [], "grown": [[1]], "shrunk": [1, 2], "turned": [1], "kept": [0]})
        second = going_on(
            first, "TOLD", context={"grew": [1], "grown": [[1], None], "shrunk": [1], "turned": [True, 2], "kept": [0]}
        )
        await commit_each(store, first, second, going_on(second, "TOLD"))
        start, grown, unchanged = await store.history("a")
        assert start.changed == {"grew": [], "grown": [[1]], "shrunk": [1, 2], "turned": [1], "kept": [0]}
        assert (grown.changed, grown.appended) == (
            {"shrunk": [1], "turned": [True, 2]},
            {"grew": (1,), "grown": (None,)},
        )
        assert (start.appended, unchanged.changed, unchanged.appended) == ({}, {}, {})

    @pytest.mark.parametrize("seed", range(12))
    async def test_every_snapshot_of_a_life_can_be_had_again(self, store: Store, seed: int) -> None:
        """`snapshot_at` returns for each version the snapshot that `load` returned when it was the newest.

        This includes agents that change their graph version and fields, or have history states and parallel
        regions. The history read entry by entry equals the history read at once.
        """
        random = Random(seed)
        seen: dict[str, list[Snapshot]] = {"a": [], "b": []}
        for turns in zip(_life("a", random), _life("b", random), strict=True):
            await store.commit(turns)
            for turn in turns:
                seen[turn.snapshot.agent_id].append(await store.load(turn.snapshot.agent_id))
        for agent_id, snapshots in seen.items():
            assert [await store.snapshot_at(agent_id, each.version) for each in snapshots] == snapshots
            entries = await store.history(agent_id)
            assert [entry.target for entry in entries] == [each.configuration for each in snapshots]
            assert [entry.source for entry in entries] == [(), *(each.configuration for each in snapshots[:-1])]
            for entry in entries:
                assert await store.history(agent_id, after=entry.version - 1, limit=1) == [entry]

    async def test_a_large_text_is_had_again_as_it_was(self, store: Store) -> None:
        """Any text and any number is read back unchanged from an earlier version."""
        texts = ["", 'Grüße, 東京 🚪\u2028\x00\x7f"\\', "x" * 300_000]
        numbers = [0, -1, 2**53 + 1, 2**80, 0.1, -1.5e-300, 1e16, 1.0, True]
        turns = [started("a", context={"text": None, "number": None})]
        for text, number in zip([*texts, *texts, *texts], numbers, strict=True):
            turns.append(going_on(turns[-1], "TOLD", context={"text": text, "number": number}))
        await commit_each(store, *turns)
        for turn in turns:
            assert await store.snapshot_at("a", turn.snapshot.version) == turn.snapshot

    @pytest.mark.parametrize("version", [-1, 0, 4, 99])
    async def test_a_version_that_never_was_is_named_with_those_that_were(self, store: Store, version: int) -> None:
        """`snapshot_at` raises UnknownVersionError, which names the existing versions."""
        await lives(store, "ab", turns=3)
        with pytest.raises(UnknownVersionError, match="'a'; versions 1 to 3 are available") as caught:
            await store.snapshot_at("a", version)
        assert (caught.value.agent_id, caught.value.version) == ("a", version)
        with pytest.raises(UnknownAgentError, match="'nobody'"):
            await store.snapshot_at("nobody", 1)

    async def test_a_pruning_that_allows_nothing_forgets_nothing(self, store: Store) -> None:
        """A pruning with None in every field keeps everything."""
        await _ended(store, "abc")
        before = await _all(store)
        assert await _pruned(store, ALL_IDS_OUT) == ([], 0, 0)
        assert await _all(store) == before

    @pytest.mark.parametrize("keep", [0, 1, 2, 5, 11, 12, 99])
    @pytest.mark.parametrize("seed", range(3))
    async def test_the_newest_turns_stay_and_can_be_rebuilt(self, store: Store, keep: int, seed: int) -> None:
        """`keep_turns` drops all but this many turns of each agent, never the newest. The rest is unchanged."""
        random = Random(seed)
        all_turns = {agent_id: list(_life(agent_id, random, turns=12)) for agent_id in ("a", "b")}
        await commit_each(store, *(turn for turns in all_turns.values() for turn in turns))
        before = {agent_id: await store.history(agent_id) for agent_id in all_turns}
        count = min(max(keep, 1), 12)
        assert await _pruned(store, replace(ALL_IDS_OUT, keep_turns=keep)) == ([], 2 * (12 - count), 0)
        for agent_id, turns in all_turns.items():
            assert await store.load(agent_id) == turns[-1].snapshot
            assert await store.history(agent_id) == before[agent_id][-count:]
            assert await store.history(agent_id, after=11) == before[agent_id][-1:]
            for turn in turns[-count:]:
                assert await store.snapshot_at(agent_id, turn.snapshot.version) == turn.snapshot
            for turn in turns[:-count]:
                with pytest.raises(UnknownVersionError, match=f"versions {13 - count} to 12 are available"):
                    await store.snapshot_at(agent_id, turn.snapshot.version)

    async def test_what_is_old_is_dropped(self, store: Store) -> None:
        """`turns_before` drops older turns. If `keep_turns` is given, too, the rule that drops more applies."""
        [turns] = await lives(store, "a", turns=9)
        assert await _pruned(store, replace(ALL_IDS_OUT, turns_before=turns[4].event.time)) == ([], 4, 0)
        assert [entry.version for entry in await store.history("a")] == [5, 6, 7, 8, 9]
        both = replace(ALL_IDS_OUT, turns_before=turns[5].event.time, keep_turns=2)
        assert await _pruned(store, both) == ([], 3, 0)
        assert await _pruned(store, replace(ALL_IDS_OUT, turns_before=LATER)) == ([], 1, 0)
        assert [entry.version for entry in await store.history("a")] == [9]

    async def test_an_agent_goes_on_after_it_was_pruned(self, store: Store) -> None:
        """A pruning changes nothing for later turns, and can be repeated."""
        turns = list(_life("a", Random(7), turns=30))
        await commit_each(store, *turns[:10])
        for start in (10, 20):
            assert (await _pruned(store, replace(ALL_IDS_OUT, keep_turns=3)))[1] > 0
            await commit_each(store, *turns[start : start + 10])
        assert [entry.version for entry in await store.history("a")] == list(range(18, 31))
        for turn in turns[17:]:
            assert await store.snapshot_at("a", turn.snapshot.version) == turn.snapshot

    async def test_ids_within_the_window_are_recognised_after_a_pruning(self, store: Store) -> None:
        """Dropping stops at the oldest turn with an id within the window. Older ids are free again."""
        [turns] = await lives(store, "a", turns=9)
        window = Pruning(ids_since=turns[5].event.time, keep_turns=1, turns_before=LATER)
        assert await _pruned(store, window) == ([], 5, 0)
        for version in range(1, 10):
            entry = await store.applied("a", f"a-{version}")
            assert (entry.version if entry else None) == (version if version >= 6 else None)
        repeat = Mail(store.numbers(1), "a", "TOLD", {}, LATER, "a-9")
        again = Mail(store.numbers(1), "a", "TOLD", {}, LATER, "a-2")
        assert await store.commit([Posting(repeat), Posting(again)]) == [Verdict.REPEATED, COMMITTED]
        free = going_on(turns[-1], "TOLD", event_id="a-1")
        assert await verdicts(store, free) == [COMMITTED]
        entry = await store.applied("a", "a-1")
        assert entry is not None
        assert entry.version == 10

    async def test_turns_without_an_id_are_not_held_by_the_window(self, store: Store) -> None:
        """Turns whose events cannot be repeated may be dropped, however young they are."""
        turns = [started("a")]
        for number in range(8):
            turns.append(going_on(turns[-1], "TOLD", event_id="last" if number == 5 else None))
        await commit_each(store, *turns)
        assert await _pruned(store, Pruning(ids_since=NOON, keep_turns=1)) == ([], 6, 0)
        assert await store.applied("a", "last") is not None

    async def test_agents_that_ended_long_ago_are_erased_whole(self, store: Store) -> None:
        """`ended_before` erases agents that are done or stopped and had their last turn before, but no active ones."""
        a, b, c, d = await _ended(store, "abcd")
        late = replace(a, event=replace(a.event, time=LATER))
        await commit_each(store, replace(going_on(late, "ENDED", status=Status.DONE), event=Event("X", {}, LATER)))
        pruning = replace(ALL_IDS_OUT, ended_before=d.event.time + timedelta(seconds=1))
        assert b.snapshot.status is Status.DONE
        assert c.snapshot.status is Status.STOPPED
        assert d.snapshot.status is Status.ACTIVE
        assert await _pruned(store, pruning) == (["b", "c"], 0, 0)
        assert await found(store) == ["a", "d"]
        await assert_unknown(store, "b", "b-1")
        await assert_unknown(store, "c", "c-1")

    async def test_a_pruning_erases_only_agents_that_ended_as_it_says(self, store: Store) -> None:
        """`status` selects agents that are done, failed or stopped. It never selects an active one."""
        await _ended(store, "abcdg")
        ways: tuple[tuple[Status, list[str]], ...] = (
            (Status.ACTIVE, []),
            (Status.STOPPED, ["c"]),
            (Status.FAILED, ["g"]),
            (Status.DONE, ["a", "b"]),
        )
        for status, erased in ways:
            pruning = replace(ALL_IDS_OUT, ended_before=LATER, status=status)
            assert (await _pruned(store, pruning, dry_run=True))[0] == erased
            assert (await _pruned(store, pruning))[0] == erased
        assert await found(store) == ["d"]

    @pytest.mark.parametrize("limit", [1, 3, 9])
    async def test_a_dry_run_tells_what_a_pruning_forgets_and_forgets_nothing(self, store: Store, limit: int) -> None:
        """All its parts together report the data to be forgotten. Mail of erased agents is not counted."""
        await lives(store, "uv", turns=9)
        await _ended(store, "abcdef")
        mails = [_mail(store, MailStatus.REFUSED, recipient=each) for each in "uuvvxabd"]
        waiting = _mail(store, MailStatus.WAITING, recipient="e")
        await store.commit([Posting(mail) for mail in (*mails, waiting)])
        pruning = replace(ALL_IDS_OUT, ended_before=LATER, keep_turns=4, mail_before=LATER)
        before = await _all(store), await store.mail(MailQuery())
        forecast = await _pruned(store, pruning, limit, dry_run=True)
        assert forecast == (["a", "b", "c", "f"], 10, 6)
        assert (await _all(store), await store.mail(MailQuery())) == before
        assert await store.applied("u", "u-1") is not None
        assert await _pruned(store, pruning, limit) == forecast
        assert await found(store) == ["u", "v", "d", "e"]

    async def test_an_ended_agent_stays_until_its_ids_are_out_of_the_window(self, store: Store) -> None:
        """A repeat of an event that an ended agent applied is recognised for as long as any other."""
        _, b, *_ = await _ended(store, "abcd")
        inside = Pruning(ids_since=b.event.time, ended_before=LATER)
        ended = going_on(started("z"), "ENDED", status=Status.DONE, event_id="z-2")
        await commit_each(store, started("z"), ended)
        assert (await _pruned(store, inside))[0] == ["a", "b", "c"]
        assert await store.applied("z", "z-2") is not None
        assert (await _pruned(store, replace(inside, ids_since=LATER)))[0] == ["z"]

    async def test_an_ended_agent_for_which_mail_waits_stays(self, store: Store) -> None:
        """No accepted mail is lost: waiting mail is refused first."""
        await _ended(store, "bc")
        mail = Mail(store.numbers(1), "b", "TOLD", {}, NOON, due=LATER)
        assert await store.commit([Posting(mail)]) == [COMMITTED]
        pruning = replace(ALL_IDS_OUT, ended_before=LATER)
        assert (await _pruned(store, pruning))[0] == ["c"]
        assert await store.mail(MailQuery()) == [mail]

    async def test_old_mail_that_ended_is_forgotten(self, store: Store) -> None:
        """`mail_before` forgets older mail that is refused or dead. Waiting mail and ids in the window are kept."""
        await lives(store, "a", turns=2)
        mails = [
            _mail(store, MailStatus.REFUSED),
            _mail(store, MailStatus.DEAD, id="old"),
            _mail(store, MailStatus.WAITING),
            _mail(store, MailStatus.REFUSED, id="young", accepted=NOON),
            _mail(store, MailStatus.DEAD, accepted=LATER),
            _mail(store, MailStatus.REFUSED, recipient="nobody"),
        ]
        assert await store.commit([Posting(mail) for mail in mails]) == [COMMITTED] * 6
        pruning = Pruning(ids_since=NOON, mail_before=NOON + timedelta(seconds=1))
        assert await _pruned(store, pruning, limit=1) == ([], 0, 3)
        assert await store.mail(MailQuery()) == [mails[2], mails[3], mails[4]]

    @pytest.mark.parametrize("limit", [1, 2, 3, 7])
    async def test_a_pruning_goes_on_part_by_part(self, store: Store, limit: int) -> None:
        """Every part returns the start of the next one. In between, turns are committed and ids recognised."""
        await _ended(store, "abcdef")
        pruning = replace(ALL_IDS_OUT, ended_before=LATER, keep_turns=1)
        after, parts = 0, []
        while True:
            part = await store.prune(pruning, after=after, limit=limit)
            parts.append(part)
            await commit_each(store, started(f"new {len(parts)}"))
            if part.next is None or len(parts) > 20:
                break
            after = part.next
        assert [agent_id for part in parts for agent_id in part.erased] == list("abcef")
        assert sum(part.turns for part in parts) == 1
        assert [len(await store.history(agent_id)) for agent_id in await found(store)] == [1] * (1 + len(parts))

    async def test_a_store_that_says_it_is_instant_never_suspends(self, store: Store) -> None:
        """If `is_instant` holds, reading the past and forgetting also complete at their first step."""
        if not store.is_instant:
            pytest.skip("the store says that it may suspend")
        first = started("a")
        last = going_on(first, "ENDED", status=Status.DONE)
        assert at_once(verdicts(store, first)) == at_once(verdicts(store, last)) == [COMMITTED]
        assert at_once(store.snapshot_at("a", 1)) == first.snapshot
        assert at_once(store.prune(replace(ALL_IDS_OUT, ended_before=LATER))).erased == ("a",)


def _life(agent_id: str, random: Random, turns: int = 40) -> list[TurnRecord]:
    """Build an agent's turns with all kinds of changes: mostly small ones, growing lists, sometimes everything else."""
    context: dict[str, Any] = {"n": 0, "said": [], "note": None, "of": {"deep": [1]}}
    life = [started(agent_id, context=context)]
    while len(life) < turns:
        context = dict(context) | _changes(context, random)
        if random.random() < 0.05:
            context = dict(reversed(context.items())) | {f"more {len(life)}": 1.0}
        turn = going_on(life[-1], "TOLD", context=context, payload={"n": len(life)})
        life.append(replace(turn, snapshot=_moved(turn.snapshot, random)))
    return life


def _changes(context: dict[str, Any], random: Random) -> dict[str, Any]:
    messages = [
        *context["said"],
        *({"role": "user", "text": "é" * random.randrange(40)} for _ in range(random.randrange(3))),
    ]
    kinds: Sequence[dict[str, Any]] = (
        {},
        {"n": context["n"] + 1},
        {"n": random.choice([1, 1.0, True, None, "1"])},
        {"said": messages, "n": context["n"]},
        {"said": messages[1:]},
        {"note": random.choice([None, [], [None], "x" * 900])},
        {"of": {"deep": [*context["of"]["deep"], 0.1]}},
    )
    changes = random.choice(kinds)
    return changes if isinstance(changes.get("n", 1), int) else changes | {"n": 1}


VISITS: Final = (Visit("B", NOON, 'done.invoke.b: no "quotes"'), Visit("C.D", NOON))
REFUSED: Final = TransferCount("A", 2, "done.invoke.search: ünï", "B", "the author may not", VISITS)


def _moved(snapshot: Snapshot, random: Random) -> Snapshot:
    """Return the snapshot with another configuration and other remembered states."""
    changes: dict[str, Any] = {}
    if random.random() < 0.4:
        changes["configuration"] = random.choice([("A",), ("B",), ("LEFT", "RIGHT"), ("A", "B")])
    if random.random() < 0.2:
        changes["memory"] = random.choice([(), (("PAST", ("LEFT", "RIGHT")),), (("PAST", ("A",)), ("É", ("B",)))])
    if random.random() < 0.2:
        changes["entered"] = random.choice([(), (("A", snapshot.version),), (("A", 1), ("B", snapshot.version))])
    if random.random() < 0.2:
        changes["transfers"] = random.choice(
            [(), (TransferCount("A", snapshot.version),), (REFUSED, TransferCount("É"))]
        )
    if random.random() < 0.05:
        changes["graph_version"] = str(snapshot.version)
    if random.random() < 0.05:
        changes["fingerprint"] = f"{snapshot.version:032}"
    return replace(snapshot, **changes)


async def _ended(store: Store, names: str) -> list[TurnRecord]:
    """Commit agents with two turns each: `c` ends stopped, `d` active, `g` failed. The first turns have event ids."""
    ends = {"c": Status.STOPPED, "d": Status.ACTIVE, "g": Status.FAILED}
    starts = [started(name, event_id=f"{name}-1", context={"n": 1}) for name in names]
    last = [
        going_on(turn, "ENDED", context={"n": 2}, status=ends.get(turn.snapshot.agent_id, Status.DONE))
        for turn in starts
    ]
    await commit_each(store, *starts, *last)
    return last


def _mail(store: Store, status: MailStatus, **other: Any) -> Mail:
    mail = Mail(store.numbers(1), "a", "TOLD", {"n": 1}, NOON - timedelta(days=1), status=status)
    return replace(mail, **other)


async def _pruned(
    store: Store, pruning: Pruning, limit: int = 2, *, dry_run: bool = False
) -> tuple[list[str], int, int]:
    """Return the data that all parts of a pruning have forgotten, or would forget."""
    parts: list[Pruned] = []
    after: int | None = 0
    while after is not None:
        parts.append(await store.prune(pruning, after=after, limit=limit, dry_run=dry_run))
        after = parts[-1].next
        assert len(parts) < 100
    erased = [agent_id for part in parts for agent_id in part.erased]
    return erased, sum(part.turns for part in parts), sum(part.mail for part in parts)


async def _all(store: Store) -> list[tuple[Snapshot, Sequence[HistoryEntry]]]:
    return [(await store.load(agent_id), await store.history(agent_id)) for agent_id in await found(store)]
