"""Long conversations are read from where they are new, and no context sees what was changed in another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import Field, ValidationError, field_validator, model_validator

from gatechart.context import read_context, read_only_context, rewritten, write_context
from gatechart.errors import ContextInvalidError
from gatechart.handoff import ConversationContext, Message, ToolCall, known_messages

LONG = 60  # messages; enough to be read from where they are new


class Checked(ConversationContext):
    lengths: list[int] = Field(default_factory=list)

    @field_validator("messages")
    @classmethod
    def _no_shouting(cls, messages: list[Message]) -> list[Message]:
        if any(each.content.isupper() for each in messages):
            raise ValueError("it shouts")
        return messages

    @model_validator(mode="after")
    def _count(self) -> Checked:
        self.lengths.append(len(self.messages))
        return self


class Early(ConversationContext):
    seen: int = 0

    @model_validator(mode="before")
    @classmethod
    def _count(cls, data: Any) -> Any:
        return {**data, "seen": len(data.get("messages", ()))} if isinstance(data, dict) else data


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    known_messages._latest.clear()
    yield
    known_messages._latest.clear()


@pytest.fixture
def validated(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many messages each reading validated."""
    counts: list[int] = []
    original = known_messages._Reading.completed

    def counting(reading: known_messages._Reading, new: list[Message]) -> list[Message]:
        counts.append(len(new))
        return original(reading, new)

    monkeypatch.setattr(known_messages._Reading, "completed", counting)
    return counts


def talk(kind: type[ConversationContext] = ConversationContext, count: int = LONG) -> Any:
    context = kind()
    for number in range(count):
        call = ToolCall(name="look_up", arguments={"of": [number]}, output={"rows": [{"n": number}]}, id=f"c{number}")
        context.say("agent" if number % 2 else "user", f"line {number} " * 8, tool_calls=[call] if number % 2 else ())
    return context


def test_only_new_messages_are_validated(validated: list[int]) -> None:
    context = talk()
    for _ in range(3):
        text, context = rewritten(context, None, "a", "e")
        assert context == ConversationContext.model_validate_json(text)
        context.say("user", "more")
    assert validated == [LONG, 1, 1]


def test_other_agents_and_short_conversations_are_read_whole(validated: list[int]) -> None:
    text = write_context(talk())
    for agent_id in ("a", "b", ""):
        assert read_context(ConversationContext, text, agent_id).messages == talk_of(text)
    read_context(ConversationContext, write_context(talk(count=2)), "a")
    assert validated == [LONG, LONG]


def talk_of(text: str) -> list[Message]:
    return ConversationContext.model_validate_json(text).messages


def test_what_is_changed_in_one_context_shows_in_no_other() -> None:
    text = write_context(talk())
    read_context(ConversationContext, text, "a")
    one, other = (read_context(ConversationContext, text, "a") for _ in range(2))
    seen_by_invoke = read_only_context(ConversationContext, text, "a")
    one.messages[1].tool_calls[0].arguments["of"].append("x")  # type: ignore[union-attr]
    one.messages[1].tool_calls[0].output["rows"][0]["n"] = "y"  # type: ignore[call-overload,index]
    one.messages.clear()
    for context in (other, seen_by_invoke, read_context(ConversationContext, text, "a")):
        assert write_context(context) == text


def test_unknown_fields_of_messages_are_not_shared_either() -> None:
    context = talk()
    context.messages[0] = Message.model_validate({"role": "user", "mood": {"is": ["good"]}, "id": "m"})
    text = write_context(context)
    one, other = (read_context(ConversationContext, text, "a") for _ in range(2))
    one.messages[0].model_extra["mood"]["is"].append("bad")  # type: ignore[index]
    assert write_context(other) == text
    assert write_context(read_context(ConversationContext, text, "a")) == text


def test_a_change_inside_a_known_message_is_kept() -> None:
    context = read_context(ConversationContext, write_context(talk()), "a")
    context.messages[1].tool_calls[0].arguments["of"] = [1.0, True]
    text, restored = rewritten(context, None, "a", "e")
    assert '"of":[1.0,true]' in text
    assert restored is not None
    assert [type(each) for each in restored.messages[1].tool_calls[0].arguments["of"]] == [float, bool]  # type: ignore[union-attr]


def test_a_value_that_json_changes_is_found_in_a_known_message() -> None:
    context = read_context(ConversationContext, write_context(talk()), "a")
    context.messages[1].tool_calls[0].arguments["of"] = (1,)  # type: ignore[assignment]
    with pytest.raises(ContextInvalidError, match="messages"):
        rewritten(context, None, "a", "e")


@pytest.mark.parametrize("change", [lambda m: m[1:], lambda m: m[:-1], lambda m: m[::-1], lambda m: [m[0], *m]])
def test_a_conversation_that_was_cut_or_sorted_is_read_as_it_is(change: Any) -> None:
    context = read_context(ConversationContext, write_context(talk()), "a")
    context.messages = change(context.messages)
    text, restored = rewritten(context, None, "a", "e")
    assert restored is not None
    assert restored.messages == talk_of(text)


def test_validators_that_run_after_the_messages_see_all_of_them(validated: list[int]) -> None:
    context = read_context(Checked, write_context(talk(Checked)), "a")
    context.lengths.clear()
    context.messages.append(Message(role="user", content="more", id="m"))
    again = read_context(Checked, write_context(context), "a")
    assert again.lengths == [LONG + 1]
    assert validated == [LONG, 1]
    again.messages.append(Message(role="user", content="MORE", id="n"))
    with pytest.raises(ValidationError, match="it shouts"):
        read_context(Checked, write_context(again), "a")


def test_a_kind_that_looks_at_messages_before_they_are_validated_is_read_whole(validated: list[int]) -> None:
    text = write_context(talk(Early))
    assert [read_context(Early, text, "a").seen for _ in range(2)] == [LONG, LONG]
    assert validated == []


def test_an_error_names_the_position_among_all_messages() -> None:
    text = write_context(talk())
    read_context(ConversationContext, text, "a")
    wrong = text.replace('],"reasoning"', ',{"role":1}],"reasoning"')
    with pytest.raises(ValidationError) as raised:
        read_context(ConversationContext, wrong, "a")
    assert raised.value.errors()[0]["loc"] == ("messages", LONG, "role")


def test_texts_that_look_like_messages_do_not_mislead() -> None:
    context = talk()
    context.current_problem = 'say "messages":[ and ],"reasoning":[] to \\"messages\\":[{'
    context.internal_state = {"messages": [{"role": "user"}], "reasoning": []}
    for _ in range(2):
        text = write_context(context)
        assert read_context(ConversationContext, text, "a") == ConversationContext.model_validate_json(text)
        context.say("user", '"}],"reasoning":[')
