"""The text of a trail: every entry comes back as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatechart.values.trail import (
    Called,
    Moved,
    Noted,
    Progressed,
    Reasoned,
    Said,
    TrailEntry,
    Waited,
    entries_in,
    text_of,
)

TEXT = st.text(max_size=12) | st.text(alphabet="\\\t\n\x1fstn", max_size=8)
DIGEST = st.text(alphabet="0123456789abcdef", max_size=8)
ENTRIES: st.SearchStrategy[TrailEntry] = st.one_of(
    st.builds(Moved, st.lists(TEXT, min_size=1, max_size=3).map(tuple), TEXT),
    st.builds(
        Called,
        TEXT,
        DIGEST,
        st.booleans(),
        DIGEST,
        TEXT,
        st.integers(0, 9),
        TEXT,
        st.integers(0, 2**45),
        st.integers(0, 2**45),
    ),
    st.builds(Waited, TEXT, st.integers(0, 2**45)),
    st.builds(Said, TEXT),
    st.builds(Reasoned, TEXT, TEXT, TEXT),
    st.builds(Noted, TEXT, st.floats(allow_nan=False)),
    st.builds(Progressed, TEXT),
)


@given(st.lists(ENTRIES, max_size=6))
def test_every_entry_comes_back_as_it_was_written(entries: list[TrailEntry]) -> None:
    assert entries_in(text_of(entries)) == tuple(entries)


@given(ENTRIES)
def test_an_entry_is_one_line(entry: TrailEntry) -> None:
    assert text_of([entry]).count("\n") == 1


@pytest.mark.parametrize(
    "line",
    ["x", "mHERE", "nsure\tvery", "csearch\t1f\t+\t\t\tonce\t\t0", "csearch\t1f\t+\t\t\t1\t\t0\t1\t2", "wsearch"],
)
def test_a_damaged_line_is_refused_by_its_text(line: str) -> None:
    with pytest.raises(ValueError, match="is no entry of a trail"):
        entries_in(f"{line}\n")


def test_a_refusal_that_was_written_without_its_moment_is_one_all_the_same() -> None:
    [entry] = entries_in("csearch\t1f\t-\t2e\tbreaker open\t0\t\t1767225602000\n")
    assert entry == Called("search", "1f", False, "2e", "breaker open", 0, "", 1767225602000)
    assert (entry.is_refused, entry.is_refused_for_now, entry.has_failed) == (True, False, False)
