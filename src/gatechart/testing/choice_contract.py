"""Tests of a store's promises about handoffs with a target to be chosen."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gatechart.ports import Store
from gatechart.testing.errands import acting, kept
from gatechart.testing.handoff_contract import (
    ACCEPTED,
    CANCELLED,
    COMPLETED,
    LATER,
    OFFER,
    PENDING,
    REJECTED,
    TEXT,
    found_ids,
    offer,
    offered,
    settle,
    taking,
    with_open,
)
from gatechart.testing.records import COMMITTED, NOON, STALE, commit_each, going_on, started, verdicts
from gatechart.values.agents import Status
from gatechart.values.commits import RejectionReport, ReserveSlot, TurnRecord
from gatechart.values.effects import ChangeHandoff, Offer, OfferChosen
from gatechart.values.handoffs import HandoffChange, HandoffQuery, HandoffRecord, HandoffStatus, Mode, OpenHandoff, Side
from gatechart.values.mail import Mail
from gatechart.values.names import CHOOSING, WITHDRAWN
from gatechart.values.queries import Pruning

UNDECIDED = HandoffStatus.CHOOSING
WHY = {"needs": {"tier": 2}, "judged": [{"id": TEXT, "total": 0.1}], "details": TEXT}


class ChoiceContract:
    """The promises about such handoffs: no agent hears of one before the choice, and the choice is made once."""

    async def test_only_the_source_is_told_of_what_has_no_target_yet(self, store: Store) -> None:
        """The source gets the mail with the packet, under the handoff's id, and the mail about the deadline."""
        await undecided(store, deadline=LATER)
        asks, late = await kept(store)
        assert (asks.recipient, asks.event, asks.id, asks.sender, asks.payload) == (
            "a",
            CHOOSING,
            "1",
            "a",
            {"id": "1"},
        )
        assert (late.recipient, late.event, late.due) == ("a", WITHDRAWN, LATER)
        assert (late.payload["handoff"], late.payload["expired"], late.payload["choosing"]) == ("1", True, True)
        assert await found_ids(store, HandoffQuery(status=UNDECIDED)) == ["1"]
        assert await found_ids(store, HandoffQuery(target="a")) == ["1"]

    async def test_a_choice_gives_a_handoff_its_target_and_its_reasons(self, store: Store) -> None:
        """Target, packet, choice, change and mail are one commit; all other fields keep their offered values."""
        turn = await undecided(store, deadline=LATER, mode=Mode.DELEGATE, request="0")
        asks, *_ = await kept(store)
        chosen = choosing(store, turn, asks, target="c", is_new=True, deadline=LATER)
        await commit_each(store, chosen)
        (handoff,) = await store.handoffs(HandoffQuery())
        assert (handoff.status, handoff.target, handoff.target_graph, handoff.entry_point) == (
            PENDING,
            "c",
            TEXT,
            "DOOR",
        )
        assert (handoff.is_new, handoff.packet, handoff.choice) == (True, {"to": "c"}, WHY)
        assert (handoff.request, handoff.mode, handoff.source, handoff.deadline) == ("0", Mode.DELEGATE, "a", LATER)
        assert handoff.changes == (HandoffChange(UNDECIDED, NOON), HandoffChange(PENDING, chosen.event.time, TEXT))
        _, offered_mail, late = await kept(store)
        assert (offered_mail.recipient, offered_mail.event, offered_mail.id, offered_mail.payload) == (
            "c",
            OFFER,
            "1",
            {"to": "c"},
        )
        assert (late.recipient, late.event, late.payload) == ("c", WITHDRAWN, {"handoff": "1", "expired": True})
        assert await found_ids(store, HandoffQuery(target="c", status=PENDING)) == ["1"]
        assert await found_ids(store, HandoffQuery(target="a")) == []

    async def test_a_choice_stays_with_its_handoff_to_the_end(self, store: Store) -> None:
        """Later changes of the status do not alter it."""
        turn = await undecided(store)
        await commit_each(store, choosing(store, turn, (await kept(store))[0]))
        take = taking(store, "1", (await kept(store))[0])
        await commit_each(
            store, take, acting(store, with_open(going_on(take, "ENDED")), settle("1", ACCEPTED, COMPLETED))
        )
        (handoff,) = await store.handoffs(HandoffQuery())
        assert (handoff.status, handoff.choice, handoff.target) == (COMPLETED, WHY, "b")

    @pytest.mark.parametrize("together", [False, True])
    async def test_nothing_is_chosen_for_what_was_withdrawn(self, store: Store, together: bool) -> None:
        """The choice is STALE, and nothing of it is written; nor is it repeated."""
        turn = await undecided(store)
        asks, *_ = await kept(store)
        chosen, withdrawn = choosing(store, turn, asks), acting(store, started("x"), settle("1", UNDECIDED, CANCELLED))
        assert (
            await verdicts(store, *((withdrawn, chosen) if together else (withdrawn,)))
            == [COMMITTED, STALE][: 1 + together]
        )
        if not together:
            assert await verdicts(store, chosen) == [STALE]
        (handoff,) = await store.handoffs(HandoffQuery())
        assert (handoff.status, handoff.target, handoff.choice) == (CANCELLED, "a", None)
        assert await kept(store) == [asks]

    async def test_a_choice_is_made_once(self, store: Store) -> None:
        """A second choice, from the same mail, is STALE."""
        turn = await undecided(store)
        asks, *_ = await kept(store)
        first, second = choosing(store, turn, asks), choosing(store, turn, asks, target="c")
        assert await verdicts(store, first, second) == [COMMITTED, STALE]
        assert await verdicts(store, second) == [STALE]
        assert [mail.recipient for mail in await kept(store)] == ["b"]

    async def test_why_nobody_was_chosen_is_kept(self, store: Store) -> None:
        """The answer that rejects the handoff stores the reasons."""
        await undecided(store)
        asks, *_ = await kept(store)
        change = ChangeHandoff("1", UNDECIDED, REJECTED, "no match", choice=WHY)
        reply = Mail(store.numbers(1), "a", "handoff.rejected", {"handoff": "1"}, LATER, sender="a")
        assert await verdicts(store, RejectionReport(change, LATER, asks.number, reply)) == [COMMITTED]
        (handoff,) = await store.handoffs(HandoffQuery())
        assert (handoff.status, handoff.choice, handoff.target) == (REJECTED, WHY, "a")
        assert await kept(store) == [reply]

    async def test_what_has_no_target_yet_is_open_work_of_its_source(self, store: Store) -> None:
        """Its agent is not pruned, but it can be erased once it has ended, and the handoff is erased with it."""
        turn = await undecided(store)
        await commit_each(store, going_on(turn, "ENDED", status=Status.DONE))
        pruning = Pruning(ids_since=NOON, ended_before=LATER)
        assert (await store.prune(pruning, dry_run=True)).erased == ()
        assert await store.erase("a")
        assert await store.handoffs(HandoffQuery()) == []

    async def test_open_work_is_counted(self, store: Store) -> None:
        """It counts for its graph, entry point, recipient, and the recipient's agent; a slot counts for its graph."""
        assert dict(await store.held()) == {}
        chosen = offer("4", target="d", target_graph=TEXT, packet={"recipient": "somebody"})
        await offered(store, *(offer(each) for each in "123"), chosen)
        one, two, _, four = await kept(store)
        await verdicts(store, ReserveSlot("1", "g", 5), ReserveSlot("2", "g", 5))
        take = taking(store, "1", one)
        await commit_each(store, take, taking(store, "4", four, "d"))
        others = {TEXT: 1, f"{TEXT}.DOOR": 1, "somebody": 1, "directory:somebody": 1}
        assert dict(await store.held()) == {"g": 2, "g.DOOR": 1, **others}
        await commit_each(store, acting(store, with_open(going_on(take, "ENDED")), settle("1", ACCEPTED, COMPLETED)))
        assert dict(await store.held()) == {"g": 1, **others}
        refuse = acting(store, started("c"), settle("2", PENDING, REJECTED), consumes=two)
        assert await verdicts(store, refuse) == [COMMITTED]
        assert dict(await store.held()) == others


def record(handoff_id: str, **more: object) -> HandoffRecord:
    """Build a handoff of `a` with a target to be chosen, created at noon."""
    changes = (HandoffChange(UNDECIDED, NOON),)
    fields = {"target": "a", "target_graph": "f", "entry_point": "", "status": UNDECIDED, "changes": changes}
    return offer(handoff_id, **fields | more).handoff


def with_effect(store: Store, turn: TurnRecord, handoff: HandoffRecord) -> TurnRecord:
    """Build the turn of `a` that hands its work on to the best target."""
    choosing_handoff = OpenHandoff(
        handoff.id, Side.ASKED, "a", handoff.mode, 1, handoff.request, ("A",), is_choosing=True
    )
    return acting(store, with_open(turn, choosing_handoff), Offer(handoff))


async def undecided(store: Store, **more: object) -> TurnRecord:
    """Commit and return the turn that starts `a`, which hands its work on to the best target."""
    turn = with_effect(store, started("a"), record("1", **more))
    await commit_each(store, turn)
    return turn


def choosing(store: Store, turn: TurnRecord, mail: Mail, target: str = "b", **more: object) -> TurnRecord:
    """Build the turn after this one, where `a` offers its work to the chosen target."""
    offered_to = {"target": target, "target_graph": TEXT, "packet": {"to": target}, "choice": WHY}
    handoff = offer(mail.id or "", **offered_to | more).handoff
    (choosing_handoff,) = turn.snapshot.handoffs
    offered_handoff = replace(choosing_handoff, peer=target, recipient=f"{TEXT}.DOOR", is_choosing=False)
    after = with_open(going_on(turn, mail.event, payload=dict(mail.payload), event_id=mail.id), offered_handoff)
    after = replace(after, event=replace(after.event, time=NOON + timedelta(minutes=1)))
    return acting(store, after, OfferChosen(handoff, TEXT), consumes=mail)
