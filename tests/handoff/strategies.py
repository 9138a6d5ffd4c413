"""Packets of every shape, and what stands in them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from gatechart.handoff import (
    Attempt,
    FallbackKind,
    FallbackStep,
    HandoffPacket,
    MediaPart,
    Message,
    Metadata,
    PathStep,
    Priority,
    ProviderMessage,
    ReasoningStep,
    SelectionTerms,
    TextPart,
    ToolCall,
)
from gatechart.values.handoffs import Mode, Obstacle, Reason

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

laws = settings(
    deadline=None, derandomize=True, database=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)

texts = st.text(max_size=8)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
zones = st.integers(-86_000, 86_000).map(lambda s: timezone(timedelta(seconds=s)))
times = st.none() | st.datetimes(datetime(2, 1, 1), datetime(9998, 1, 1), timezones=zones)  # noqa: DTZ001
mappings = st.dictionaries(texts, json_values, max_size=3)


def many(one: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(one, max_size=2).map(tuple)


def parts(kind: type[Any], /, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values of the kind with text in all other fields, and with fields that nobody knows."""
    known = {name: fields.get(name, texts) for name in kind.model_fields}
    unknown = st.dictionaries(texts.filter(lambda name: name not in known), json_values, max_size=2)
    return st.builds(lambda some, others: kind(**others | some), st.fixed_dictionaries({}, optional=known), unknown)


def required(kind: type[Any], /, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values of the kind with all its fields, text in those that are not named."""
    whole = st.fixed_dictionaries({name: fields.get(name, texts) for name in kind.model_fields})
    return whole.map(lambda some: kind(**some))


contents = many(required(TextPart) | required(MediaPart, size=st.integers(0, 10**9)))
calls = required(ToolCall, arguments=mappings, output=json_values, parts=contents)
verbatim = st.none() | required(ProviderMessage, message=json_values)
messages = required(Message, time=times, tool_calls=many(calls), parts=contents, verbatim=verbatim)
steps = required(ReasoningStep)
path_steps = required(PathStep, time=times)
selections = required(
    SelectionTerms,
    capabilities=many(texts),
    domains=many(texts),
    tier=st.integers(0, 3),
    languages=many(texts),
    all=st.booleans(),
    weights=st.dictionaries(texts, st.floats(0, 9), max_size=2),
    order=many(texts),
    filters=many(texts),
    least=st.none() | st.floats(0, 1),
    entries=many(texts),
    no_rule=st.booleans(),
)
fallbacks = required(
    FallbackStep,
    kind=st.sampled_from(FallbackKind),
    attempts=st.integers(1, 5),
    first_s=st.floats(0, 9),
    factor=st.floats(1, 9),
    most_s=st.floats(0, 99),
    selection=st.none() | selections,
)
attempts = parts(Attempt, obstacle=st.none() | st.sampled_from(Obstacle), time=times)
packets: st.SearchStrategy[HandoffPacket] = parts(
    HandoffPacket,
    schema_version=st.integers(1, 3),
    selection=st.none() | selections,
    is_new=st.booleans(),
    mode=st.sampled_from(Mode),
    reason=st.sampled_from(Reason),
    conversation=many(messages),
    reasoning=many(steps),
    entities=mappings,
    internal_state=mappings,
    assumptions=many(texts),
    decisions=many(texts),
    metadata=parts(Metadata, priority=st.sampled_from(Priority)),
    deadline=times,
    path=many(path_steps),
    fallbacks=many(fallbacks),
    attempts=many(attempts),
)
