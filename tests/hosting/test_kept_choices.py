"""What earlier forms of learning kept of choices is read, and learned from. The rows are as they were written."""

from datetime import UTC, datetime, timedelta

import pytest

from gatechart.hosting.directory_graph import EntryContext
from gatechart.hosting.kept_choices import KeptChoice, with_choice, with_outcome, with_quality
from gatechart.selection.observations import Observation, Observations
from gatechart.values.directory import Ended, WorkOutcome

AT = datetime(2030, 1, 1, tzinfo=UTC)
RANKED = [["refunds.WORKING", "refunds", 0.61, 0.9], ["parcels.WORKING", "parcels", 0.4, 0.1]]
CHOSEN = {"features": "WyyO9SnH", "prior": 0.55, "user": "ann", "source": "reception-1", "ranked": RANKED}
DONE = {"ended": "completed", "ended_at": "2030-01-01T01:00:00Z", "handed_on": 0, "took_s": 0.0, "quality": 0.8}
UNDER_WAY = {"ended": None, "ended_at": None, "handed_on": 0, "took_s": 0.0, "quality": None}
WHEN = {"at": "2030-01-01T00:00:00Z"}
WITHOUT_COST = [
    {"handoff": "h1", **WHEN, **CHOSEN, "departs": False, **DONE},
    {"handoff": "h2", **WHEN, **CHOSEN, "departs": True, **UNDER_WAY},
]
COST = {"cost": None, "expected_s": None, "expected_cost": None}
WITHOUT_RIVAL = [each | COST for each in WITHOUT_COST]
FORMS = pytest.mark.parametrize("rows", [WITHOUT_COST, WITHOUT_RIVAL], ids=["without cost", "without rival"])
OBSERVED = ["h1", "refunds.WORKING", "2030-01-01T01:00:00+00:00", 0.55, 0.9, "WyyO9SnH", False, "refunds"]
OWNERS = ["ann", "reception-1"]


def context(rows):
    terms = {"id": "refunds.WORKING", "graph": "refunds", "at": "WORKING", "is_local": True}
    return EntryContext.model_validate({"terms": terms, "choices": rows})


@FORMS
def test_choices_of_an_earlier_form_are_learned_from(rows):
    done, under_way = context(rows).choices
    assert done.observation() == Observation.read([*OBSERVED, OWNERS, "", ""])
    assert done.recorded().text_scores == (("refunds.WORKING", 0.61), ("parcels.WORKING", 0.4))
    assert (under_way.observation(), under_way.departed) == (None, True)


@FORMS
def test_choices_of_an_earlier_form_are_joined_by_what_comes_of_them(rows):
    later = AT + timedelta(hours=2)
    outcome = WorkOutcome(handoff="h2", ended=Ended.FAILED, at=later, cost=3.0)
    joined = with_quality(with_outcome(context(rows).choices, outcome), "h2", 0.5)
    assert (joined[1].ended, joined[1].ended_at, joined[1].cost, joined[1].quality) == (Ended.FAILED, later, 3.0, 0.5)
    assert joined[0] == context(rows).choices[0]


@FORMS
def test_choices_of_an_earlier_form_are_written_as_they_are_now(rows):
    read = context(rows)
    written = read.model_dump(mode="json")
    assert EntryContext.model_validate(written).choices == read.choices
    assert {"rival", "rival_group", "expected_cost"} <= written["choices"][0].keys()


@pytest.mark.parametrize(
    "more", [{}, {"expected_s": None, "expected_cost": None}], ids=["without cost", "without rival"]
)
def test_a_choice_that_an_earlier_form_told_an_entry_is_kept(more):
    told = {"handoff": "h1", **CHOSEN, "departs": True, **more}
    ranked = tuple(tuple(each) for each in RANKED)
    kept = KeptChoice("h1", AT, "WyyO9SnH", ranked, 0.55, True, "ann", "reception-1")
    assert with_choice([], told, AT) == [kept]


def test_observations_without_a_rival_are_read():
    (read,) = Observations.read([[*OBSERVED, OWNERS]]).items
    assert (read.id, read.reward, read.owners, read.rival, read.rival_group) == ("h1", 0.9, tuple(OWNERS), "", "")
