"""Values of every shape, for what travels."""

from datetime import UTC

from hypothesis import strategies as st
from pydantic_core import to_json

from gatechart.values.agents import Event, GuardError, Outcome, Refusal, Snapshot
from gatechart.values.handoffs import HandoffChange, HandoffRecord, OpenHandoff
from gatechart.values.mail import Mail
from gatechart.values.queries import HistoryEntry
from gatechart.values.transfers import TransferCount, Visit

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(0, 2**62)
moments = st.datetimes(timezones=st.just(UTC))
leaves = st.lists(texts, max_size=3).map(tuple)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
plain = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
payloads = st.dictionaries(texts, plain, max_size=3)


def some(values, most=2):
    return st.lists(values, max_size=most).map(tuple)


def maybe(values):
    return st.none() | values


opens = st.builds(OpenHandoff, since=numbers, states=leaves, path=some(payloads), request=texts, session=texts)
guard_errors = some(st.builds(GuardError, texts, texts, texts))
events = st.builds(Event, texts, payloads, moments, maybe(texts), maybe(texts))
counts = st.builds(TransferCount, texts, numbers, texts, visits=some(st.builds(Visit, texts, moments, texts)))
snapshots = st.builds(
    Snapshot,
    configuration=leaves,
    context_text=payloads.map(lambda fields: to_json(fields).decode()),
    memory=some(st.tuples(texts, leaves)),
    entered=some(st.tuples(texts, numbers)),
    handoffs=some(opens),
    transfers=some(counts),
)
outcomes = st.builds(
    Outcome,
    configuration=leaves,
    taken=leaves,
    refusal=maybe(st.builds(Refusal, configuration=leaves, accepts=leaves, guards=leaves)),
    guard_errors=guard_errors,
    repeat=st.booleans(),
)
entries = st.builds(
    HistoryEntry,
    event=events,
    source=leaves,
    target=leaves,
    taken=leaves,
    changed=payloads,
    guard_errors=guard_errors,
    appended=st.dictionaries(texts, some(plain), max_size=2),
)
mail = st.builds(
    Mail,
    payload=payloads,
    accepted=moments,
    id=maybe(texts),
    sender=maybe(texts),
    due=maybe(moments),
    key=maybe(texts),
    state=maybe(texts),
    epoch=numbers,
    attempts=numbers,
    retry_at=maybe(moments),
    reason=texts,
)
handoffs = st.builds(
    HandoffRecord,
    packet=payloads,
    deadline=maybe(moments),
    changes=some(st.builds(HandoffChange, time=moments)),
    result=maybe(payloads),
    number=numbers,
)
