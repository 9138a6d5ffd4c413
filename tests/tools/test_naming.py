"""Names of tools as models accept them."""

import re

from hypothesis import example, given
from hypothesis import strategies as st

from gatechart.tools.naming import LONGEST_TOOL_NAME, by_model_name, model_name

names = st.text(min_size=1, max_size=LONGEST_TOOL_NAME)


@given(st.sets(names, max_size=20))
@example({"a b", "a-b", "a  b"})
@example({"x" * 64, "x" * 65, "x" * 200})
@example({"ä", model_name("ä"), model_name(model_name("ä"))})
def test_every_name_becomes_one_that_all_models_accept_and_comes_back(given_names):
    known = by_model_name(given_names)
    assert len(known) == len(given_names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", each) for each in known)
    assert {known[model_name(name)] for name in given_names} == given_names


@given(st.from_regex(r"[a-zA-Z0-9_]{1,64}", fullmatch=True))
def test_a_name_that_all_models_accept_stays_as_it_is(name):
    assert model_name(name) == name
