"""Standing still."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gatechart.signals import NoProgress, VisitsOver
from gatechart.values.detectors import EVERY_TURN, WORKED
from tests.signals.looks import Player, evidence, found, moves, notes


def works(player: Player, *at_s: float, **more: object) -> list[object]:
    """Turns of an agent that works all the time, and whose invokes end one by one."""
    at_work = {"event": "done.invoke.think", "was_working": True, "is_working": True}
    return [player.look(at_s=each, **{**at_work, **more}) for each in at_s]


def test_three_turns_of_work_without_progress_are_found() -> None:
    looks = works(Player(), 1, 2, 3)
    assert found(NoProgress(turns=3), looks) == [False, False, True]
    assert evidence(NoProgress(turns=3), looks) == {"turns": 3, "seconds": 2.0}


def test_progress_begins_anew() -> None:
    player = Player()
    looks = [*works(player, 1, 2), *works(player, 3, progress=True), *works(player, 4, 5, 6, 7, progress=False)]
    assert found(NoProgress(turns=3), looks) == [False] * 5 + [True, True]


@pytest.mark.parametrize(
    "event", ["CUSTOMER_ASKED", "after.WORKING", "handoff.rejected", "progress.invoke", "trail.call"]
)
def test_what_comes_from_others_while_an_invoke_is_under_way_is_no_turn_of_work(event: str) -> None:
    assert not any(found(NoProgress(turns=1), works(Player(), 1, 2, 3, event=event)))


def test_what_comes_from_others_while_an_invoke_is_under_way_does_not_stop_its_time() -> None:
    looks = works(Player(), 0, 6, 12, 15, event="CUSTOMER_ASKED", payload={"text": "well?"})
    assert found(NoProgress(seconds=15), looks) == [False, False, False, True]


def test_waiting_is_not_work() -> None:
    player = Player()
    assert not any(found(NoProgress(1, 1), [player.look(at_s=at * 100) for at in range(9)]))


def test_while_it_remembers_nothing_only_work_wakes_it() -> None:
    assert NoProgress(turns=3).wakes == WORKED
    assert NoProgress(turns=3, measure="found").wakes == EVERY_TURN


def test_seconds_of_work_add_up_over_waits() -> None:
    player = Player()
    looks = [
        player.look(at_s=0, is_working=True),
        player.look(at_s=10, event="done.invoke.think", was_working=True),
        player.look(at_s=900, event="RESUMED", is_working=True),
        player.look(at_s=904, event="trail.due", was_working=True, is_working=True),
        player.look(at_s=905, event="trail.due", was_working=True, is_working=True),
    ]
    assert found(NoProgress(seconds=15), looks) == [False, False, False, False, True]
    assert evidence(NoProgress(seconds=15), looks) == {"turns": 1, "seconds": 15.0}


def test_what_somebody_brings_while_the_agent_waits_begins_anew() -> None:
    player = Player()
    asked = {"payload": {"city": "San Jose"}, "is_working": True}
    looks = [each for _ in range(9) for each in (player.look(**asked), player.look(event="done", was_working=True))]
    assert not any(found(NoProgress(turns=2), looks))


def test_it_says_how_much_work_is_left_until_it_must_be_asked_again() -> None:
    detector, player = NoProgress(seconds=15), Player()
    slot = detector.after("", player.look(at_s=0, is_working=True))
    assert (detector.due_s, detector.remaining_s(""), detector.remaining_s(slot)) == (15, 15, 15)
    slot = detector.after(slot, player.look(at_s=6, was_working=True, is_working=True))
    assert detector.remaining_s(slot) == 9
    slot = detector.after(slot, player.look(at_s=16, was_working=True, is_working=True))
    assert detector.remaining_s(slot) is None
    assert NoProgress(turns=1).remaining_s("") is None


def test_with_a_measure_only_its_growth_is_progress() -> None:
    context = SimpleNamespace(solved=1)
    player = Player(context)
    detector = NoProgress(turns=2, measure="solved")
    looks = works(player, 1, 2, progress=True)
    assert found(detector, looks) == [False, False]
    slot = detector.after(detector.after(detector.after("", looks[0]), looks[1]), looks[1])
    assert slot.startswith("+")
    context.solved = 2
    assert detector.after(slot, looks[1]).startswith("-")


def test_a_measure_may_be_noted_by_an_invoke() -> None:
    detector = NoProgress(turns=1, measure="solved")
    slot = detector.after("", notes([3], "solved")[0])
    assert not detector.after(slot, notes([4], "solved")[0]).startswith("+")
    assert detector.after(slot, works(Player(), 1)[0]).startswith("+")


def test_visits_are_counted_until_the_chart_tells_of_progress() -> None:
    detector, looks = VisitsOver("a", 2), moves("abacaba")
    assert found(detector, looks) == [False] * 4 + [True] * 3
    assert evidence(detector, looks) == {"state": "a", "visits": 3, "threshold": 2}
    assert detector.after("+3", Player().look(is_told=True)) == ""


@pytest.mark.parametrize("build", [NoProgress, lambda: NoProgress(0), lambda: VisitsOver("a", 0)])
def test_numbers_that_notice_nothing_are_refused(build: object) -> None:
    with pytest.raises(ValueError, match="notices nothing; pass"):
        build()
