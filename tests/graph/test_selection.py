"""Profiles and selections as graphs declare them: what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from gatechart import AgentContext, EntryPoint, Fallbacks, Handoff, StateTransitionGraph
from gatechart.errors import InvalidGraphError
from gatechart.graph.definition import Transition
from gatechart.graph.selection_faults import best_faults, profile_faults
from gatechart.selection import Best, Hours, NeedRule, Needs, Profile


def says(packet: Any, candidate: Any) -> float:
    """Answer with a number."""
    return 1.0


def text(packet: Any, candidate: Any) -> float:
    """Answer under a name that is taken."""
    return 1.0


async def late(packet: Any, candidate: Any) -> float:
    """Answer too late."""
    return 1.0


def in_profile(**fields: Any) -> list[str]:
    return [fault.problem for fault in profile_faults("here", Profile(**fields))]


def in_best(*args: Any, **fields: Any) -> list[str]:
    return [fault.problem for fault in best_faults("here", Best(*args, **fields))]


def test_a_graph_tells_the_faults_of_its_profiles_at_once() -> None:
    with pytest.raises(InvalidGraphError) as caught:
        StateTransitionGraph(
            "shop",
            context=AgentContext,
            transitions=[Transition("A", "DONE", "B")],
            entry_points=[EntryPoint("A", profile=Profile(tier=0)), EntryPoint("B", profile=Profile(tier=1))],
            profile=Profile(cost=-1.0, schedule=(Hours(("MO",)),)),
        )
    assert [str(fault) for fault in caught.value.faults] == [
        "graph, profile: cost=-1.0 is no cost; pass a number from 0 to 1e+12",
        "graph, profile, schedule: days ['MO'] cannot be; name some of MON, TUE, WED, THU, FRI, SAT, SUN",
        "entry point 'A', profile: tier=0 is no tier; pass a whole number from 1 to 1000",
    ]


def test_a_profile_may_leave_out_everything() -> None:
    assert [*profile_faults("here", None), *profile_faults("here", Profile())] == []


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"capabilities": ["refund"]}, "capabilities=['refund'] is no tuple"),
        ({"domains": "refunds"}, "domains='refunds' is no tuple"),
        ({"samples": ("",)}, "samples, '': it is empty"),
        ({"languages": (None,)}, "languages, None: it is a NoneType, no text"),
        ({"samples": ("a\0b",)}, "samples, 'a\\x00b': it has the character NUL"),
        ({"tier": 1.5}, "tier=1.5 is no tier"),
        ({"tier": True}, "tier=True is no tier"),
        ({"group": None}, "group=None: it is a NoneType, no text"),
        ({"cost": float("nan")}, "cost=nan is no cost"),
        ({"expected_s": -1.0}, "expected_s=-1.0 is no time"),
        ({"schedule": Hours()}, f"schedule={Hours()!r} is no tuple of Hours"),
        ({"schedule": (Hours("MON"),)}, "days 'MON' cannot be"),
        ({"schedule": (Hours(days=5),)}, "days 5 cannot be"),
        ({"schedule": (Hours(days=["MON"]),)}, "days ['MON'] cannot be"),
        ({"cost": 10**400}, f"cost={10**400} is no cost"),
        ({"tier": 10**400}, f"tier={10**400} is no tier"),
        ({"schedule": (Hours(begins="9 o'clock"),)}, 'the time "9 o\'clock" cannot be'),
        ({"schedule": (Hours(ends="17:00+01:00"),)}, "the time '17:00+01:00' cannot be"),
        ({"schedule": (Hours(begins=9),)}, "the time 9 cannot be"),
        ({"schedule": (Hours(zone="Berlin"),)}, "the zone 'Berlin' cannot be"),
        ({"schedule": (Hours(zone=None),)}, "the zone None cannot be"),
    ],
)
def test_a_field_that_cannot_be_is_a_fault(fields: dict[str, Any], problem: str) -> None:
    assert in_profile(**fields) == [problem]


def test_what_is_no_profile_is_a_fault() -> None:
    assert [fault.problem for fault in profile_faults("here", {"tier": 2})] == ["{'tier': 2} is no profile"]


def test_a_selection_of_what_there_is_has_no_faults() -> None:
    rule = NeedRule(Needs(tier=2), reason="timeout", mentions=("slow", "慢"))
    assert in_best(Needs(("a",)), rules=rule, scorers={"text": 1, says: 0}, filters=("person", says), least=0.5) == []
    assert in_best(lambda packet: Needs(), order=("tier", says)) == []


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"scorers": {"txt": 1.0}}, "unknown scorer 'txt'"),
        ({"order": "speed"}, "unknown scorer 'speed'"),
        ({"filters": "place"}, "unknown filter 'place'"),
        ({"scorers": {"text": -1.0}}, "-1.0 is no weight"),
        ({"scorers": {"text": "much"}}, "'much' is no weight"),
        ({"scorers": {late: 1.0}}, "it does not take (packet, candidate), or does not answer at once"),
        ({"filters": len}, "it does not take (packet, candidate), or does not answer at once"),
        ({"filters": text}, "there is one of this name already"),
        ({"least": 2}, "least=2 is no text score"),
        ({"needs": {"tier": 2}}, "{'tier': 2} does not say at once what is needed"),
        ({"needs": late}, "late does not say at once what is needed"),
        ({"needs": Needs(tier=-1)}, "tier=-1 is no tier"),
        ({"needs": Needs(domains=["a"])}, "domains=['a'] is no tuple"),
        ({"needs": Needs(all="yes")}, "all='yes' is neither true nor false"),
        ({"needs": Needs}, "Needs does not say at once what is needed"),
        ({"rules": NeedRule(None)}, "None are no needs"),
        ({"rules": NeedRule("refunds")}, "'refunds' are no needs"),
        ({"rules": Needs()}, f"{Needs()!r} is no rule"),
        ({"rules": NeedRule(Needs(), mentions="")}, "mentions, '': it is empty"),
    ],
)
def test_a_selection_that_cannot_be_is_a_fault(fields: dict[str, Any], problem: str) -> None:
    assert in_best(**fields) == [problem]


@pytest.mark.parametrize("scorers", [("text",), "text", 5])
def test_scorers_without_weights_are_refused(scorers: Any) -> None:
    with pytest.raises(ValueError, match="has no weights; write scorers="):
        Best(scorers=scorers)


def asking(*selections: Best) -> StateTransitionGraph[AgentContext]:
    first, *others = selections
    handoff = Handoff(first, fallbacks=Fallbacks(*others))
    return StateTransitionGraph(
        "shop",
        context=AgentContext,
        transitions=[
            Transition("A", "ASKED", "B", actions=[handoff]),
            Transition("B", "handoff.failed", "A"),
        ],
        entry_points=["A"],
    )


def test_a_graph_tells_the_faults_of_its_selections() -> None:
    with pytest.raises(InvalidGraphError) as caught:
        asking(Best(scorers={"txt": 1.0}), Best(least=2))
    assert [(fault.place.split(", ", 1)[1], fault.problem) for fault in caught.value.faults] == [
        ("handoff", "unknown scorer 'txt'"),
        ("handoff, fallbacks", "least=2 is no text score"),
    ]


def test_a_graph_has_its_own_functions_by_name_and_refuses_two_of_one_name() -> None:
    def other(packet: Any, candidate: Any) -> float:
        return 0.5

    assert asking(Best(scorers={says: 1.0}), Best(filters=other)).selectors == {"says": says, "other": other}
    other.__name__ = "says"
    with pytest.raises(InvalidGraphError, match="several functions are named 'says'"):
        asking(Best(scorers={says: 1.0}), Best(filters=other))


def test_an_unknown_name_is_told_with_what_there_is() -> None:
    (fault,) = best_faults("here", Best(scorers={"txt": 1.0}))
    assert fault.remedy.startswith("did you mean 'text'? There are 'text', 'history', ")
    assert fault.remedy.endswith("; one of your own is a function of (packet, candidate)")
