"""Tests of a store's promises about mail."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gatechart.ports import Store
from gatechart.testing.errands import REPEATED, REUSED, acting, events, kept, letter, minutes, posted
from gatechart.testing.records import COMMITTED, NOON, STALE, assert_stale, commit_each, going_on, started, verdicts
from gatechart.values.commits import MailChange, MailEnd, Posting
from gatechart.values.effects import Cancel, CancelAll, CancelTimer, ReplaceMail, Send
from gatechart.values.mail import Backlog, MailStatus
from gatechart.values.queries import MailQuery

TEXT = "Grüße, 東京 🚪 e\u0301 \\ \" ' % _ ; -- \r\n\t \x00 \x7f"
NUMBERS = [0, -1, 2**53 + 1, 2**80, 0.1, -1.5e-300, True, False, None]
LATER = NOON + timedelta(hours=1)
DEAD, REFUSED, WAITING = MailStatus.DEAD, MailStatus.REFUSED, MailStatus.WAITING


class MailContract:
    """The promises about mail: a commit accepts, changes and forgets mail, and mail is found in a defined order."""

    async def test_numbers_go_up(self, store: Store) -> None:
        """`numbers` returns the first of the requested numbers, and never reserves a number twice."""
        first, second, third = store.numbers(1), store.numbers(3), store.numbers(1)
        assert 0 < first < second < third - 2

    async def test_mail_is_found_as_it_was_posted(self, store: Store) -> None:
        """Every part of mail comes back unchanged, also for an agent that has not started."""
        plain = letter(store, "nobody yet")
        full = letter(
            store,
            TEXT,
            TEXT,
            {"text": TEXT, "of": {"": NUMBERS}},
            id=TEXT,
            sender="another",
            due=LATER,
            key="k",
            state="A",
            epoch=7,
            status=WAITING,
            attempts=3,
            retry_at=LATER + timedelta(microseconds=1),
            reason=TEXT,
        )
        await posted(store, plain, full)
        assert await kept(store) == [plain, full]

    async def test_backlogs_count_what_waits_from_outside(self, store: Store) -> None:
        """Unclaimed mail waits for agents that do not exist. Scheduled mail has a due time. No agent sent it."""
        turn = acting(store, started("a"), Send("nobody", "ASKED", {}), minutes(5, key="k"))
        await commit_each(store, turn)
        plain = [letter(store, name) for name in ("nobody", "nobody", "no one", "a")]
        timed = [letter(store, name, due=LATER) for name in ("nobody", "a")]
        dead = letter(store, "nobody", status=DEAD)
        await posted(store, *plain, *timed, dead)
        assert await store.count(Backlog.UNCLAIMED, most=100) == 4
        assert await store.count(Backlog.SCHEDULED, most=100) == 2
        assert await store.count(Backlog.UNCLAIMED, most=3) == 3
        await commit_each(store, started("nobody"))
        assert await store.count(Backlog.UNCLAIMED, most=100) == 1

    async def test_what_a_turn_sends_is_accepted_with_it(self, store: Store) -> None:
        """A committed turn's sends and timers are kept as listed in its record."""
        effects = (
            Send("b", "ASKED", {"n": 1}, "id"),
            minutes(5, state="A"),
            minutes(9, key="k"),
            Send("a", "TO_DO", {}),
        )
        turn = acting(store, started("a"), *effects)
        await commit_each(store, turn)
        assert await kept(store) == list(turn.mail)
        assert [mail.recipient for mail in turn.mail] == ["b", "a", "a", "a"]
        assert [mail.epoch for mail in turn.mail] == [0, 1, 0, 0]

    async def test_nothing_of_a_stale_turn_is_carried_out(self, store: Store) -> None:
        """A stale turn sends nothing, consumes nothing and ends nothing."""
        first = acting(store, started("a"), minutes(5, state="A"), minutes(5, key="k"))
        await commit_each(store, first)
        mail = letter(store, "a")
        await posted(store, mail)
        await commit_each(store, winner := going_on(first, "WON"))
        before = await kept(store)
        assert len(before) == 3
        ending = CancelAll(), Cancel("A"), CancelTimer("k"), Send("b", "LOST", {}), minutes(1)
        await assert_stale(store, acting(store, going_on(first, "LOST"), *ending, consumes=mail))
        assert await kept(store) == before
        assert (await store.load("a")) == winner.snapshot

    async def test_what_a_turn_consumes_is_forgotten(self, store: Store) -> None:
        """Mail that a turn applied is part of the history, which also knows its id."""
        first, mail, other = started("a"), letter(store, "a", id="1"), letter(store, "a", id="2")
        await commit_each(store, first)
        await posted(store, mail, other)
        await commit_each(store, acting(store, going_on(first, "TOLD", event_id="1"), consumes=mail))
        assert await kept(store) == [other]
        assert await store.applied("a", "1") is not None

    async def test_a_turn_whose_mail_is_gone_is_stale(self, store: Store) -> None:
        """Mail that no longer waits cannot be consumed, and nothing of the turn is written."""
        first, mail = started("a"), letter(store, "a")
        await commit_each(store, first)
        await posted(store, mail)
        turn = acting(store, going_on(first, "TOLD"), Send("b", "ASKED", {}), consumes=mail)
        assert await verdicts(store, MailEnd(mail.number)) == [COMMITTED]
        await assert_stale(store, turn)
        assert await kept(store) == []

    async def test_mail_of_one_id_is_accepted_once(self, store: Store) -> None:
        """While the first mail waits, another is REPEATED, or REUSED with another event or payload."""
        first = letter(store, "a", "TOLD", {"n": 1, "m": 2}, id="1")
        again = letter(store, "a", "TOLD", {"m": 2, "n": 1}, id="1", sender="another")
        others = letter(store, "a", "TOLD", {"n": 2}, id="1"), letter(store, "a", "ASKED", {"n": 1, "m": 2}, id="1")
        assert await verdicts(store, Posting(first), Posting(again)) == [COMMITTED, REPEATED]
        assert await verdicts(store, *map(Posting, (again, *others))) == [REPEATED, REUSED, REUSED]
        assert await kept(store) == [first]

    async def test_an_id_is_of_one_recipient(self, store: Store) -> None:
        """The same id may be used for another agent. Mail without an id is never a repeat."""
        letters = letter(store, "a", id="1"), letter(store, "b", id="1"), letter(store, "a"), letter(store, "a")
        await posted(store, *letters)
        assert await kept(store) == list(letters)

    @pytest.mark.parametrize("together", [False, True])
    async def test_mail_of_an_id_that_was_applied_is_not_accepted(self, store: Store, together: bool) -> None:
        """It is REPEATED or REUSED if the id was applied before or in this commit: turns go before other units."""
        first = started("a")
        turn = going_on(first, "TOLD", event_id="1", payload={"n": [1, {"m": 1.5}]})
        same = Posting(letter(store, "a", "TOLD", {"n": [1, {"m": 1.5}]}, id="1"))
        other = Posting(letter(store, "a", "TOLD", {"n": 1}, id="1"))
        empty = Posting(letter(store, "a", "TOLD", id="1"))
        await commit_each(store, first)
        if together:
            assert await verdicts(store, same, other, turn, empty) == [REPEATED, REUSED, COMMITTED, REUSED]
        else:
            await commit_each(store, turn)
            assert await verdicts(store, same, other, empty) == [REPEATED, REUSED, REUSED]
        assert await kept(store) == []

    async def test_an_id_is_free_once_its_mail_is_refused_dead_or_forgotten(self, store: Store) -> None:
        """Only mail that waits or was applied blocks an id, and each unit sees the effects of the units before it."""
        one, two, three = (letter(store, "a", id=mail_id) for mail_id in "123")
        again = [Posting(letter(store, "a", "ASKED", id=each)) for each in "123"]
        await posted(store, one, two, three)
        ends = MailChange(replace(one, status=REFUSED)), MailChange(replace(two, status=DEAD)), MailEnd(three.number)
        assert await verdicts(store, *again, *ends) == [REUSED] * 3 + [COMMITTED] * 3
        assert await verdicts(store, *again) == [COMMITTED] * 3
        assert await events(store) == ["TOLD", "TOLD", "ASKED", "ASKED", "ASKED"]
        four = letter(store, "b", id="4")
        errands = Posting(four), MailEnd(four.number), Posting(fifth := letter(store, "b", "ASKED", id="4"))
        assert await verdicts(store, *errands, MailEnd(four.number)) == [COMMITTED] * 3 + [STALE]
        assert await kept(store, "b") == [fifth]

    async def test_what_a_turn_sends_again_is_left_out(self, store: Store) -> None:
        """A turn that sends mail under an id that waits or was applied is COMMITTED without that mail."""
        a, b, waiting = started("a"), started("b"), letter(store, "b", id="1")
        await commit_each(store, a, b, going_on(b, "TOLD", event_id="0"))
        await posted(store, waiting)
        sends = [Send("b", event, {}, each) for event, each in (("TOLD", "0"), ("TOLD", "1"), *[("ASKED", "2")] * 2)]
        await commit_each(store, acting(store, going_on(a, "TOLD"), *sends, Send("b", "LAST", {})))
        assert [(mail.event, mail.id) for mail in await kept(store)] == [("TOLD", "1"), ("ASKED", "2"), ("LAST", None)]

    async def test_what_a_turn_sends_under_the_id_of_something_else_is_kept_as_refused(self, store: Store) -> None:
        """The reason names the event that waits or was applied under the id, which keeps that id."""
        a, b, waiting = started("a"), started("b"), letter(store, "b", "WAITED", id="1")
        await commit_each(store, a, b, going_on(b, "APPLIED", event_id="0"))
        await posted(store, waiting)
        sends = Send("b", "ASKED", {}, "0"), Send("b", "WAITED", {"n": 1}, "1"), Send("c", "FIRST", {}, "2")
        turn = acting(store, going_on(a, "TOLD"), *sends, Send("c", "SECOND", {}, "2", LATER))
        await commit_each(store, turn)
        zero, one, first, second = turn.mail
        refused = await store.mail(MailQuery(status=REFUSED))
        assert [replace(mail, status=WAITING, reason="") for mail in refused] == [zero, one, second]
        for mail, known in zip(refused, ("APPLIED", "WAITED", "FIRST"), strict=True):
            assert f"knows the id {mail.id!r} from {known!r} with other content" in mail.reason
        assert await store.mail(MailQuery(status=WAITING)) == [waiting, first]
        assert await store.due(after=(NOON, 0), limit=9) == []
        assert await verdicts(store, MailChange(zero), Posting(letter(store, "c", "FIRST", id="2"))) == [
            REUSED,
            REPEATED,
        ]

    async def test_leaving_a_state_ends_its_timers(self, store: Store) -> None:
        """A Cancel ends the waiting mail of that state's earlier entries, but not of this entry or of other states."""
        first = acting(
            store, started("a"), minutes(1, "A1", state="A"), minutes(1, "B1", state="B"), minutes(1, "K", key="A")
        )
        other = acting(store, started("b"), minutes(1, "OTHER", state="A"))
        await store.commit([first, other])
        await posted(store, letter(store, "a", "TOLD"), letter(store, "a", "done.invoke.f", state="A", epoch=1))
        dead = letter(store, "a", "DIED", state="A", epoch=1, status=DEAD)
        await posted(store, dead)
        await commit_each(store, acting(store, going_on(first, "TOLD"), Cancel("A"), minutes(1, "A2", state="A")))
        assert await events(store, "a") == ["B1", "K", "TOLD", "DIED", "A2"]
        assert await events(store, "b") == ["OTHER"]

    async def test_a_timer_is_cancelled_by_its_key(self, store: Store) -> None:
        """A CancelTimer ends the agent's mail with that key. A timer that the same turn sets under the key stays."""
        first = acting(
            store, started("a"), minutes(1, "ONE", key="k"), minutes(1, "TWO", key="l"), minutes(1, "S", state="k")
        )
        other = acting(store, started("b"), minutes(1, "OTHER", key="k"))
        await store.commit([first, other])
        await commit_each(store, acting(store, going_on(first, "TOLD"), CancelTimer("k"), minutes(1, "AGAIN", key="k")))
        assert await events(store) == ["TWO", "S", "OTHER", "AGAIN"]

    async def test_all_timers_are_cancelled_at_once(self, store: Store) -> None:
        """A CancelAll ends mail that has a state or a key, and leaves mail that was sent."""
        first = acting(
            store, started("a"), minutes(1, key="k"), minutes(1, state="A"), Send("a", "SENT", {}, due=LATER)
        )
        other = acting(store, started("b"), minutes(1, "OTHER", key="k"))
        await store.commit([first, other])
        await commit_each(store, acting(store, going_on(first, "TOLD"), CancelAll()))
        assert await events(store) == ["SENT", "OTHER"]

    async def test_a_turn_amends_what_waits(self, store: Store) -> None:
        """A ReplaceMail changes waiting mail or removes it. A ReplaceMail in a stale turn does nothing."""
        first = started("a")
        await commit_each(store, first)
        one, two, three = letter(store, "a", id="1"), letter(store, "a", due=LATER), letter(store, "a")
        await posted(store, one, two, three)
        amended = replace(one, event="ASKED", payload={"n": 1}), replace(two, due=NOON, state="B", epoch=1)
        amends = [ReplaceMail(each.number, each) for each in amended]
        turn = acting(store, going_on(first, "MIGRATED"), *amends, ReplaceMail(three.number, None))
        await assert_stale(store, replace(turn, previous=None))
        assert await kept(store) == [one, two, three]
        await commit_each(store, turn)
        assert await kept(store) == list(amended)

    async def test_mail_is_changed_in_every_part(self, store: Store) -> None:
        """A MailChange replaces the mail under its number. A second one changes the result of the first."""
        mail, other = letter(store, "a", id="1"), letter(store, "a")
        await posted(store, mail, other)
        dead = replace(
            mail, status=DEAD, attempts=5, retry_at=LATER, reason=TEXT, payload={"n": 1}, event="ASKED", due=LATER
        )
        assert await verdicts(store, MailChange(replace(mail, attempts=1)), MailChange(dead)) == [COMMITTED, COMMITTED]
        assert await kept(store) == [dead, other]
        assert await verdicts(store, MailChange(mail)) == [COMMITTED]
        assert await kept(store) == [mail, other]

    async def test_mail_is_raised_with_a_change_once(self, store: Store) -> None:
        """A MailChange accepts the mail that it raises with its change, and only if the changed mail waits."""
        mail, other = letter(store, "a", state="A", epoch=1), letter(store, "b")
        await posted(store, mail, other)
        dead = replace(mail, status=DEAD, attempts=3, reason=TEXT)
        raised = letter(store, "a", "error.mail", {"number": mail.number}, sender="a", state="A", epoch=1)
        again = replace(raised, number=store.numbers(1))
        units = MailChange(dead, raised), MailChange(dead, again), Posting(letter(store, "a"))
        assert await verdicts(store, *units) == [COMMITTED, STALE, COMMITTED]
        assert await kept(store) == [dead, other, raised, units[2].mail]
        assert await verdicts(store, MailChange(dead, again)) == [STALE]
        assert await verdicts(store, MailEnd(mail.number), MailChange(dead, again)) == [COMMITTED, STALE]
        assert await kept(store) == [other, raised, units[2].mail]
        assert [each.number for each in await store.waiting(after=0, limit=10)] == [
            accepted.number for accepted in (other, raised, units[2].mail)
        ]

    async def test_dead_mail_does_not_come_back_beside_its_repeat(self, store: Store) -> None:
        """A MailChange that makes mail wait again is REPEATED or REUSED, as a Posting would be."""
        mail = letter(store, "a", id="1")
        await posted(store, dead := replace(mail, status=DEAD))
        await posted(store, again := letter(store, "a", id="1"))
        assert await verdicts(store, MailChange(mail), MailChange(replace(mail, event="ASKED"))) == [REPEATED, REUSED]
        assert await kept(store) == [dead, again]

    async def test_mail_that_is_gone_is_not_changed(self, store: Store) -> None:
        """A MailChange or MailEnd is STALE if its mail does not exist, and creates none."""
        first, mail = started("a"), letter(store, "a")
        await commit_each(store, first)
        await posted(store, mail)
        turn = acting(store, going_on(first, "TOLD"), consumes=mail)
        units = MailChange(replace(mail, attempts=1)), MailEnd(mail.number), turn, MailEnd(store.numbers(1))
        assert await verdicts(store, *units) == [STALE, STALE, COMMITTED, STALE]
        assert await kept(store) == []

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ({}, "012345"),
            ({"recipient": "a"}, "024"),
            ({"recipient": "nobody"}, ""),
            ({"status": DEAD}, "23"),
            ({"status": REFUSED}, "4"),
            ({"recipient": "a", "status": WAITING}, "0"),
            ({"limit": 2}, "01"),
            ({"after": 1, "limit": 2}, "23"),
            ({"recipient": "b", "after": 1, "limit": 1}, "3"),
            ({"after": 5}, ""),
            ({"limit": 0}, ""),
        ],
    )
    async def test_mail_is_found_in_the_order_accepted(self, store: Store, query: dict[str, Any], found: str) -> None:
        """`mail` returns the mail that matches every part of the query."""
        letters = [letter(store, "ab"[n % 2], status=[WAITING, DEAD, REFUSED][(n // 2)]) for n in (0, 1, 2, 3)]
        letters += [letter(store, "a", status=REFUSED), letter(store, "b", due=LATER)]
        await posted(store, *letters)
        if "after" in query:
            query = {**query, "after": letters[query["after"]].number}
        assert await store.mail(MailQuery(**query)) == [letters[int(n)] for n in found]

    async def test_mail_to_agents_of_the_framework_is_left_out_on_request(self, store: Store) -> None:
        """`mail` leaves out mail to agents with ids of the framework if `framework` is False."""
        framework_mail = [letter(store, name) for name in ("schedule:nightly", "alerts:ops", "watchdog", "directory:d")]
        others = [letter(store, name) for name in ("schedule", "watchdogs", "Alerts:ops", "заказ-17")]
        await posted(store, *framework_mail, *others)
        assert await store.mail(MailQuery()) == [*framework_mail, *others]
        assert await store.mail(MailQuery(framework=False)) == others
        assert await store.mail(MailQuery(framework=False, limit=2)) == others[:2]
        assert await store.mail(MailQuery(framework_mail[0].recipient, framework=True)) == framework_mail[:1]

    async def test_waiting_mail_is_read_in_parts(self, store: Store) -> None:
        """`waiting` returns mail that waits without a due time, also mail to be retried, page by page."""
        letters = [
            letter(store, "a"),
            tried := letter(store, "b", attempts=1, retry_at=LATER),
            letter(store, "a", due=NOON),
            letter(store, "a", status=DEAD),
            letter(store, "c"),
        ]
        await posted(store, *letters)
        expected = [letters[0], letters[1], letters[4]]
        assert await store.waiting(after=0, limit=9) == expected
        assert await store.waiting(after=0, limit=2) == expected[:2]
        assert await store.waiting(after=tried.number, limit=2) == expected[2:]
        assert await store.waiting(after=letters[4].number, limit=2) == []

    async def test_timed_mail_is_read_in_the_order_due(self, store: Store) -> None:
        """`due` returns waiting mail with a due time, ordered by due time and number, after the given position."""
        dues = [LATER, NOON, NOON + timedelta(microseconds=1), NOON, LATER]
        letters = [letter(store, "a", due=due) for due in dues]
        await posted(store, *letters, letter(store, "a"), letter(store, "a", due=NOON, status=REFUSED))
        expected = [letters[n] for n in (1, 3, 2, 0, 4)]
        assert await store.due(after=(NOON, 0), limit=9) == expected
        assert await store.due(after=(NOON - timedelta(days=9000), 10**9), limit=9) == expected
        for position, mail in enumerate(expected, 1):
            assert mail.due is not None
            assert await store.due(after=(mail.due, mail.number), limit=2) == expected[position : position + 2]

    async def test_an_erased_agent_has_no_mail(self, store: Store) -> None:
        """`erase` removes the mail for the agent, waiting or ended, but not the mail that it sent."""
        await commit_each(store, acting(store, started("a"), Send("b", "SENT", {}), minutes(1)), started("b"))
        await posted(store, letter(store, "a", id="1"), letter(store, "a", status=DEAD))
        await store.erase("a")
        assert await events(store) == ["SENT"]
        await posted(store, again := letter(store, "a", "ASKED", id="1"))
        assert await kept(store, "a") == [again]
