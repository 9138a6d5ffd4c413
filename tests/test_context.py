from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, Json, ValidationError, computed_field, model_validator
from pydantic_core import PydanticSerializationError, to_json

from gatechart.context import (
    AgentContext,
    ContextDifference,
    ContextPool,
    canonical_json,
    changed_by_writing,
    compact_json,
    describe_fields,
    difference,
    patched,
    problems_of,
    read_context,
    read_only_context,
    write_context,
)
from gatechart.errors import ReadOnlyContextError
from tests.laws.flat_charts import laws


class Mood(Enum):
    GOOD = "good"


class Note(BaseModel):
    text: str
    likes: int = 0


class Rich(AgentContext):
    text: str = ""
    data: bytes = b""
    number: float = 0.0
    whole: int = 0
    seen: datetime | None = None
    day: date | None = None
    pause: timedelta | None = None
    price: Decimal | None = None
    key: UUID | None = None
    mood: Mood | None = None
    pair: tuple[int, str] = (0, "")
    tags: frozenset[str] = frozenset()
    notes: list[Note] = Field(default_factory=list)
    by_name: dict[str, Note] = Field(default_factory=dict)
    raw: Json[Any] = None


def again(context: AgentContext) -> Any:
    return read_context(type(context), write_context(context))


@pytest.mark.parametrize(
    "context",
    [
        Rich(),
        Rich(text='ünï ☃ \x00 "quoted" \U0001f600'),
        Rich(data=b"\x00\xff\xfe not utf-8"),
        Rich(number=math.inf),
        Rich(number=-math.inf),
        Rich(number=0.1 + 0.2),
        Rich(whole=2**200),
        Rich(seen=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)),
        Rich(day=date(2026, 1, 2), pause=timedelta(days=3, microseconds=1)),
        Rich(price=Decimal("1.10"), key=UUID(int=7), mood=Mood.GOOD),
        Rich(pair=(1, "one"), tags=frozenset("abc")),
        Rich(notes=[Note(text="a", likes=2)], by_name={"b": Note(text="b")}),
        Rich(raw='{"a": [1, null]}'),
    ],
)
def test_a_context_comes_back_from_json_as_it_was(context: Rich) -> None:
    assert again(context) == context
    assert again(context).model_fields_set <= set(Rich.model_fields)


def test_not_a_number_comes_back_from_json() -> None:
    assert math.isnan(again(Rich(number=math.nan)).number)


@laws
@given(st.builds(Rich, text=st.text(), data=st.binary(), number=st.floats(allow_nan=False), whole=st.integers()))
def test_any_context_comes_back_from_json_as_it_was(context: Rich) -> None:
    assert again(context) == context


class Measured(AgentContext):
    number: float | None = None
    data: bytes = b""


class Measuring(AgentContext):
    measured: Measured


def test_a_context_nested_in_a_context_comes_back_from_json() -> None:
    context = Measuring(measured=Measured(number=math.inf, data=b"\xff"))
    assert again(context) == context


class Inner(BaseModel):
    name: str = Field(alias="innerName")


class Aliased(AgentContext):
    name: str = Field(alias="fullName")
    nick: str = Field("", validation_alias="nickName", serialization_alias="nick_name")
    inner: Inner | None = None


def test_a_context_is_written_and_read_by_field_names() -> None:
    context = Aliased(fullName="Ada", nickName="A", inner=Inner(innerName="in"))
    assert write_context(context) == '{"name":"Ada","nick":"A","inner":{"name":"in"}}'
    assert again(context) == context


def test_an_alias_is_not_what_is_stored_and_so_not_read() -> None:
    with pytest.raises(ValidationError):
        read_context(Aliased, '{"fullName":"Ada"}')


def test_a_computed_field_is_not_stored() -> None:
    class Square(AgentContext):
        side: int

        @computed_field
        def area(self) -> int:
            return self.side**2

    assert write_context(Square(side=3)) == '{"side":3}'
    assert again(Square(side=3)).area == 9


def test_an_unknown_field_is_refused_when_it_is_read() -> None:
    with pytest.raises(ValidationError) as caught:
        read_context(Rich, '{"texd":"a"}')
    assert problems_of(caught.value) == ("texd: Extra inputs are not permitted",)


def test_an_unknown_field_is_refused_when_it_is_set() -> None:
    with pytest.raises(ValueError, match="texd"):
        Rich().texd = "a"


def test_a_value_of_the_wrong_type_is_written_and_found_when_it_is_read() -> None:
    context = Rich()
    context.whole = "many"
    assert '"whole":"many"' in write_context(context)
    with pytest.raises(ValidationError):
        again(context)


def test_a_value_that_json_does_not_know_cannot_be_written() -> None:
    context = Rich()
    context.text = object()
    with pytest.raises(PydanticSerializationError) as caught:
        write_context(context)
    (problem,) = problems_of(caught.value)
    assert "object" in problem


def test_problems_name_the_path_of_each_field() -> None:
    with pytest.raises(ValidationError) as caught:
        read_context(Rich, '{"notes":[{"likes":"x"}],"whole":"y"}')
    assert problems_of(caught.value) == (
        "whole: Input should be a valid integer, unable to parse string as an integer",
        "notes.0.text: Field required",
        "notes.0.likes: Input should be a valid integer, unable to parse string as an integer",
    )


def test_problems_of_the_whole_have_a_name_too() -> None:
    class Range(AgentContext):
        low: int
        high: int

        @model_validator(mode="after")
        def check(self) -> Range:
            if self.low > self.high:
                raise ValueError("low is above high")
            return self

    with pytest.raises(ValidationError) as caught:
        read_context(Range, '{"low":2,"high":1}')
    assert problems_of(caught.value) == ("the whole: Value error, low is above high",)


def test_only_fields_that_differ_have_changed() -> None:
    before, after = '{"a":1,"b":[1],"c":{"x":1}}', '{"a":2,"b":[1],"c":{"x":2}}'
    assert difference(before, after) == ContextDifference({"a": 2, "c": {"x": 2}}, {}, is_enough=True)


def test_nothing_has_changed_in_the_same_text() -> None:
    assert difference('{"a":1}', '{"a":1}') == ContextDifference({}, {}, is_enough=True)


def test_all_fields_of_a_first_context_have_changed() -> None:
    assert difference(None, '{"a":[1],"b":null}') == ContextDifference({"a": [1], "b": None}, {}, is_enough=False)


def test_a_field_that_was_not_there_has_changed_even_to_nothing() -> None:
    assert difference("{}", '{"a":null}') == ContextDifference({"a": None}, {}, is_enough=False)


def test_a_field_that_is_gone_is_now_nothing() -> None:
    told = difference('{"a":1,"b":2,"c":3}', '{"b":3}')
    assert told == ContextDifference({"b": 3, "a": None, "c": None}, {}, is_enough=False)


def test_fields_in_another_order_are_not_told_by_what_changed() -> None:
    assert difference('{"a":1,"b":2}', '{"b":2,"a":1}') == ContextDifference({}, {}, is_enough=False)


@pytest.mark.parametrize(
    ("before", "after", "items"),
    [("[]", "[1]", (1,)), ("[1]", "[1,2,3]", (2, 3)), ('["a",{"b":[]}]', '["a",{"b":[]},null]', (None,))],
)
def test_a_list_that_only_grew_is_told_by_what_was_appended(before: str, after: str, items: tuple[Any, ...]) -> None:
    told = difference(f'{{"a":{before}}}', f'{{"a":{after}}}')
    assert told == ContextDifference({}, {"a": items}, is_enough=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [("[1]", "[]"), ("[1]", "[2,1]"), ("[1]", "[true,2]"), ("[1.0]", "[1,2]"), ("[1]", "[2]"), ('"a"', '"ab"')],
)
def test_what_did_more_than_grow_has_changed(before: str, after: str) -> None:
    told = difference(f'{{"a":{before}}}', f'{{"a":{after}}}')
    assert (canonical_json(told.changed), told.appended) == (f'{{"a":{after}}}', {})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(), parts, max_size=3),
    max_leaves=8,
)


@laws
@given(st.lists(st.fixed_dictionaries({"a": JSON, "b": st.lists(JSON), "c": st.sampled_from([[], [1], [1, 2]])})))
def test_a_text_with_its_differences_is_the_later_text(contexts: list[Any]) -> None:
    texts = [write_json({name: each[name] for name in "abc"}) for each in [{"a": 1, "b": [], "c": []}, *contexts]]
    told = [difference(before, after) for before, after in pairwise(texts)]
    patches = [(write_json(each.changed), write_json(each.appended) if each.appended else None) for each in told]
    assert patched(texts[0], patches) == texts[-1]


def write_json(value: Any) -> str:
    return to_json(value).decode()


def test_a_field_that_was_deleted_does_not_come_back_as_its_default() -> None:
    context = Rich(whole=7)
    del context.whole
    assert changed_by_writing(context, again(context)) == ("whole: was deleted; assign a value instead",)


def test_a_field_that_was_deleted_inside_a_field_does_not_come_back_either() -> None:
    context = Rich(notes=[Note(text="a", likes=2)])
    del context.notes[0].likes
    (problem,) = changed_by_writing(context, again(context))
    assert problem.startswith("notes: ")


@pytest.mark.parametrize("number", [math.nan, 1.5])
def test_what_comes_back_as_it_was_is_no_problem(number: float) -> None:
    @dataclass
    class Point:
        x: float

    class Wrapped(AgentContext):
        numbers: tuple[dict[str, float], ...] = ()
        note: Note | None = None
        point: Point | None = None

    context = Wrapped(numbers=({"a": number},), note=Note(text="a"), point=Point(number))
    assert changed_by_writing(context, again(context)) == ()


@pytest.mark.parametrize(("before", "after"), [("1", "true"), ("0", "false"), ("[1]", "[true]")])
def test_a_number_that_became_a_truth_value_has_changed(before: str, after: str) -> None:
    told = difference(f'{{"a":{before}}}', f'{{"a":{after}}}')
    assert canonical_json(told.changed) == f'{{"a":{after}}}'


def test_the_fields_of_a_model_are_described_in_one_line() -> None:
    class Taken(BaseModel):
        customer: str
        urgent: bool = False
        note: str | None = None
        tags: list[str]
        more: dict[str, Any] = Field(default_factory=dict)

    assert describe_fields(Taken) == (
        "customer: str, urgent?: bool, note?: str | None, tags: list[str], more?: dict[str, Any]"
    )


def test_canonical_json_is_the_same_for_the_same_content() -> None:
    assert canonical_json({"b": [1, {"d": "é", "c": None}], "a": True}) == '{"a":true,"b":[1,{"c":null,"d":"é"}]}'
    assert canonical_json({"a": 1, "b": 2}) == canonical_json({"b": 2, "a": 1})


class Texts(BaseModel):
    texts: list[str] = []
    by_name: dict[str, int] = {}


def problems_with(value):
    with pytest.raises(ValidationError) as raised:
        Texts.model_validate_json(to_json(value))
    return problems_of(raised.value)


def test_ten_problems_are_listed_however_many_there_are():
    assert problems_with({"texts": [1, 2]}) == (
        "texts.0: Input should be a valid string",
        "texts.1: Input should be a valid string",
    )
    assert len(problems_with({"texts": [0] * 10})) == 10
    problems = problems_with({"texts": [0] * 500_000})
    assert problems[9:] == ("texts.9: Input should be a valid string", "and 499,990 more")


def test_a_problem_is_told_in_short_however_long_the_name_of_its_place():
    problems = problems_with({"by_name": {letter * 100_000: "x" for letter in "abcdefghijklmn"}})
    assert (len(problems), problems[-1]) == (11, "and 4 more")
    assert all(len(problem) < 1_000 for problem in problems)
    assert problems[0].startswith("by_name.aaa")


def test_a_kept_context_is_taken_once_and_only_for_the_text_that_it_was_read_from():
    pool, context = ContextPool(), AgentContext()
    pool.keep("a", "{}", context)
    assert pool.take("b", "{}") is None
    assert pool.take("a", "{}") is context
    assert pool.take("a", "{}") is None
    pool.keep("a", "{}", context)
    assert pool.take("a", '{"other": 1}') is None


def test_only_the_contexts_that_were_kept_last_stay():
    pool, context = ContextPool(), AgentContext()
    for number in range(3_000):
        pool.keep(str(number), "{}", context)
    assert [pool.take(str(number), "{}") for number in (0, 2_871)] == [None, None]
    assert pool.take("2872", "{}") is context


class Remembering(AgentContext):
    mood: Mood = Mood.GOOD
    notes: list[Note] = Field(default_factory=list)
    _asked: int = 0

    @property
    def asked(self) -> int:
        self._asked += 1
        return self._asked


def read_only(notes: int = 1) -> tuple[Remembering, Remembering]:
    plain = Remembering(notes=[Note(text="well")] * notes)
    return read_only_context(Remembering, write_context(plain)), plain


def test_a_field_of_a_context_that_is_only_read_can_be_neither_set_nor_deleted() -> None:
    context, plain = read_only()
    with pytest.raises(ReadOnlyContextError, match="'notes' of a Remembering"):
        context.notes = []
    with pytest.raises(ReadOnlyContextError):
        del context.notes
    assert context == plain


def test_a_context_that_is_only_read_equals_contexts_with_the_same_values() -> None:
    context, plain = read_only()
    assert context == plain
    assert plain == context
    assert context == read_only()[0]
    assert context != read_only(notes=2)[0]
    assert context != read_only(notes=2)[1]
    assert isinstance(context, Remembering)
    assert repr(context) == repr(plain)


@pytest.mark.parametrize("copied", [copy, deepcopy, lambda context: pickle.loads(pickle.dumps(context))])
def test_copies_of_a_context_that_is_only_read_can_be_changed(copied: Callable[[Remembering], Remembering]) -> None:
    context, plain = read_only()
    mine = copied(context)
    mine.notes = []
    assert type(mine) is Remembering
    assert context == plain
    with pytest.raises(ReadOnlyContextError):
        context.notes = []


def test_a_context_that_is_only_read_remembers_what_it_works_out() -> None:
    context, _ = read_only()
    assert (context.asked, context.asked) == (1, 2)


ITEMS = (
    {"text": 'a ],[ "b', "more": [1, {"x": []}]},
    {"text": "],"},
    {"text": "]", "more": []},
    {"text": "", "more": [2]},
)
LATER = (("notes", [{"text": "]"}]), ("tags", ["a", "]"]), ("count", 1))


@given(
    st.lists(st.sampled_from(ITEMS), min_size=1, max_size=5),
    st.lists(st.sampled_from(ITEMS), max_size=5),
    st.lists(st.sampled_from(LATER), max_size=3),
    st.sampled_from(["", "a", '"notes":[{']),
)
def test_the_difference_of_long_contexts_is_that_of_short_ones(
    first: list[dict[str, Any]], second: list[dict[str, Any]], later: list[tuple[str, Any]], title: str
) -> None:
    before = {"title": title, "size": 1.0, "items": first, "rest": {"items": first}}
    after = before | {"items": [*first, *second], "rest": {"items": second}} | dict(later)
    short = difference(compact_json(before), compact_json(after))
    filler = {"text": "x" * 5_000}
    long_before, long_after = (
        compact_json(each | {"items": [filler, *each["items"]]})  # type: ignore[misc]
        for each in (before, after)
    )
    assert difference(long_before, long_after).texts() == short.texts()


def test_a_list_that_grew_inside_the_last_item_counts_as_a_change() -> None:
    filler = {"text": "x" * 5_000}
    before, after = ({"items": [filler, {"more": more, "id": 1}]} for more in ([1], [1, 2]))
    assert difference(compact_json(before), compact_json(after)).changed == after
