"""Tests of a store's promises about handoffs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from gatechart.ports import Store
from gatechart.testing.errands import acting, kept, letter, posted
from gatechart.testing.records import COMMITTED, NOON, STALE, assert_stale, commit_each, going_on, started, verdicts
from gatechart.values.agents import Status
from gatechart.values.commits import MailEnd, Posting, RejectionReport, ReserveSlot, TurnRecord, Unit
from gatechart.values.effects import ChangeHandoff, Effect, Offer, Send
from gatechart.values.handoffs import (
    HandoffChange,
    HandoffQuery,
    HandoffRecord,
    HandoffStatus,
    Mode,
    OpenHandoff,
    Reason,
    Side,
)
from gatechart.values.mail import Mail
from gatechart.values.names import OFFERED, WITHDRAWN
from gatechart.values.queries import Pruning

TEXT = "Grüße, 東京 🚪 e\u0301 \\ \" ' % _ ; -- \r\n\t \x00 \x7f"
LATER = NOON + timedelta(hours=1)
PENDING, ACCEPTED, REJECTED = HandoffStatus.PENDING, HandoffStatus.ACCEPTED, HandoffStatus.REJECTED
COMPLETED, CANCELLED = HandoffStatus.COMPLETED, HandoffStatus.CANCELLED
OFFER = f"{OFFERED}DOOR"


class HandoffContract:
    """The promises about handoffs: each is offered, accepted or answered once, found, and forgotten."""

    async def test_an_offer_is_kept_as_it_was_made(self, store: Store) -> None:
        """Every part of a handoff comes back unchanged, with its number."""
        full = offer(
            "1",
            request="0",
            is_new=True,
            mode=Mode.DELEGATE,
            reason=Reason.LOOP_DETECTED,
            packet={TEXT: [1, None, {"deep": 0.1}]},
            deadline=LATER + timedelta(microseconds=1),
            target_graph=TEXT,
        )
        await offered(store, full, offer("2"))
        first, second = await store.handoffs(HandoffQuery())
        assert replace(first, number=0) == full.handoff
        assert replace(second, number=0) == offer("2").handoff
        assert 0 < first.number < second.number

    async def test_an_offer_is_accepted_with_its_mail(self, store: Store) -> None:
        """The offer waits for its target under the handoff's id, and the mail about its deadline waits, too."""
        turn = await offered(store, offer("1", deadline=LATER), replace(offer("2"), due=LATER))
        assert await kept(store) == list(turn.mail)
        offer_mail, late, again = await kept(store)
        assert (offer_mail.recipient, offer_mail.event, offer_mail.id, offer_mail.due, offer_mail.sender) == (
            "b",
            OFFER,
            "1",
            None,
            "a",
        )
        assert offer_mail.payload == {"id": "1"}
        assert (late.recipient, late.event, late.due, late.payload["expired"]) == ("b", WITHDRAWN, LATER, True)
        assert late.payload["handoff"] == "1"
        assert (again.event, again.due) == (OFFER, LATER)

    async def test_an_offer_that_is_over_from_the_start_sends_nothing(self, store: Store) -> None:
        """The handoff can be found, and holds no slot."""
        over = (HandoffChange(PENDING, NOON), HandoffChange(REJECTED, NOON, "a loop"))
        await offered(store, offer("1", status=REJECTED, changes=over, deadline=LATER))
        assert await kept(store) == []
        assert [(each.status, each.changes) for each in await store.handoffs(HandoffQuery())] == [(REJECTED, over)]
        assert await verdicts(store, ReserveSlot("1", "g", 1)) == [STALE]

    async def test_a_stale_turn_offers_nothing(self, store: Store) -> None:
        """Neither the handoff nor its mail exists."""
        first = started("a")
        await commit_each(store, first, going_on(first, "WON"))
        await assert_stale(store, asking(store, going_on(first, "LOST"), offer("1")))
        assert await store.handoffs(HandoffQuery()) == []
        assert await kept(store) == []

    async def test_the_turn_that_takes_an_offer_settles_it(self, store: Store) -> None:
        """Record, snapshot and answer are one commit. Each change has its time and its details."""
        await offered(store, offer("1"))
        turn = taking(store, "1", (await kept(store))[0])
        await commit_each(store, turn)
        (handoff,) = await store.handoffs(HandoffQuery())
        assert handoff.status is ACCEPTED
        assert handoff.changes == (HandoffChange(PENDING, NOON), HandoffChange(ACCEPTED, turn.event.time, TEXT))
        assert [mail.event for mail in await kept(store)] == ["handoff.accepted"]
        assert (await store.load("b")).handoffs == turn.snapshot.handoffs

    @pytest.mark.parametrize("together", [False, True])
    async def test_an_offer_is_taken_once(self, store: Store, together: bool) -> None:
        """A turn that expects an outdated status is STALE, and nothing of it is written."""
        await offered(store, offer("1"))
        mail, again = (await kept(store))[0], letter(store, "c", OFFER, {"id": "1"})
        await posted(store, again)
        first, second = taking(store, "1", mail), taking(store, "1", again, "c")
        if together:
            assert await verdicts(store, first, second) == [COMMITTED, STALE]
        else:
            await commit_each(store, first)
            assert await verdicts(store, second) == [STALE]
        assert await store.load_many(["b", "c"]) == [first.snapshot]
        assert [mail.recipient for mail in await kept(store)] == ["c", "a"]
        (handoff,) = await store.handoffs(HandoffQuery())
        assert len(handoff.changes) == 2

    async def test_one_stale_settle_takes_the_whole_turn_with_it(self, store: Store) -> None:
        """A turn makes all of its changes to handoffs, or none."""
        await offered(store, offer("1"), offer("2"))
        one, two = await kept(store)
        await commit_each(store, taking(store, "1", one))
        both = settle("2", PENDING, ACCEPTED), settle("1", PENDING, ACCEPTED), Send("a", "LOST", {})
        assert await verdicts(store, acting(store, started("c"), *both, consumes=two)) == [STALE]
        assert await statuses(store) == [ACCEPTED, PENDING]
        assert two in await kept(store)
        assert await store.load_many(["c"]) == []

    async def test_one_turn_takes_a_handoff_and_ends_it(self, store: Store) -> None:
        """Both changes are kept in order, with the result."""
        await offered(store, offer("1"))
        ends = settle("1", PENDING, ACCEPTED), ChangeHandoff("1", ACCEPTED, COMPLETED, "", {"sum": 0.1})
        await commit_each(store, acting(store, started("b"), *ends, consumes=(await kept(store))[0]))
        (handoff,) = await store.handoffs(HandoffQuery())
        assert [change.status for change in handoff.changes] == [PENDING, ACCEPTED, COMPLETED]
        assert handoff.result == {"sum": 0.1}

    async def test_a_handoff_that_was_never_offered_is_not_taken(self, store: Store) -> None:
        """The turn is STALE, and so is an answer."""
        mail = letter(store, "b", OFFER, id="1")
        await posted(store, mail)
        assert await verdicts(store, acting(store, started("b"), settle("1", PENDING, ACCEPTED))) == [STALE]
        assert await verdicts(store, answer(store, "1", mail)) == [STALE]
        assert await kept(store) == [mail]

    async def test_an_answer_consumes_its_mail_and_replies_once(self, store: Store) -> None:
        """A second answer is STALE, and nothing of it is written."""
        await offered(store, offer("1"))
        (mail,) = await kept(store)
        first, second = answer(store, "1", mail), answer(store, "1", mail)
        assert await verdicts(store, first, second) == [COMMITTED, STALE]
        assert await verdicts(store, second) == [STALE]
        assert await kept(store) == [first.reply]
        (handoff,) = await store.handoffs(HandoffQuery())
        assert handoff.changes == (HandoffChange(PENDING, NOON), HandoffChange(REJECTED, LATER, "no"))

    async def test_an_answer_to_what_was_taken_meanwhile_is_stale(self, store: Store) -> None:
        """Turns go before other units, and the waiting mail keeps waiting."""
        await offered(store, offer("1"))
        (mail,) = await kept(store)
        late = letter(store, "b", WITHDRAWN, {"handoff": "1"})
        await posted(store, late)
        assert await verdicts(store, answer(store, "1", late), taking(store, "1", mail)) == [STALE, COMMITTED]
        assert late in await kept(store)
        assert await statuses(store) == [ACCEPTED]

    async def test_an_answer_without_its_mail_is_stale(self, store: Store) -> None:
        """Mail that no longer waits cannot be consumed."""
        await offered(store, offer("1"))
        (mail,) = await kept(store)
        rejection = answer(store, "1", mail)
        assert await verdicts(store, MailEnd(mail.number), rejection) == [COMMITTED, STALE]
        assert await kept(store) == []
        assert await statuses(store) == [PENDING]

    async def test_places_are_bounded_and_a_repeat_takes_no_second(self, store: Store) -> None:
        """ReserveSlot is STALE if all slots of the graph are held, and COMMITTED for a handoff that already has one."""
        await offered(store, *(offer(each) for each in "1234"))
        units = [ReserveSlot(each, "g", 2) for each in "1213"]
        assert await verdicts(store, *units) == [COMMITTED, COMMITTED, COMMITTED, STALE]
        assert await verdicts(store, *units) == [COMMITTED, COMMITTED, COMMITTED, STALE]
        assert await verdicts(store, ReserveSlot("4", "another", 1), ReserveSlot("3", "g", 3)) == [COMMITTED, COMMITTED]
        assert await verdicts(store, ReserveSlot("1", "g", 0)) == [COMMITTED]

    @pytest.mark.parametrize("together", [False, True])
    async def test_what_is_over_gives_its_place_back(self, store: Store, together: bool) -> None:
        """An answer frees the slot, and so does the end of an accepted handoff. Acceptance does not."""
        await offered(store, *(offer(each) for each in "1234"))
        one, two, *_ = await kept(store)
        assert await verdicts(store, ReserveSlot("1", "g", 2), ReserveSlot("2", "g", 2)) == [COMMITTED, COMMITTED]
        take = taking(store, "1", one)
        await commit_each(store, take)
        assert await verdicts(store, ReserveSlot("3", "g", 2)) == [STALE]
        end = acting(store, going_on(take, "ENDED"), settle("1", ACCEPTED, COMPLETED))
        units: Sequence[Unit] = [end, ReserveSlot("3", "g", 2), answer(store, "2", two), ReserveSlot("4", "g", 2)]
        if together:
            assert await verdicts(store, *units) == [COMMITTED] * 4
        else:
            for unit in units:
                assert await verdicts(store, unit) == [COMMITTED]
        assert await verdicts(store, ReserveSlot("1", "g", 9), ReserveSlot("2", "g", 9)) == [STALE, STALE]

    async def test_handoffs_are_found_by_all_that_is_asked(self, store: Store) -> None:
        """Handoffs are found by id, request, source, target and status, in either order, in parts."""
        await offered(store, offer("1"), offer("2", request="1", target="c"), offer("3", target="c"))
        await offered(store, offer("4", source="d", target="a"), agent_id="d")
        await commit_each(store, taking(store, "3", next(each for each in await kept(store) if each.id == "3"), "c"))
        queries: list[tuple[dict[str, Any], str]] = [
            ({}, "1234"),
            ({"id": "2"}, "2"),
            ({"id": "9"}, ""),
            ({"request": "1"}, "12"),
            ({"source": "a"}, "123"),
            ({"target": "c"}, "23"),
            ({"target": "c", "status": PENDING}, "2"),
            ({"status": ACCEPTED}, "3"),
            ({"source": "d", "target": "a"}, "4"),
            ({"limit": 2}, "12"),
            ({"newest_first": True}, "4321"),
            ({"newest_first": True, "source": "a", "status": PENDING, "limit": 1}, "2"),
        ]
        for query, ids in queries:
            assert await found_ids(store, HandoffQuery(**query)) == list(ids), query
        for newest_first, rest in ((False, ["3", "4"]), (True, ["2", "1"])):
            page = await store.handoffs(HandoffQuery(limit=2, newest_first=newest_first))
            after = page[-1].number
            assert await found_ids(store, HandoffQuery(after=after, newest_first=newest_first)) == rest

    async def test_a_snapshot_holds_its_open_handoffs(self, store: Store) -> None:
        """`load` and `snapshot_at` return the handoffs of the version, and none once there are none."""
        asked = OpenHandoff("1", Side.ASKED, "b", Mode.DELEGATE, 2, "0", ("A", "B"), is_accepted=True, invoke=TEXT)
        took = OpenHandoff("2", Side.TOOK, TEXT, Mode.TRANSFER, 1, is_new=True, path=({"agent": "x"},), session="s")
        handoffs_by_version = [(took,), (), (asked, took), (asked, took), (took,), ()]
        turns = [with_open(started("a"), *handoffs_by_version[0])]
        for handoffs in handoffs_by_version[1:]:
            turns.append(with_open(going_on(turns[-1], "TOLD", context={"n": len(turns)}), *handoffs))
        await commit_each(store, *turns)
        for version, handoffs in enumerate(handoffs_by_version, start=1):
            assert (await store.snapshot_at("a", version)).handoffs == handoffs
        assert (await store.load("a")).handoffs == ()

    async def test_what_is_left_of_a_pruned_history_still_holds_them(self, store: Store) -> None:
        """Dropping turns removes nothing that later turns need."""
        took = OpenHandoff("2", Side.TOOK, "b", Mode.TRANSFER, 1)
        turns = [with_open(started("a"), took)]
        for _ in range(4):
            turns.append(with_open(going_on(turns[-1], "TOLD"), took))
        await commit_each(store, *turns)
        await store.prune(Pruning(ids_since=NOON, keep_turns=2))
        for version in (4, 5):
            assert (await store.snapshot_at("a", version)).handoffs == (took,)

    async def test_an_erased_agent_takes_its_handoffs_along(self, store: Store) -> None:
        """The handoffs that it offered and accepted are forgotten. Others stay."""
        await offered(store, offer("1"), offer("2", target="c"))
        await offered(store, offer("3", source="d", target="a"), offer("4", source="d", target="c"), agent_id="d")
        assert await verdicts(store, answer(store, "3", (await kept(store, "a"))[0])) == [COMMITTED]
        assert await store.erase("a")
        assert await found_ids(store, HandoffQuery()) == ["4"]
        assert await verdicts(store, ReserveSlot("1", "g", 9), ReserveSlot("4", "g", 9)) == [STALE, COMMITTED]

    async def test_an_offer_of_an_erased_agent_is_not_taken(self, store: Store) -> None:
        """The offer's mail may still be on its way."""
        await offered(store, offer("1"))
        (mail,) = await kept(store)
        await store.erase("a")
        assert await verdicts(store, taking(store, "1", mail)) == [STALE]

    @pytest.mark.parametrize("whose", ["source", "target"])
    async def test_the_place_of_an_erased_handoff_is_given_back(self, store: Store, whose: str) -> None:
        """The slot is freed at once, unless another agent has accepted the handoff. Then its end frees the slot."""
        await offered(store, offer("1"))
        await offered(store, offer("2", source="d", target="e"), agent_id="d")
        assert await verdicts(store, ReserveSlot("1", "g", 1)) == [COMMITTED]
        take = taking(store, "1", (await kept(store))[0])
        await commit_each(store, take)
        if whose == "target":
            await commit_each(store, with_open(going_on(take, "STOPPED", status=Status.STOPPED)))
        assert await store.erase("b" if whose == "target" else "a")
        if whose == "source":
            assert await verdicts(store, ReserveSlot("2", "g", 1)) == [STALE]
            await commit_each(store, acting(store, going_on(take, "ENDED"), settle("1", ACCEPTED, COMPLETED)))
        assert await verdicts(store, ReserveSlot("2", "g", 1)) == [COMMITTED]

    @pytest.mark.parametrize("together", [False, True])
    async def test_a_place_that_is_taken_and_given_back_at_once_is_free(self, store: Store, together: bool) -> None:
        """An answer may be in the same commit as its reservation."""
        await offered(store, offer("1"), offer("2"))
        units: Sequence[Unit] = [ReserveSlot("1", "g", 1), answer(store, "1", (await kept(store))[0])]
        if together:
            assert await verdicts(store, *units) == [COMMITTED] * 2
        else:
            assert [(await verdicts(store, unit))[0] for unit in units] == [COMMITTED] * 2
        assert await verdicts(store, ReserveSlot("2", "g", 1)) == [COMMITTED]

    async def test_an_agent_to_which_something_is_offered_is_not_erased(self, store: Store) -> None:
        """Nothing of the agent is forgotten, whatever its status, until the offer is answered."""
        start = started("b")
        stopped = going_on(start, "STOPPED", status=Status.STOPPED)
        await commit_each(store, start, stopped)
        await offered(store, offer("1"))
        (mail,) = await kept(store)
        assert not await store.erase("b")
        assert await store.load("b") == stopped.snapshot
        assert (await kept(store), await statuses(store)) == ([mail], [PENDING])
        assert await verdicts(store, answer(store, "1", mail)) == [COMMITTED]
        assert await store.erase("b")
        assert await store.load_many(["b"]) == []

    @pytest.mark.parametrize("whose", ["source", "target"])
    async def test_an_agent_that_has_a_part_in_a_handoff_is_not_erased_before_it_is_ended(
        self, store: Store, whose: str
    ) -> None:
        """Its last turn notifies the other agent."""
        asked_handoff = OpenHandoff("1", Side.ASKED, "b", Mode.TRANSFER, 1)
        source = asking(store, with_open(started("a"), asked_handoff), offer("1"))
        await commit_each(store, source)
        target = taking(store, "1", (await kept(store))[0])
        await commit_each(store, target)
        turn = source if whose == "source" else target
        assert not await store.erase(turn.snapshot.agent_id)
        assert await store.load(turn.snapshot.agent_id) == turn.snapshot
        assert await statuses(store) == [ACCEPTED]
        await commit_each(store, with_open(going_on(turn, "STOPPED", status=Status.STOPPED)))
        assert await store.erase(turn.snapshot.agent_id)

    async def test_a_pruning_leaves_who_has_a_part_in_an_open_handoff(self, store: Store) -> None:
        """An agent that has handed its work on is pruned only after that work is done."""
        source = await offered(store, offer("1"))
        (mail,) = await kept(store)
        took = OpenHandoff("1", Side.TOOK, "a", Mode.TRANSFER, 1)
        take = acting(store, with_open(started("b"), took), settle("1", PENDING, ACCEPTED), consumes=mail)
        await commit_each(store, going_on(source, "ENDED", status=Status.DONE), take)
        pruning = Pruning(ids_since=NOON, ended_before=LATER)
        for dry_run in (True, False):
            assert (await store.prune(pruning, dry_run=dry_run)).erased == ()
        assert await statuses(store) == [ACCEPTED]
        end = acting(store, with_open(going_on(take, "ENDED")), settle("1", ACCEPTED, COMPLETED))
        await commit_each(store, end)
        for dry_run in (True, False):
            assert (await store.prune(pruning, dry_run=dry_run)).erased == ("a",)

    async def test_the_taker_of_an_erased_handoff_can_end_it(self, store: Store) -> None:
        """No record is left to update, but the turn is committed nevertheless."""
        await offered(store, offer("1"))
        take = taking(store, "1", (await kept(store))[0])
        await commit_each(store, take)
        await store.erase("a")
        end = acting(store, going_on(take, "ENDED"), settle("1", ACCEPTED, COMPLETED), Send("c", "TOLD", {}))
        await commit_each(store, end)
        assert await store.load("b") == end.snapshot
        assert await store.handoffs(HandoffQuery()) == []

    async def test_mail_under_the_id_of_an_offer_is_a_repeat(self, store: Store) -> None:
        """An offer waits once, and does not return after it was applied."""
        await offered(store, offer("1"))
        (mail,) = await kept(store)
        again = [Posting(letter(store, "b", OFFER, {"id": "1"}, id="1")) for _ in range(2)]
        assert [str(each) for each in await verdicts(store, again[0])] == ["repeated"]
        await commit_each(store, taking(store, "1", mail))
        assert [str(each) for each in await verdicts(store, again[1])] == ["repeated"]


def offer(handoff_id: str, **more: Any) -> Offer:
    """Build an offer of a handoff from `a` to `b`, created at noon."""
    fields: dict[str, Any] = {
        "id": handoff_id,
        "request": handoff_id,
        "source": "a",
        "source_graph": "f",
        "target": "b",
        "target_graph": "g",
        "entry_point": "DOOR",
        "is_new": False,
        "mode": Mode.TRANSFER,
        "reason": Reason.OTHER,
        "packet": {"id": handoff_id},
        "deadline": None,
        "status": PENDING,
        "changes": (HandoffChange(PENDING, NOON),),
    }
    return Offer(HandoffRecord(**fields | more))


def asking(store: Store, turn: TurnRecord, *effects: Effect) -> TurnRecord:
    """Add offers and other effects to a turn, and number the mail among them."""
    return replace(turn, effects=effects).numbered(partial(store.numbers, 1))


async def offered(store: Store, *offers: Offer, agent_id: str = "a") -> TurnRecord:
    """Commit and return the turn that starts an agent and makes these offers."""
    turn = asking(store, started(agent_id), *offers)
    await commit_each(store, turn)
    return turn


def settle(handoff: str, before: HandoffStatus, after: HandoffStatus) -> ChangeHandoff:
    """Build a change of a handoff."""
    return ChangeHandoff(handoff, before, after, TEXT)


def taking(store: Store, handoff: str, mail: Mail, agent_id: str = "b") -> TurnRecord:
    """Build the turn that starts an agent and accepts the offer in this mail."""
    took = OpenHandoff(handoff, Side.TOOK, "a", Mode.TRANSFER, 1)
    start = with_open(started(agent_id, event_id=mail.id), took)
    turn = replace(start, event=replace(start.event, name=mail.event, payload=mail.payload))
    return acting(
        store,
        turn,
        settle(handoff, PENDING, ACCEPTED),
        Send("a", "handoff.accepted", {"handoff": handoff}),
        consumes=mail,
    )


def with_open(turn: TurnRecord, *handoffs: OpenHandoff) -> TurnRecord:
    """Build the turn that leaves these handoffs to its agent."""
    return replace(turn, snapshot=replace(turn.snapshot, handoffs=handoffs))


def answer(store: Store, handoff: str, mail: Mail) -> RejectionReport:
    """Build the rejection of an offer, with a reply to `a`."""
    reply = letter(store, "a", "handoff.rejected", {"handoff": handoff}, sender="b")
    return RejectionReport(ChangeHandoff(handoff, PENDING, REJECTED, "no"), LATER, mail.number, reply)


async def found_ids(store: Store, query: HandoffQuery) -> list[str]:
    """Return the ids of the handoffs that match a query, in order."""
    return [each.id for each in await store.handoffs(query)]


async def statuses(store: Store) -> list[HandoffStatus]:
    """Return the status of every handoff, in the order offered."""
    return [each.status for each in await store.handoffs(HandoffQuery())]
