"""Tests of a store's promises about invocations and their steps."""

from __future__ import annotations

from dataclasses import replace

from gatechart.ports import Store
from gatechart.testing.errands import (
    REPEATED,
    acting,
    call_of,
    calling,
    events,
    invoked,
    kept,
    letter,
    minutes,
    under_way,
)
from gatechart.testing.records import COMMITTED, STALE, assert_stale, commit_each, going_on, started, verdicts
from gatechart.values.commits import InvokeReport, JournalRecord, MailEnd, StepRecord
from gatechart.values.effects import Cancel, CancelAll, ReplaceInvocation, StartInvoke
from gatechart.values.mail import ActiveInvocation

TEXT = "Grüße, 東京 🚪 \\ \" ' % _ ; -- \r\n\t"


class InvocationContract:
    """The promises about the work that states run outside turns."""

    async def test_an_invocation_begins_with_its_turn(self, store: Store) -> None:
        """`running` returns everything needed to restart it: graph, graph version, and the turn's own context."""
        first = await calling(store, "a", "f", "g", context={"text": TEXT})
        await commit_each(store, going_on(first, "TOLD", context={"text": ""}))
        expected = [ActiveInvocation(call_of(first, invoke), "g", "1", first.snapshot.context_text) for invoke in "fg"]
        assert await under_way(store) == expected

    async def test_an_invocation_goes_on_in_the_version_of_its_agent(self, store: Store) -> None:
        """`running` returns the agent's current graph version, not the version when the invocation started."""
        first = await calling(store, "a", "f")
        after = going_on(first, "TOLD")
        await commit_each(store, replace(after, snapshot=replace(after.snapshot, graph_version="2")))
        assert await under_way(store) == [ActiveInvocation(call_of(first, "f"), "g", "2", first.snapshot.context_text)]

    async def test_the_epochs_of_a_snapshot_are_kept(self, store: Store) -> None:
        """`load` returns the epochs as they were committed, and none if there are none."""
        first = started("a")
        entered = replace(first, snapshot=replace(first.snapshot, entered=(("A", 1), (TEXT, 7))))
        await commit_each(store, entered)
        assert (await store.load("a")).entered == (("A", 1), (TEXT, 7))
        left = going_on(entered, "TOLD")
        await commit_each(store, replace(left, snapshot=replace(left.snapshot, entered=())))
        assert (await store.load("a")).entered == ()

    async def test_invocations_are_read_in_parts(self, store: Store) -> None:
        """`running` continues after the position of the last invocation it returned."""
        turns = [await calling(store, agent_id, "f") for agent_id in "abc"]
        first, last = await store.running(after=0, limit=2), await store.running(after=0, limit=9)
        assert [running.invocation for _, running in first] == [call_of(turn, "f") for turn in turns[:2]]
        assert [running.invocation for _, running in last] == [call_of(turn, "f") for turn in turns]
        [(position, rest)] = await store.running(after=first[-1][0], limit=9)
        assert rest.invocation == call_of(turns[2], "f")
        assert await store.running(after=position, limit=9) == []

    async def test_the_invocations_of_one_agent_are_found(self, store: Store) -> None:
        """`running` returns an agent's own invocations in the order started, and none for an unknown agent."""
        first = await calling(store, "a", "f")
        await calling(store, "b", "g")
        await commit_each(store, acting(store, going_on(first, "TOLD"), StartInvoke("B", "h")))
        invocations = await store.running(agent_id="a", after=0, limit=9)
        assert [running.invocation.invoke for _, running in invocations] == ["f", "h"]
        assert await store.running(agent_id="a", after=invocations[0][0], limit=9) == invocations[1:]
        assert await store.running(agent_id="nobody", after=0, limit=9) == []

    async def test_a_turn_adopts_invocations_with_their_steps(self, store: Store) -> None:
        """A ReplaceInvocation moves an invocation to another state, entry or id with its steps, or ends it."""
        first = await calling(store, "a", "f", "g")
        moved, dropped = call_of(first, "f"), call_of(first, "g")
        steps = [StepRecord(call, "s", "1") for call in (moved, dropped)]
        assert await verdicts(store, *steps) == [COMMITTED] * 2
        new = replace(moved, state="NEW", invoke="better")
        running = ActiveInvocation(new, "g", "2", '{"n":1}')
        turn = going_on(first, "MIGRATED")
        turn = replace(turn, snapshot=replace(turn.snapshot, graph_version="2"))
        await commit_each(
            store, acting(store, turn, ReplaceInvocation(moved, running), ReplaceInvocation(dropped, None))
        )
        assert await under_way(store) == [running]
        assert await store.steps(new) == {"s": "1"}
        assert await store.steps(moved) == await store.steps(dropped) == {}
        assert await verdicts(store, steps[0], replace(steps[0], invocation=new)) == [STALE, REPEATED]

    async def test_a_stale_turn_neither_begins_nor_ends_any(self, store: Store) -> None:
        """No effect of a stale turn is applied."""
        first = await calling(store, "a", "f")
        await commit_each(store, going_on(first, "WON"))
        await assert_stale(
            store, acting(store, going_on(first, "LOST"), CancelAll(), Cancel("A"), StartInvoke("A", "g"))
        )
        assert await invoked(store) == ["f"]

    async def test_leaving_a_state_ends_its_invocations(self, store: Store) -> None:
        """A Cancel ends the invocations of the state's earlier entries, with their steps, in any order of effects."""
        first = await calling(store, "a", "f")
        other = await calling(store, "b", "f")
        inner = acting(store, going_on(first, "TOLD"), StartInvoke("B", "g"))
        await commit_each(store, inner)
        step = StepRecord(call_of(first, "f"), "s", "1")
        assert await verdicts(store, step) == [COMMITTED]
        again = acting(store, going_on(inner, "TOLD"), StartInvoke("A", "f"), Cancel("A"))
        await commit_each(store, again)
        calls = [running.invocation for running in await under_way(store)]
        assert set(calls) == {call_of(other, "f"), call_of(inner, "g", "B"), call_of(again, "f")}
        assert await store.steps(call_of(first, "f")) == {}
        assert await verdicts(store, step) == [STALE]

    async def test_all_invocations_of_an_agent_are_ended_at_once(self, store: Store) -> None:
        """A CancelAll ends the invocations of every state, but none of another agent."""
        first = await calling(store, "a", "f", "g")
        await calling(store, "b", "h")
        await commit_each(store, acting(store, going_on(first, "TOLD"), CancelAll(), StartInvoke("A", "i")))
        assert sorted(await invoked(store)) == ["h", "i"]

    async def test_a_step_is_recorded_once(self, store: Store) -> None:
        """`steps` returns the first result for a name. A second one is REPEATED, also within one commit."""
        turn = await calling(store, "a", "f", "g")
        call = call_of(turn, "f")
        one, again = StepRecord(call, TEXT, '{"n":1}'), StepRecord(call, TEXT, "2")
        assert await verdicts(store, one, again, StepRecord(call, "", "null")) == [COMMITTED, REPEATED, COMMITTED]
        assert await verdicts(store, again) == [REPEATED]
        assert await store.steps(call) == {TEXT: '{"n":1}', "": "null"}
        assert await store.steps(call_of(turn, "g")) == {}
        assert await store.steps(replace(call, agent_id="nobody")) == {}

    async def test_a_step_forgets_those_that_it_replaces(self, store: Store) -> None:
        """A StepRecord's write forgets the names that it replaces, in its invocation only, and frees them."""
        turn = await calling(store, "a", "f", "g")
        call, other = call_of(turn, "f"), call_of(turn, "g")
        assert (
            await verdicts(store, *(StepRecord(invocation, name, "1") for invocation in (call, other) for name in "ab"))
            == [COMMITTED] * 4
        )
        last = StepRecord(call, "c", "2", replaces=("a", "unknown"))
        assert await verdicts(store, last, last) == [COMMITTED, REPEATED]
        assert (await store.steps(call), await store.steps(other)) == ({"b": "1", "c": "2"}, {"a": "1", "b": "1"})
        assert await verdicts(store, StepRecord(call, "a", "3", replaces=("c",))) == [COMMITTED]
        assert await store.steps(call) == {"a": "3", "b": "1"}
        early = StepRecord(call, "d", "4"), StepRecord(call, "e", "5", replaces=("d",))
        assert await verdicts(store, *early) == [COMMITTED, COMMITTED]
        assert await store.steps(call) == {"a": "3", "b": "1", "e": "5"}

    async def test_only_the_same_entry_records_a_step(self, store: Store) -> None:
        """A StepRecord or Report of another agent, state, entry or id is STALE."""
        call = call_of(await calling(store, "a", "f"), "f")
        await calling(store, "b", "g")
        for change in ({"agent_id": "b"}, {"state": "B"}, {"epoch": 2}, {"invoke": "g"}, {"agent_id": "nobody"}):
            other = replace(call, **change)
            report = InvokeReport(other, letter(store, "a"), ends=True)
            assert await verdicts(store, StepRecord(other, "s", "1"), report) == [STALE, STALE]
        assert await store.steps(call) == {}
        assert await kept(store) == []
        assert await invoked(store) == ["f", "g"]

    async def test_progress_is_mail_and_the_invocation_goes_on(self, store: Store) -> None:
        """A Report that does not end the invocation leaves it and its steps unchanged."""
        call = call_of(await calling(store, "a", "f"), "f")
        mail = letter(store, "a", "progress.invoke.f", {"n": 1}, state="A", epoch=1)
        assert (
            await verdicts(store, StepRecord(call, "s", "1"), InvokeReport(call, mail, ends=False)) == [COMMITTED] * 2
        )
        assert await kept(store) == [mail]
        assert await invoked(store) == ["f"]
        assert await store.steps(call) == {"s": "1"}

    async def test_an_invocation_ends_once(self, store: Store) -> None:
        """A Report that ends it removes invocation and steps. Later reports are STALE, also in the same commit."""
        call = call_of(await calling(store, "a", "f", "g"), "f")
        ends = [
            InvokeReport(call, letter(store, "a", event, state="A", epoch=1), ends=True) for event in ("DONE", "AGAIN")
        ]
        step = StepRecord(call, "s", "1")
        assert await verdicts(store, step, *ends, StepRecord(call, "t", "1")) == [COMMITTED, COMMITTED, STALE, STALE]
        assert await verdicts(store, *ends, step) == [STALE] * 3
        assert await events(store) == ["DONE"]
        assert await invoked(store) == ["g"]
        assert await store.steps(call) == {}

    async def test_what_a_turn_ends_in_a_commit_is_over_for_the_rest(self, store: Store) -> None:
        """Turns go before other units: the state was left, so reports of its invocations are STALE."""
        first = await calling(store, "a", "f")
        call, mail = call_of(first, "f"), letter(store, "a", state="A", epoch=1)
        turn = acting(store, going_on(first, "TOLD"), Cancel("A"), minutes(1, state="B"))
        units = StepRecord(call, "s", "1"), InvokeReport(call, mail, ends=True), turn, MailEnd(mail.number)
        assert await verdicts(store, *units) == [STALE, STALE, COMMITTED, STALE]
        assert await kept(store) == list(turn.mail)

    async def test_a_journal_outlives_its_invocations(self, store: Store) -> None:
        """`journal` returns the entries of all the agent's invocations, in the order written, of this journal only."""
        first = await calling(store, "a", "f")
        call = call_of(first, "f")
        early = JournalRecord(call, TEXT, TEXT, '{"n":1}'), JournalRecord(call, TEXT, "a", "2")
        assert await verdicts(store, *early, JournalRecord(call, "other", "a", "3")) == [COMMITTED] * 3
        left = acting(store, going_on(first, "TOLD"), Cancel("A"), StartInvoke("B", "g"))
        await commit_each(store, left)
        late = JournalRecord(call_of(left, "g", "B"), TEXT, "", "null")
        assert await verdicts(store, late, JournalRecord(call, TEXT, "late", "1")) == [COMMITTED, STALE]
        assert list((await store.journal("a", TEXT)).items()) == [(TEXT, '{"n":1}'), ("a", "2"), ("", "null")]
        assert await store.journal("a", "other") == {"a": "3"}
        assert await store.journal("a", "") == await store.journal("b", TEXT) == {}

    async def test_an_operator_writes_an_entry_whatever_runs(self, store: Store) -> None:
        """An operator's JournalRecord depends on no invocation, also for an agent that runs none."""
        await calling(store, "a", "f")
        record = JournalRecord.by_operator("a", "j", "n", "1")
        assert await verdicts(store, record, replace(record, entry="2")) == [COMMITTED, REPEATED]
        assert await store.journal("a", "j") == {"n": "1"}

    async def test_an_entry_is_written_once(self, store: Store) -> None:
        """A second entry of the same name is REPEATED, also within one commit. The name may be used elsewhere."""
        call = call_of(await calling(store, "a", "f"), "f")
        of_other = call_of(await calling(store, "b", "f"), "f")
        one, again = JournalRecord(call, "j", "n", "1"), JournalRecord(call, "j", "n", "2")
        elsewhere = replace(one, journal="k"), replace(one, invocation=of_other)
        assert await verdicts(store, one, again, *elsewhere) == [COMMITTED, REPEATED, COMMITTED, COMMITTED]
        assert await verdicts(store, again, StepRecord(call, "n", "3")) == [REPEATED, COMMITTED]
        assert await store.journal("a", "j") == {"n": "1"}
        assert await store.steps(call) == {"n": "3"}

    async def test_an_entry_replaces_earlier_ones(self, store: Store) -> None:
        """A JournalRecord's write forgets the names that it replaces, in its journal only."""
        call = call_of(await calling(store, "a", "f"), "f")
        entries = [JournalRecord(call, journal, name, "1") for journal in "jk" for name in "abc"]
        assert await verdicts(store, *entries) == [COMMITTED] * 6
        summary = JournalRecord(call, "j", "sum", "2", replaces=("a", "b", "unknown"))
        assert await verdicts(store, summary) == [COMMITTED]
        assert list(await store.journal("a", "j")) == ["c", "sum"]
        assert list(await store.journal("a", "k")) == ["a", "b", "c"]
        repeated = replace(summary, replaces=("c",))
        assert await verdicts(store, repeated) == [REPEATED]
        assert list(await store.journal("a", "j")) == ["c", "sum"]

    async def test_an_entry_is_written_again_in_its_position(self, store: Store) -> None:
        """A JournalRecord that replaces its own name keeps the position; the other names it replaces are forgotten."""
        call = call_of(await calling(store, "a", "f"), "f")
        entries = [JournalRecord(call, journal, name, "1") for journal in "jk" for name in "abc"]
        assert await verdicts(store, *entries) == [COMMITTED] * 6
        edited = JournalRecord(call, "j", "b", "2", replaces=("b", "c"))
        assert await verdicts(store, edited, replace(edited, entry="3", replaces=("b",))) == [COMMITTED] * 2
        assert list((await store.journal("a", "j")).items()) == [("a", "1"), ("b", "3")]
        assert await verdicts(store, replace(edited, name="d", replaces=("d",))) == [
            COMMITTED
        ]  # there was no such entry
        assert list((await store.journal("a", "j")).items()) == [("a", "1"), ("b", "3"), ("d", "2")]
        assert await store.journal("a", "k") == {"a": "1", "b": "1", "c": "1"}

    async def test_what_a_turn_ends_in_a_commit_writes_no_journal(self, store: Store) -> None:
        """A JournalRecord of an invocation that a turn or report of the same commit ends is STALE."""
        first = await calling(store, "a", "f", "g")
        record = JournalRecord(call_of(first, "f"), "j", "n", "1")
        mail = letter(store, "a", state="A", epoch=1)
        assert await verdicts(store, InvokeReport(call_of(first, "f"), mail, ends=True), record) == [COMMITTED, STALE]
        left = acting(store, going_on(first, "TOLD"), CancelAll())
        assert await verdicts(store, replace(record, invocation=call_of(first, "g")), left) == [STALE, COMMITTED]
        assert await store.journal("a", "j") == {}

    async def test_a_record_and_the_mail_that_it_tells_are_accepted_together(self, store: Store) -> None:
        """The mail of a StepRecord or JournalRecord waits once the record is COMMITTED, and is dropped otherwise."""
        first = await calling(store, "a", "f", "g")
        call, over = call_of(first, "f"), replace(call_of(first, "f"), epoch=7)
        mails = [letter(store, "a", event) for event in ("ONE", "TWO", "AGAIN", "OVER")]
        step = StepRecord(call, "s", "1", tells=mails[0])
        entry = JournalRecord(call, "j", "n", "1", tells=mails[1])
        again = [replace(each, tells=mails[2]) for each in (step, entry)]
        late = [replace(each, invocation=over, tells=mails[3]) for each in (step, entry)]
        assert await verdicts(store, step, entry, again[0]) == [COMMITTED, COMMITTED, REPEATED]
        assert await verdicts(store, *again, *late) == [REPEATED, REPEATED, STALE, STALE]
        assert await kept(store) == mails[:2]
        assert (await store.steps(call), await store.journal("a", "j")) == ({"s": "1"}, {"n": "1"})

    async def test_mail_that_a_record_tells_outlives_its_invocation(self, store: Store) -> None:
        """Mail of a StepRecord waits even if a report of the same commit ends the invocation, with its steps."""
        call = call_of(await calling(store, "a", "f"), "f")
        notice, end = letter(store, "a", "TOLD"), letter(store, "a", "DONE", state="A", epoch=1)
        units = StepRecord(call, "s", "1", tells=notice), InvokeReport(call, end, ends=True)
        assert await verdicts(store, *units) == [COMMITTED, COMMITTED]
        assert await events(store) == ["TOLD", "DONE"]
        assert await store.steps(call) == {}

    async def test_an_erased_agent_has_no_journals(self, store: Store) -> None:
        """`erase` forgets the agent's journals; a later agent with the same id starts without any."""
        for agent_id in "ab":
            call = call_of(await calling(store, agent_id, "f"), "f")
            assert await verdicts(store, JournalRecord(call, "j", "n", "1")) == [COMMITTED]
        await store.erase("a")
        assert await store.journal("a", "j") == {}
        await calling(store, "a", "f")
        assert await store.journal("a", "j") == {}
        assert await store.journal("b", "j") == {"n": "1"}

    async def test_an_erased_agent_has_nothing_under_way(self, store: Store) -> None:
        """`erase` removes the agent's invocations, with their steps."""
        turn = await calling(store, "a", "f")
        await calling(store, "b", "g")
        await verdicts(store, StepRecord(call_of(turn, "f"), "s", "1"))
        await store.erase("a")
        assert await invoked(store) == ["g"]
        assert await store.steps(call_of(turn, "f")) == {}
        await calling(store, "a", "f")
        assert await store.steps(call_of(turn, "f")) == {}
