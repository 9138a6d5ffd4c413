"""Signals within the turn: what is written into the trail, when they fire, and what becomes of the chart's answer."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from gatechart.graph.definition import ANY, State, Transition
from gatechart.graph.graph import StateTransitionGraph
from gatechart.graph.signals import Signal, Signals
from gatechart.signals import Repeats, UserAsked
from gatechart.turn.mail import Void, take_mail
from gatechart.turn.trail_mail import DUE
from gatechart.turn.turn_context import Turn
from gatechart.values.agents import Event, Snapshot
from gatechart.values.commits import TurnRecord
from gatechart.values.effects import Timer
from gatechart.values.fired_signals import Reaction
from gatechart.values.handoffs import Reason
from gatechart.values.trail import NO_TRAIL, Called, Moved, Progressed, Said, entries_in
from tests.noticing import Failures, Moves, Watched, call_payload, go_round, see
from tests.support import NOW, applied, boom, context_of, started

FIRES = "signal.moves"


async def went(graph: StateTransitionGraph[Any], *events: str, at: str = "HERE") -> TurnRecord:
    """The record of the last of these events."""
    record = await started(graph, at)
    for event in events:
        record = await applied(graph, record.snapshot, event)
    return record


async def told(graph: StateTransitionGraph[Any], at: Snapshot, event: str, payload: Any = None) -> TurnRecord:
    record = await take_mail(graph, at, Event(event, payload or {}, NOW))
    assert isinstance(record, TurnRecord), record
    return record


def trail(record: TurnRecord) -> tuple[Any, ...]:
    return entries_in(record.snapshot.trail.text)


# The trail.


async def test_an_agent_without_signals_has_no_trail() -> None:
    record = await went(go_round(), "GO")
    assert record.snapshot.trail is NO_TRAIL
    assert record.fired is None


async def test_each_move_is_an_entry_and_by_other_payloads_another_move() -> None:
    graph = go_round(signals=Signals(Repeats(), ignore="at"))
    begun = await started(graph)
    here = [(await applied(graph, begun.snapshot, "GO", {"order": 7, "at": at})).snapshot.trail for at in (1, 2)]
    other = (await applied(graph, begun.snapshot, "GO", {"order": 8})).snapshot.trail
    assert entries_in(here[0].text) == (Moved(("HERE",), "agent.started.HERE"), Moved(("THERE",), "GO"))
    assert here[0].text == here[1].text == other.text
    assert here[0].slots == here[1].slots != other.slots


async def test_what_moves_nothing_leaves_no_entry() -> None:
    record = await went(go_round(signals=Moves()), "STAY")
    assert len(trail(record)) == 1


async def test_to_be_led_back_by_somebody_else_is_harmless_and_by_oneself_it_is_a_move() -> None:
    graph = go_round(Transition("HERE", "*", "HERE"), signals=Moves())
    begun = (await started(graph)).snapshot
    asked = await take_mail(graph, begun, Event("AGAIN", {}, NOW))
    by_other = await take_mail(graph, begun, Event("AGAIN", {}, NOW, sender="agent-2"))
    by_timer = await take_mail(graph, begun, Event("after.5s.HERE", {}, NOW, sender="agent-1"))
    assert [len(trail(each)) for each in (asked, by_other, by_timer)] == [1, 1, 2]  # type: ignore[arg-type]


async def test_a_trail_is_cut_once_it_is_longer_than_its_bytes() -> None:
    graph = go_round(signals=Signals(Moves(1000), states=10, window=5, most_bytes=600))
    record = await went(graph, *["GO"] * 100)
    assert len(record.snapshot.trail.text.encode()) <= 600
    assert 10 <= len(trail(record)) <= 60
    assert trail(record)[-1] == Moved(("HERE",), "GO")


# Signals.


async def test_a_signal_fires_in_the_turn_in_which_its_symptom_comes_to_hold() -> None:
    graph = go_round(Transition(ANY, FIRES, "REST", actions=see), signals=Signal(Moves(4), "moves"))
    record = await went(graph, "GO", "GO")
    assert record.fired is None
    record = await applied(graph, record.snapshot, "GO")
    assert record.snapshot.configuration == ("REST",)
    assert record.taken == ("HERE --GO--> THERE", "* --signal.moves--> REST")
    assert record.fired is not None
    assert (record.fired.signal, record.fired.reason, record.fired.reaction) == (
        "moves",
        Reason.LOOP_DETECTED,
        Reaction.TAKEN,
    )
    payload = {
        "signal": "moves",
        "reason": "loop detected",
        "evidence": [{"detector": "Moves", "moves": 4, "trail": 4}],
        "others": [],
    }
    assert context_of(graph, record).seen == [payload]
    assert trail(record)[-1] == Moved(("REST",), FIRES)


async def test_a_signal_fires_once_and_again_only_after_its_symptom_has_ceased() -> None:
    graph = go_round(signals=Signal(Moves(3), "moves"))
    record = await started(graph)
    fired = []
    for event in ("GO", "GO", "GO", "REST", "GO", "GO", "GO", "GO"):
        record = await applied(graph, record.snapshot, event)
        fired.append(record.fired is not None)
    assert fired == [False, True, False, False, False, False, True, False]


async def test_a_signal_that_nothing_takes_is_noted_with_its_evidence() -> None:
    record = await went(go_round(signals=Moves(2)), "GO")
    assert record.fired is not None
    assert record.fired.reaction is Reaction.UNTAKEN
    assert record.fired.evidence[0]["moves"] == 2
    assert record.snapshot.configuration == ("THERE",)


async def test_a_wildcard_does_not_take_a_signal() -> None:
    record = await went(go_round(Transition(ANY, "*", "REST"), signals=Moves(2)), "GO")
    assert record.fired is not None
    assert record.fired.reaction is Reaction.UNTAKEN


def spoil(context: Watched, event: Event, turn: Turn) -> None:
    context.done = 99
    turn.send("agent-2", "SPOILT")
    turn.raise_event("SPOILT")


def misfit(context: Watched, event: Event) -> None:
    context.done = "much"  # type: ignore[assignment]


@pytest.mark.parametrize("actions", [[spoil, boom], [misfit]], ids=["raises", "leaves an invalid context"])
async def test_an_answer_that_fails_is_undone_alone(actions: Any) -> None:
    graph = go_round(
        Transition("HERE", "COUNT", "THERE", actions=lambda context, event: setattr(context, "done", 7)),
        Transition(ANY, FIRES, "REST", actions=actions),
        signals=Signal(Moves(2), "moves"),
    )
    record = await went(graph, "COUNT")
    assert record.snapshot.configuration == ("THERE",)
    assert context_of(graph, record).done == 7
    assert record.effects == ()
    assert record.taken == ("HERE --COUNT--> THERE",)
    assert record.fired is not None
    assert record.fired.reaction is Reaction.UNDONE
    assert record.fired.problem.startswith(("ActionFailedError: ", "ContextInvalidError: "))
    again = await applied(graph, record.snapshot, "GO")
    assert again.fired is None


def run_on(context: Watched, event: Event, turn: Turn) -> None:
    turn.raise_event("RUN_ON")


@pytest.mark.parametrize("actions", [boom, misfit, run_on], ids=["raises", "leaves an invalid context", "runs on"])
async def test_what_is_kept_of_an_answer_that_fails_says_that_no_more_than_the_answer_is_undone(actions: Any) -> None:
    graph = go_round(
        Transition(ANY, FIRES, "REST", actions=actions),
        Transition("REST", "RUN_ON", "REST", actions=run_on),
        signals=Signal(Moves(2), "moves"),
    )
    fired = (await went(graph, "GO")).fired
    assert fired is not None
    assert "; the answer is undone. " in fired.problem
    assert "turn" not in fired.problem


async def test_an_answer_can_handle_its_own_errors() -> None:
    graph = go_round(
        Transition(ANY, FIRES, "REST", actions=boom),
        Transition("REST", "error.execution", "HERE"),
        signals=Signal(Moves(2), "moves"),
    )
    record = await went(graph, "GO")
    assert record.fired is not None
    assert (record.fired.reaction, record.snapshot.configuration) == (Reaction.TAKEN, ("HERE",))


async def test_several_signals_are_one_event_in_the_order_of_their_reasons() -> None:
    signals = [Signal(Moves(2), "loop"), Signal(Moves(2, "X"), "slow", reason="complexity exceeded")]
    signals.append(Signal(Moves(2, "Y"), "asked", reason="user escalation"))
    graph = go_round(Transition(ANY, "signal.asked", "REST", actions=see), signals=signals)
    record = await went(graph, "GO")
    assert record.fired is not None
    assert record.fired.signal == "asked"
    assert [each["signal"] for each in record.fired.others] == ["slow", "loop"]
    assert context_of(graph, record).seen == [record.fired.payload]
    assert [each["evidence"][0]["moves"] for each in record.fired.others] == [2, 2]


async def test_signals_are_asked_once_a_turn() -> None:
    graph = go_round(Transition(ANY, FIRES, "HERE"), signals=Signal(Moves(2), "moves"))
    record = await went(graph, "GO")
    assert record.taken.count("* --signal.moves--> HERE") == 1


async def test_an_entry_point_has_its_own_thresholds() -> None:
    graph = go_round(signals=Signal(Moves(2), "moves"))
    assert (await went(graph, "GO")).fired is not None
    record = await went(graph, *["GO"] * 7, at="THERE")
    assert record.fired is None
    assert (await applied(graph, record.snapshot, "GO")).fired is not None


async def test_joined_symptoms_fire_together() -> None:
    both = Moves(2) & Failures(1)
    graph = go_round(signals=Signal(both, "both"))
    record = await went(graph, "GO")
    assert record.fired is None
    record = await told(graph, record.snapshot, "trail.call", call_payload(ok=False))
    assert record.fired is not None
    assert [each["detector"] for each in record.fired.evidence] == ["Moves", "Failures"]


async def test_a_wish_that_is_said_again_fires_again_and_one_that_lasts_does_not() -> None:
    graph = go_round(signals=[Signal(UserAsked(), "asked"), Signal(UserAsked() & Moves(4), "still")])
    record = await started(graph)
    fired = []
    for text in ("hello", "a real person please", "", "I said a real person", "no, not that order", "转人工"):
        record = await applied(graph, record.snapshot, "GO", {"text": text} if text else None)
        fired.append("" if record.fired is None else record.fired.signal)
    assert fired == ["", "asked", "still", "asked", "", "asked"]


async def test_slots_of_detectors_that_the_graph_still_has_are_kept_when_it_gets_others() -> None:
    before = await went(go_round(signals=[Signal(Moves(9), "some"), Moves(3)]), "GO")
    graph = go_round(signals=[Signal(Moves(50), "some"), Moves(3)])
    record = await applied(graph, before.snapshot, "GO")
    assert record.fired is not None
    assert record.snapshot.trail.slots == ("-1", "+3")


class Broken(Moves):
    def after(self, slot: str, look: Any) -> str:
        raise LookupError("no luck")


async def test_a_detector_that_raises_breaks_no_turn(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "gatechart")  # whatever a command left it at in the same process
    record = await went(go_round(signals=[Broken(), Signal(Moves(2), "moves")]), "GO")
    assert record.fired is not None
    assert record.fired.signal == "moves"
    assert "a detector raised" in caplog.text


@dataclass(frozen=True)
class Returning(Moves):
    returns: Any = None

    def after(self, slot: str, look: Any) -> Any:
        return self.returns


@pytest.mark.parametrize("returned", [None, True, 3, b"+"])
async def test_a_detector_that_returns_no_text_keeps_its_slot(returned: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "gatechart")
    record = await went(go_round(signals=Returning(returns=returned)), "GO")
    assert record.snapshot.trail.slots == ("",)
    assert "a detector raised" in caplog.text


# Mail for the trail.


async def test_mail_for_the_trail_changes_nothing_else() -> None:
    graph = go_round(Transition(ANY, "*", "REST"), signals=Failures(2))
    begun = (await started(graph)).snapshot
    record = await told(graph, begun, "trail.call", call_payload())
    assert record.taken == ()
    assert record.snapshot.configuration == begun.configuration
    assert record.snapshot.context_text == begun.context_text
    assert trail(record)[-1] == Called("search", "", ok=True)


async def test_a_call_that_fails_fires_a_signal_in_the_turn_of_its_mail() -> None:
    graph = go_round(Transition(ANY, "signal.failures", "REST"), signals=Failures(2))
    record = await started(graph)
    for _ in range(2):
        record = await told(graph, record.snapshot, "trail.call", call_payload(ok=False))
    assert record.fired is not None
    assert record.snapshot.configuration == ("REST",)


async def test_mail_for_the_trail_of_an_agent_without_signals_or_that_has_ended_is_dropped() -> None:
    begun = (await started(go_round())).snapshot
    assert isinstance(await take_mail(go_round(), begun, Event("trail.call", call_payload(), NOW)), Void)
    graph = go_round(
        Transition("HERE", "END", "END"),
        signals=Failures(2),
        states=["HERE", "THERE", "REST", State("END", final=True)],
    )
    ended = await went(graph, "END")
    assert isinstance(await take_mail(graph, ended.snapshot, Event("trail.call", call_payload(), NOW)), Void)


async def test_what_is_told_after_the_state_was_left_is_written_into_the_trail_alone() -> None:
    answer = Transition(ANY, "signal.failures", "REST")
    graph = go_round(answer, signals=Failures(1), states=["HERE", State("THERE", invoke=work), "REST"])
    working = (await went(graph, "GO")).snapshot
    ((state, epoch),) = working.entered
    payload = {**call_payload(ok=False), "state": state, "epoch": epoch}
    in_time = await told(graph, working, "trail.call", payload)
    assert (in_time.snapshot.configuration, in_time.fired is None) == (("REST",), False)
    left = (await applied(graph, working, "GO")).snapshot
    for at in (left, (await applied(graph, left, "GO")).snapshot):  # and after it was entered again
        late = await told(graph, at, "trail.call", payload)
        assert trail(late)[-1] == Called("search", "", ok=False)
        assert (late.fired, late.snapshot.configuration) == (None, at.configuration)
        assert late.snapshot.trail.slots == at.trail.slots


# Progress.


class Going(Moves):
    """Remembers the progress that it was shown: + for told, * for any, . for none."""

    def after(self, slot: str, look: Any) -> str:
        return f"{slot or '-'}{'+' if look.is_told else '*' if look.progress else '.'}"


async def test_where_the_chart_says_nothing_the_first_entry_to_a_state_is_progress() -> None:
    graph = go_round(signals=Signals(Going(), window=4))
    record = await went(graph, "GO", "GO", "REST", "GO")
    assert record.snapshot.trail.slots == ("-**.*.",)


async def test_a_state_declared_as_progress_is_and_others_are_not() -> None:
    graph = go_round(signals=Going(), states=["HERE", "THERE", State("REST", progress=True)])
    record = await went(graph, "GO", "REST")
    assert record.snapshot.trail.slots == ("-..+",)
    assert trail(record)[-1] == Progressed("REST")


async def test_an_action_can_say_that_work_went_forward() -> None:
    def tell(context: Watched, event: Event, turn: Turn) -> None:
        turn.progressed("order 7")

    graph = go_round(Transition("HERE", "TELL", "THERE", actions=tell), signals=Going())
    record = await went(graph, "TELL")
    assert record.snapshot.trail.slots == ("-*+",)
    assert trail(record)[-1] == Progressed("order 7")


async def test_a_measure_that_grows_beyond_its_best_is_progress() -> None:
    def set_done(context: Watched, event: Event) -> None:
        context.done = event.payload["done"]

    graph = go_round(
        Transition("HERE", "COUNT", "HERE", actions=set_done, internal=True), signals=Signals(Going(), measure="done")
    )
    snapshot = (await started(graph)).snapshot
    told = []
    for done in (1, 0, 1, 2):
        snapshot = (await applied(graph, snapshot, "COUNT", {"done": done})).snapshot
        told.append(Progressed("done") in entries_in(snapshot.trail.text)[len(told) :])
    assert snapshot.trail.best == 2
    assert [each for each in entries_in(snapshot.trail.text) if isinstance(each, Progressed)] == [
        Progressed("done")
    ] * 2


async def test_what_an_action_says_of_progress_is_kept_within_bounds() -> None:
    def tell(context: Watched, event: Event, turn: Turn) -> None:
        context.task = "转" * 100_000
        turn.progressed("人" * 10_000)

    graph = go_round(Transition("HERE", "TELL", "THERE", actions=tell), signals=Signals(Going(), task="task"))
    kept = (await went(graph, "TELL")).snapshot.trail
    assert len(kept.text.encode()) < 2000
    assert len(kept.task) == 300
    assert entries_in(kept.text)[-1] == Progressed("人" * 500)


async def test_a_task_that_is_done_is_progress_once() -> None:
    def set_task(context: Watched, event: Event) -> None:
        context.task = event.payload["task"]

    graph = go_round(Transition("HERE", "TAKE", actions=set_task), signals=Signals(Moves(), task="task"))
    snapshot = (await started(graph)).snapshot
    for task in ("one", "two", "one", "two"):
        snapshot = (await applied(graph, snapshot, "TAKE", {"task": task})).snapshot
    assert entries_in(snapshot.trail.text)[1:] == (Progressed("one"), Progressed("two"))


# What people say.


class Hears(Moves):
    sees = 4  # SAID

    def after(self, slot: str, look: Any) -> str:
        return slot + "".join(f"-{each.text}" for each in look.entries if isinstance(each, Said))


async def test_what_people_say_is_an_entry_if_a_detector_listens() -> None:
    begun = (await started(go_round(signals=Hears()))).snapshot
    for signals, heard in (
        (Hears(), ["hello"]),
        (Signals(Hears(), said={"GO": "words"}), ["bye"]),
        (Signals(Hears(), said={"STAY": "words"}), []),
        (Moves(), []),
    ):
        record = await applied(go_round(signals=signals), begun, "GO", {"message": "hello", "words": "bye"})
        assert [each.text for each in trail(record) if isinstance(each, Said)] == heard


# Time.


class Slow(Moves):
    """Holds after ten seconds of work without end. Its slot has when that began, and how long it lasted."""

    sees = 0

    @property
    def due_s(self) -> float:
        return 10

    def after(self, slot: str, look: Any) -> str:
        if not look.is_working:
            return ""
        now = look.now.timestamp()
        since = float(slot[1:].split(maxsplit=1)[0]) if look.was_working and slot else now
        return f"{'+' if now - since >= 10 else '-'}{since} {now - since}"

    def remaining_s(self, slot: str) -> float:
        return 10 - float(slot.split()[1])

    def evidence(self, slot: str, look: Any) -> dict[str, Any]:
        return {"seconds": float(slot.split()[1])}


async def work(context: Any, work: Any) -> None: ...


def timed() -> StateTransitionGraph[Watched]:
    return go_round(
        Transition("THERE", "done.invoke.work", "REST"),
        Transition("THERE", "signal.slow", "REST"),
        states=["HERE", State("THERE", invoke=work), "REST"],
        signals=Signal(Slow(), "slow"),
    )


def timers(record: TurnRecord) -> list[Timer]:
    return [each for each in record.effects if isinstance(each, Timer)]


async def after_s(graph: StateTransitionGraph[Any], at: Snapshot, event: str, seconds: float) -> TurnRecord:
    record = await take_mail(graph, at, Event(event, {}, NOW + timedelta(seconds=seconds)))
    assert isinstance(record, TurnRecord)
    return record


async def test_a_timer_is_set_when_work_begins_and_none_is_pending() -> None:
    graph = timed()
    record = await went(graph, "GO")
    assert timers(record) == [Timer(DUE, NOW + timedelta(seconds=10), {}, key=DUE)]
    record = await after_s(graph, record.snapshot, "GO", 1)
    assert (timers(record), record.snapshot.trail.working) == ([], ())
    record = await after_s(graph, record.snapshot, "GO", 2)
    assert (timers(record), record.snapshot.trail.working) == ([], ("work",))


async def test_a_timer_that_fires_too_early_is_set_again_for_the_rest() -> None:
    graph = timed()
    record = await went(graph, "GO")
    for event, seconds in (("GO", 1), ("GO", 4)):
        record = await after_s(graph, record.snapshot, event, seconds)
    record = await after_s(graph, record.snapshot, DUE, 10)
    assert timers(record) == [Timer(DUE, NOW + timedelta(seconds=14), {}, key=DUE)]
    record = await after_s(graph, record.snapshot, DUE, 14)
    assert record.fired is not None
    assert record.snapshot.configuration == ("REST",)


async def test_a_timer_that_fires_while_no_invoke_is_under_way_is_not_set_again() -> None:
    graph = timed()
    record = await went(graph, "GO", "GO")
    record = await after_s(graph, record.snapshot, DUE, 10)
    assert timers(record) == []
    assert not record.snapshot.trail.is_timed


async def test_an_invoke_that_has_ended_in_its_state_is_no_longer_under_way() -> None:
    graph = go_round(
        Transition("THERE", "done.invoke.work", actions=see),
        states=["HERE", State("THERE", invoke=work), "REST"],
        signals=Signal(Slow(), "slow"),
    )
    record = await went(graph, "GO")
    assert record.snapshot.trail.working == ("work",)
    record = await after_s(graph, record.snapshot, "done.invoke.work", 1)
    assert record.snapshot.trail.working == ()
