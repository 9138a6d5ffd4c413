"""The text of a trail as it grows: within its bounds, and readable whatever was said."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gatechart.graph.signals import Signals
from gatechart.turn.trail_text import bounds_of, grown
from gatechart.values.trail import Called, Moved, Said, Trail, TrailEntry, entries_in, written

TEXTS = st.text(alphabet="ab\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029\\\t转", max_size=6)
ENTRIES: st.SearchStrategy[TrailEntry] = st.one_of(
    st.builds(Said, TEXTS),
    st.builds(Moved, st.tuples(TEXTS.filter(bool)), TEXTS),
    st.builds(Called, TEXTS, st.just("1f"), st.booleans()),
)
BOUNDS = bounds_of(Signals((), states=3, calls=2, most_bytes=400))


@given(st.lists(ENTRIES, max_size=30))
def test_the_newest_entries_stay_readable_and_within_the_bounds_whatever_was_said(entries: list[TrailEntry]) -> None:
    trail = Trail()
    for entry in entries:
        text, appended = grown(trail, f"{written(entry)}\n", 1, BOUNDS)
        trail = Trail(text, appended=appended)
        assert len(text.encode()) <= BOUNDS.most_bytes
    kept = entries_in(trail.text)
    rest = iter(entries)
    assert all(each in rest for each in kept)  # in their order
    assert kept[-1:] == tuple(entries[-1:])


def test_a_move_that_was_written_with_a_digest_of_its_payload_is_read() -> None:
    assert entries_in("mHERE\tGO\tx1f3\nmTHERE\tGO\t\n") == (Moved(("HERE",), "GO"), Moved(("THERE",), "GO"))
