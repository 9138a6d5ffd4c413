"""Parts of request bodies take all that is taken on other homes."""

from dataclasses import fields

import pytest

from gatechart.handoff import FallbackKind, FallbackStep, SelectionTerms
from gatechart.serving.body_parts import BestTarget, CanDo, Chosen, SameTarget, TakesWork, Target, Wanted
from gatechart.values.profiles import Hours, Needs, Profile


@pytest.mark.parametrize(("part", "made"), [(CanDo, Profile), (TakesWork, Hours), (Wanted, Needs)])
def test_a_part_has_the_fields_of_what_is_made_of_it(part, made):
    assert set(part.model_fields) == {each.name for each in fields(made)}


def test_a_selection_has_the_fields_of_its_terms():
    assert set(Chosen.model_fields) == set(SelectionTerms.model_fields)


def test_there_is_a_part_for_each_kind_of_fallback_and_one_of_them_has_each_field():
    parts = (SameTarget, Target, BestTarget)
    kinds = [kind for each in parts for kind in each.model_fields["kind"].annotation.__args__]
    assert sorted(kinds) == sorted(FallbackKind)
    assert set().union(*(each.model_fields for each in parts)) == set(FallbackStep.model_fields)
