"""A choice among candidates: who falls out, who is best, and that it is the same whenever it is repeated."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatechart import HandoffPacket
from gatechart.errors import SelectionAnswerError
from gatechart.handoff import Attempt, PathStep, Reason
from gatechart.handoff.loops import MOST_HOPS
from gatechart.results import Candidate, Choice
from gatechart.selection import Best, Hours, NeedRule, Needs, Profile, choose, terms_of
from gatechart.selection.explaining import MOST_TOLD
from gatechart.selection.filters import ALWAYS
from gatechart.selection.texts import Least
from gatechart.values.frozen import replaced
from gatechart.values.handoffs import Obstacle

NOW = datetime(2026, 3, 30, 10, tzinfo=UTC)  # a Monday
ANYBODY = Best(order=())
BY_PERFORMANCE = Best(scorers={"performance": 1.0})
laws = settings(deadline=None, derandomize=True, database=None)


def door(name: str, /, **fields: Any) -> Candidate:
    profile = Profile(**{name: fields.pop(name) for name in Profile.__match_args__ if name in fields})
    graph, _, entry_point = name.partition(".")
    return Candidate(name, graph, entry_point, profile=profile, **fields)


def chosen_of(best: Best, *candidates: Candidate, packet: HandoffPacket | None = None, **given: Any) -> Choice:
    packet = packet or HandoffPacket()
    return choose(packet, terms_of(best, packet), candidates, **({"now": NOW, "seed": "s"} | given))


def winner(*args: Any, **given: Any) -> str:
    candidate = chosen_of(*args, **given).candidate
    return "" if candidate is None else candidate.id


def fell(choice: Choice) -> Mapping[str, str]:
    return {each.id: each.fell for each in choice.explanation.judged if each.fell}


def test_one_matching_capability_and_one_matching_domain_suffice() -> None:
    choice = chosen_of(
        Best(Needs(capabilities=("refund", "exchange"), domains=("shoes",)), order="performance"),
        door("a.A", capabilities=("refund",), domains=("hats", "shoes")),
        door("b.A", capabilities=("refund",), domains=("hats",)),
        door("c.A", capabilities=("repair",), domains=("shoes",)),
    )
    assert choice.candidate is not None
    assert choice.candidate.id == "a.A"
    assert fell(choice) == {"c.A": "capability: none of refund, exchange", "b.A": "domain: not shoes"}


def test_every_capability_and_domain_is_needed_on_request() -> None:
    some, whole = door("a.A", capabilities=("refund",), performance=1.0), door("b.A", capabilities=("refund", "pay"))
    needs = Needs(capabilities=("refund", "pay"), all=True)
    assert winner(Best(needs, order="performance"), some, whole) == "b.A"
    assert fell(chosen_of(Best(needs), some)) == {"a.A": "capability: not all of refund, pay"}


def test_a_tier_below_the_needed_one_falls_out() -> None:
    choice = chosen_of(Best(Needs(tier=2)), door("a.A", tier=2), door("b.A"))
    assert (choice.candidate and choice.candidate.id, fell(choice)) == ("a.A", {"b.A": "tier: 1 is below 2"})


@pytest.mark.parametrize(
    ("spoken", "needed", "fits"),
    [
        ((), "de", True),
        (("de",), "de", True),
        (("de",), "DE-at", True),
        (("de-AT",), "de", True),
        (("de-AT",), "de-CH", False),
        (("den",), "de", False),
        (("en", "zh"), "zh", True),
    ],
)
def test_a_language_fits_whatever_the_region_unless_both_name_one(
    spoken: tuple[str, ...], needed: str, fits: bool
) -> None:
    best = Best(Needs(languages=(needed,)), order="load")
    assert winner(best, door("a.A", languages=spoken)) == ("a.A" if fits else "")


def test_whoever_has_closed_hours_a_full_house_an_open_breaker_or_an_operators_word_against_it_falls_out() -> None:
    night = (Hours(begins="22:00", ends="06:00"),)
    choice = chosen_of(
        BY_PERFORMANCE,
        door("a.A", schedule=night),
        door("b.A", capacity=2, held=2),
        door("c.A", open_breakers=("payments", "stock")),
        door("d.A", is_open=False),
        door("e.A", is_excluded=True),
        door("g.A", is_open=False, mark_reason="stocktaking"),
        door("h.A", is_excluded=True, mark_reason="complaints"),
        door("f.A", schedule=(*night, Hours(("MON",), "09:00", "17:00"))),
    )
    assert choice.candidate is not None
    assert choice.candidate.id == "f.A"
    assert fell(choice) == {
        "c.A": "breaker: payments, stock open",
        "b.A": "place: 2 of 2 places taken",
        "a.A": "hours: not at this time",
        "d.A": "open: closed",
        "e.A": "open: excluded by an operator",
        "g.A": "open: closed: stocktaking",
        "h.A": "open: excluded by an operator: complaints",
    }


def test_the_word_of_an_operator_is_told_as_briefly_as_any_reason() -> None:
    choice = chosen_of(
        ANYBODY, *(door(f"a{each}.A", is_open=False, mark_reason="ü" * 300) for each in range(MOST_TOLD))
    )
    assert {len(each) for each in fell(choice).values()} == {len("open: ") + 200}


def test_the_agent_that_asks_is_never_chosen_nor_another_at_the_entry_point_where_it_began() -> None:
    path = (PathStep(agent="o-1", graph="orders", entry_point="NEW", achieved="the address was checked"),)
    packet = HandoffPacket(source_agent="o-1", source_graph="orders", path=path)
    itself = replaced(door("anna"), graph="orders", entry_point="OPEN", agent="o-1")
    assert winner(BY_PERFORMANCE, itself, door("orders.NEW"), packet=packet) == ""
    assert winner(BY_PERFORMANCE, itself, door("orders.NEW"), door("orders.OPEN"), packet=packet) == "orders.OPEN"


@pytest.mark.parametrize(
    ("recipient", "left"),
    [("orders.NEW", ["anna", "orders.OPEN"]), ("anna", []), ("", ["anna"])],
    ids=["chosen for an entry point", "chosen for a registered entry", "not chosen"],
)
def test_an_agent_whose_packet_tells_no_entry_point_is_known_by_what_it_was_chosen_for(
    recipient: str, left: list[str]
) -> None:
    path = (PathStep(agent="o-1", graph="orders", recipient=recipient, achieved="the address was checked"),)
    packet = HandoffPacket(source_agent="o-1", source_graph="orders", path=path)
    registered = replaced(door("anna"), graph="orders", entry_point="NEW", is_local=False)
    everybody = registered, door("orders.NEW"), door("orders.OPEN")
    fallen = fell(chosen_of(BY_PERFORMANCE, *everybody, packet=packet))
    assert sorted(each.id for each in everybody if each.id not in fallen) == left


def test_a_graph_on_the_path_is_left_out_unless_progress_was_made() -> None:
    def packet(achieved: str) -> HandoffPacket:
        steps = [("orders", ""), ("refunds", achieved)]
        path = tuple(PathStep(agent=f"{graph}-1", graph=graph, achieved=text) for graph, text in steps)
        return HandoffPacket(source_agent="refunds-1", source_graph="refunds", path=path)

    choice = chosen_of(BY_PERFORMANCE, door("orders.NEW"), packet=packet(""))
    assert fell(choice) == {
        "orders.NEW": "path: orders → refunds → orders: nothing was achieved since orders had it",
    }
    assert winner(BY_PERFORMANCE, door("orders.NEW"), packet=packet("the policy was read out")) == "orders.NEW"


def test_nobody_fits_work_that_was_handed_on_too_often() -> None:
    path = tuple(PathStep(agent=f"{n}", graph=f"g{n}", achieved="much") for n in range(MOST_HOPS + 1))
    assert winner(BY_PERFORMANCE, door("new.A"), packet=HandoffPacket(path=path[:-1])) == "new.A"
    assert winner(BY_PERFORMANCE, door("new.A"), packet=HandoffPacket(path=path)) == ""


def test_a_target_that_had_the_offer_does_not_get_it_again() -> None:
    attempts = (
        Attempt(graph="a", entry_point="A", agent="a-77", obstacle=Obstacle.OVERLOAD),  # of a new agent
        Attempt(graph="desk", entry_point="NEW", agent="d-1", recipient="anna", obstacle=Obstacle.WRONG_SKILLS),
    )
    anna, bert = (replaced(door(name), graph="desk", entry_point="NEW") for name in ("anna", "bert"))
    choice = chosen_of(BY_PERFORMANCE, door("a.A"), anna, bert, packet=HandoffPacket(attempts=attempts))
    assert choice.candidate is bert
    assert fell(choice) == {"a.A": "refused: it already had the offer", "anna": "refused: it already had the offer"}


def test_an_offer_to_an_agent_leaves_out_that_agent_alone() -> None:
    attempt = Attempt(graph="desk", entry_point="NEW", agent="d-1", obstacle=Obstacle.OVERLOAD)
    one, other = (replaced(door(name), graph="desk", entry_point="NEW", agent=name) for name in ("d-1", "d-2"))
    assert winner(BY_PERFORMANCE, one, other, packet=HandoffPacket(attempts=(attempt,))) == "d-2"


@pytest.mark.parametrize(
    ("obstacle", "expected"),
    [(Obstacle.FAILURE, "c.A"), (Obstacle.UNKNOWN_GRAPH, "c.A"), (Obstacle.OVERLOAD, "b.A")],
)
def test_the_group_of_a_target_that_failed_is_left_out_but_not_that_of_one_that_is_full(
    obstacle: Obstacle, expected: str
) -> None:
    group = door("a.A", group="west"), door("b.A", group="west", performance=1.0), door("c.A", performance=0.5)
    packet = HandoffPacket(attempts=(Attempt(graph="a", entry_point="A", agent="x", obstacle=obstacle),))
    assert winner(BY_PERFORMANCE, *group, packet=packet) == expected


@pytest.mark.parametrize(("reason", "expected"), [(Reason.TOOL_FAILURE, "c.A"), (Reason.KNOWLEDGE_GAP, "b.A")])
def test_the_group_of_an_agent_whose_tools_fail_is_left_out(reason: Reason, expected: str) -> None:
    group = door("a.A", group="west"), door("b.A", group="west", performance=1.0), door("c.A", performance=0.5)
    path = (PathStep(agent="a-1", graph="a", entry_point="A"),)
    packet = HandoffPacket(source_agent="a-1", source_graph="a", path=path, reason=reason)
    assert winner(BY_PERFORMANCE, *group, packet=packet) == expected


def test_a_pinned_candidate_goes_first_among_those_that_pass() -> None:
    best, pinned, closed = door("a.A"), door("b.A", performance=0.1), door("c.A", is_open=False)
    assert winner(BY_PERFORMANCE, best, replaced(pinned, is_pinned=True), replaced(closed, is_pinned=True)) == "b.A"


def test_a_registered_candidate_never_outranks_a_local_one_unless_that_is_allowed() -> None:
    local, registered = door("a.A", performance=0.1), door("b.A", is_local=False)
    assert winner(BY_PERFORMANCE, local, registered) == "a.A"
    assert winner(BY_PERFORMANCE, local, registered, allow_registered=True) == "b.A"
    assert winner(BY_PERFORMANCE, local, replaced(registered, is_pinned=True)) == "b.A"
    assert winner(BY_PERFORMANCE, replaced(local, is_open=False), registered) == "b.A"


def test_that_registered_candidates_stand_behind_whatever_their_scores_is_told() -> None:
    local, registered = door("a.A", performance=0.1), door("b.A", is_local=False)
    pinned = replaced(registered, is_pinned=True)
    assert told(local, registered) == "a.A is the best of 2 that fit, before 1 registered (performance 0.10)"
    assert told(local, registered, allow_registered=True) == "b.A is the best of 2 that fit (performance 1.00)"
    assert told(local, pinned) == "b.A is the best of 2 that fit, pinned by an operator (performance 1.00)"
    assert told(replaced(local, is_open=False), registered).startswith("b.A is the only one that fits")


def told(*candidates: Candidate, **given: Any) -> str:
    return chosen_of(BY_PERFORMANCE, *candidates, **given).explanation.details


def test_the_weighted_sum_of_the_scores_decides() -> None:
    rated, near = door("a.A", performance=1.0), door("b.A", performance=0.4)
    scores = {"text": {"a.A": 0.2, "b.A": 0.9}}
    assert winner(Best(scorers={"text": 1.0, "performance": 1.0}), rated, near, scores=scores) == "b.A"
    choice = chosen_of(Best(scorers={"text": 1.0, "performance": 2.0}), rated, near, scores=scores)
    assert [(each.id, each.total, each.scores) for each in choice.explanation.judged] == [
        ("a.A", 2.2, (("performance", 1.0), ("text", 0.2))),
        ("b.A", 1.7, (("performance", 0.4), ("text", 0.9))),
    ]


def test_an_order_decides_one_after_the_other() -> None:
    best = Best(Needs(tier=1), order=("tier", "performance", "load"))
    busy = door("a.A", tier=2, performance=0.5, held=3, capacity=4)
    free, low = replaced(busy, id="b.A", held=1), door("c.A", tier=1, performance=1.0)
    assert winner(best, low, busy, free) == "b.A"
    assert winner(best, low, replaced(busy, performance=0.6), free) == "a.A"


def test_work_of_unknown_needs_matches_only_near_texts() -> None:
    near, far = door("a.A"), door("b.A")
    scores = {"text": {"a.A": 0.3, "b.A": 0.05}}
    assert fell(chosen_of(Best(), near, far, scores=scores)) == {"b.A": "text: 0.05 is below 0.07"}
    assert winner(Best(least=0.4), near, far, scores=scores) == ""
    assert winner(Best(Needs(tier=1), least=0.4), near, far, scores=scores) == "a.A"


def test_whoever_is_named_needs_no_near_text_and_may_be_excluded() -> None:
    anna, other = door("anna", is_person=True, is_local=False, is_excluded=True), door("b.A")
    texts = {"text": {"b.A": 0.9}}
    choice = chosen_of(Best(entries="anna"), anna, other, scores=texts, least=Least.alike(0.2))
    assert choice.candidate == anna
    assert [(each.id, each.fell) for each in choice.explanation.judged] == [("anna", ""), ("b.A", "entry: not anna")]


def test_why_none_of_those_that_are_named_gets_it_is_told_of_each() -> None:
    anna, other = door("anna", is_open=False), door("b.A")
    told = chosen_of(Best(entries=("anna", "bert")), anna, other).explanation.details
    assert told == "anna is left out by open: closed; bert is not in the directory"


def test_no_rule_that_applies_is_no_match_where_no_text_can_tell() -> None:
    rule = NeedRule(Needs(domains=("refunds",)), mentions="refund")
    choice = chosen_of(
        Best(rules=rule, order="load"), door("a.A"), packet=HandoffPacket(current_problem="a fridge to repair")
    )
    assert choice.candidate is None
    assert fell(choice) == {"a.A": "rule: no rule applies to the work"}
    assert choice.explanation.details == "none of 1 fits; left out by rule 1"
    assert winner(Best(Needs(tier=1), rules=rule, order="load"), door("a.A")) == "a.A"


def test_filters_and_scorers_of_ones_own_count() -> None:
    def vip(packet: HandoffPacket, candidate: Candidate) -> bool | str:
        return candidate.id != "a.A" or f"{packet.user_id} is no guest there"

    def nightly(packet: HandoffPacket, candidate: Candidate) -> bool:
        return candidate.id != "b.A"

    def luck(packet: HandoffPacket, candidate: Candidate) -> float:
        return {"c.A": 0.2, "d.A": 0.9}[candidate.id]

    best = Best(filters=(vip, nightly), scorers={luck: 1.0})
    functions = {each.__name__: each for each in (vip, nightly, luck)}
    doors = [door(f"{each}.A") for each in "abcd"]
    choice = chosen_of(best, *doors, packet=HandoffPacket(user_id="u"), functions=functions)
    assert choice.candidate is doors[3]
    assert fell(choice) == {"a.A": "vip: u is no guest there", "b.A": "nightly: left out"}


@pytest.mark.parametrize(
    ("best", "message"),
    [
        (Best(filters="nowhere"), "no filter is named 'nowhere'; there are person, local"),
        (Best(scorers={"nothing": 1.0}), "no scorer is named 'nothing'; there are text, history"),
    ],
)
def test_an_unknown_name_is_an_error(best: Best, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chosen_of(best, door("a.A"))


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), "high", None, 10**400])
def test_a_score_that_is_no_number_is_an_error(answer: object) -> None:
    def odd(packet: HandoffPacket, candidate: Candidate) -> object:
        return answer

    told = r"the scorer 'odd' returned no finite number for 'a\.A'; it must return a number from 0 to 1"
    with pytest.raises(SelectionAnswerError, match=told):
        chosen_of(Best(scorers={odd: 1.0}), door("a.A"), functions={"odd": odd})


def test_a_function_that_answers_no_needs_is_told_what_to_return() -> None:
    with pytest.raises(SelectionAnswerError, match="needs= returned 'refunds'; it must return Needs"):
        terms_of(Best(lambda _: "refunds"), HandoffPacket())  # type: ignore[arg-type, return-value]


def test_only_persons_or_only_those_of_this_home_are_chosen_on_request() -> None:
    person, far = door("anna", is_person=True, performance=0.1), door("b.A", is_local=False)
    by = {"scorers": {"performance": 1.0}}
    assert winner(Best(filters="person", **by), person, far, allow_registered=True) == "anna"
    assert winner(Best(filters="local", **by), far, allow_registered=True) == ""


def test_equals_are_drawn_and_the_explanation_says_so() -> None:
    doors = [door(f"{each}.A") for each in "abcd"]
    choice = chosen_of(BY_PERFORMANCE, *doors, seed="h-1")
    told = choice.explanation
    assert (told.tied, told.seed, choice.probability) == (("a.A", "b.A", "c.A", "d.A"), "h-1", 0.25)
    assert "drawn from the 4 best of 4 that fit" in told.details
    drawn = {winner(BY_PERFORMANCE, *doors, seed=f"h-{n}") for n in range(50)}
    assert drawn == {"a.A", "b.A", "c.A", "d.A"}
    assert winner(BY_PERFORMANCE, *doors, seed="h-1") == winner(BY_PERFORMANCE, *reversed(doors), seed="h-1")


def test_a_draw_is_even() -> None:
    doors = [door(f"{each}.A") for each in "abcd"]
    drawn = [winner(BY_PERFORMANCE, *doors, seed=f"handoff {n}") for n in range(2000)]
    assert all(400 < drawn.count(each.id) < 600 for each in doors)


def test_an_explanation_tells_of_a_hundred_and_counts_the_rest() -> None:
    doors = [door(f"g{n}.A", performance=n / 1000, capacity=n % 2) for n in range(1000)]
    told = chosen_of(BY_PERFORMANCE, *doors).explanation
    assert (len(told.judged), told.left_out) == (MOST_TOLD, 900)
    assert [each.id for each in told.judged[:2]] == ["g999.A", "g997.A"]
    assert told.details == "g999.A is the best of 500 that fit (performance 1.00); left out by place 500"


def test_an_empty_directory_matches_nothing() -> None:
    choice = chosen_of(Best())
    assert (choice.candidate, choice.explanation.details) == (None, "the directory is empty")


candidates = st.lists(
    st.builds(
        door,
        st.sampled_from([f"{graph}.{each}" for graph in "abcde" for each in ("A", "B")]),
        capabilities=st.lists(st.sampled_from("xyz"), max_size=2).map(tuple),
        tier=st.none() | st.integers(1, 3),
        group=st.sampled_from(("", "west", "east")),
        held=st.integers(0, 3),
        capacity=st.none() | st.integers(0, 3),
        performance=st.sampled_from((0.0, 0.5, 1.0)),
        is_open=st.booleans(),
        is_pinned=st.booleans(),
        is_local=st.booleans(),
        users=st.sampled_from(((), ("u",))),
    ),
    unique_by=lambda each: each.id,
    max_size=8,
)
selections = st.builds(
    lambda needs, how: Best(needs, **how),
    st.builds(Needs, capabilities=st.lists(st.sampled_from("xyz"), max_size=2).map(tuple), tier=st.integers(0, 3)),
    st.sampled_from(({}, {"order": ("tier", "performance", "load")}, {"scorers": {"load": 0.3, "affinity": 0.1}})),
)
packets = st.builds(
    HandoffPacket,
    user_id=st.sampled_from(("", "u")),
    attempts=st.lists(
        st.builds(
            Attempt,
            graph=st.sampled_from("abc"),
            entry_point=st.just("A"),
            obstacle=st.sampled_from(Obstacle),
        ),
        max_size=2,
    ).map(tuple),
    path=st.lists(st.builds(PathStep, agent=st.just("x"), graph=st.sampled_from("abcde")), max_size=2).map(tuple),
)
texts = st.dictionaries(st.sampled_from([f"{graph}.A" for graph in "abcde"]), st.floats(0, 1))


@laws
@given(candidates, selections, packets, texts, st.integers(0, 3))
def test_the_order_of_the_candidates_does_not_matter(
    some: list[Candidate], best: Best, packet: HandoffPacket, text: dict[str, float], seed: int
) -> None:
    shuffled = Random(seed).sample(some, len(some))
    given = {"packet": packet, "scores": {"text": text}, "seed": str(seed)}
    assert chosen_of(best, *some, **given) == chosen_of(best, *shuffled, **given)


@laws
@given(candidates, selections, packets, texts)
def test_everyone_is_told_of_once_and_the_first_is_chosen_if_anyone_passes(
    some: list[Candidate], best: Best, packet: HandoffPacket, text: dict[str, float]
) -> None:
    choice = chosen_of(best, *some, packet=packet, scores={"text": text})
    judged = choice.explanation.judged
    assert sorted(each.id for each in judged) == sorted(each.id for each in some)
    passed = [each.id for each in judged if not each.fell]
    assert (choice.candidate.id if choice.candidate else None) == (passed[0] if passed else None)
    assert all(each.fell.split(":")[0] in ALWAYS for each in judged if each.fell)


@laws
@given(candidates, selections, packets, texts)
def test_whoever_was_not_chosen_does_not_matter_to_whom_is_chosen(
    some: list[Candidate], best: Best, packet: HandoffPacket, text: dict[str, float]
) -> None:
    given = {"packet": packet, "scores": {"text": text}}
    choice = chosen_of(best, *some, **given)
    kept = {*choice.explanation.tied, choice.candidate.id if choice.candidate else ""}
    without = [each for each in some if each.id in kept or each.profile.group]  # a group may leave somebody out
    assert chosen_of(best, *without, **given).candidate == choice.candidate
