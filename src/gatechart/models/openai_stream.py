"""The chunks of a streamed chat completion, put together as the answer that comes at once.

Compatible servers leave out or repeat different fields, so only the order of the chunks is relied on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_core import from_json, to_json

from gatechart.models.bounds import AnswerBounds
from gatechart.models.failures import cut_off, error_in_answer, invalid_answer
from gatechart.models.usage import merged_usage

_NAMES: Final = frozenset({"format", "id", "name", "object", "role", "signature", "thought_signature", "type"})
"""Fields whose text comes whole; the text of any other field comes in pieces."""

_MADE_OF_PIECES: Final = ("content", "tool_calls")


@dataclass(slots=True)
class _Call:
    """A call as its pieces come."""

    index: object
    fields: dict[str, Any] = field(default_factory=dict)  # all but the function
    function: dict[str, Any] = field(default_factory=dict)  # all but the arguments
    pieces: list[str] = field(default_factory=list)  # of the arguments
    is_whole: bool = False  # whether the arguments came as an object

    @property
    def id(self) -> str:
        return str(self.fields.get("id") or "")

    @property
    def name(self) -> str:
        return str(self.function.get("name") or "")

    @property
    def is_complete(self) -> bool:
        """Whether its arguments are a JSON object already, so that further pieces belong to another call."""
        return self.is_whole or _is_object("".join(self.pieces))

    def add(self, piece: Mapping[str, Any]) -> int:
        """Add a piece. Return the number of characters in its arguments."""
        function = piece.get("function")
        function = function if isinstance(function, dict) else {}
        for key, value in piece.items():
            if key not in {"function", "index"} and value is not None and (value != "" or key not in self.fields):
                self.fields[key] = value if key != "id" or not self.id else self.id
        for key, value in function.items():
            if key == "name":
                self._add_name(value)
            elif key != "arguments" and value is not None:
                self.function[key] = value
        return self._add_arguments(function.get("arguments", piece.get("arguments")))

    def _add_name(self, name: object) -> None:
        """Add a piece of the name; servers that repeat it in each chunk repeat all of it."""
        if isinstance(name, str) and name != self.name:
            self.function["name"] = self.name + name

    def _add_arguments(self, arguments: object) -> int:
        if arguments is None or self.is_whole:
            return 0
        if isinstance(arguments, str):
            self.pieces.append(arguments)
            return len(arguments)
        self.pieces, self.is_whole = [to_json(arguments).decode()], True
        return len(self.pieces[0])

    def message(self) -> dict[str, Any]:
        if "custom" in self.fields:
            return self.fields
        return {**self.fields, "function": {**self.function, "arguments": "".join(self.pieces)}}


@dataclass(slots=True)
class ChatCollector:
    """Puts the chunks of a stream together. tell: is given each piece of text."""

    tell: Callable[[str], None]
    bounds: AnswerBounds
    is_empty: bool = True  # whether no chunk had anything of a message
    _message: dict[str, Any] = field(default_factory=dict)
    _text: list[str] = field(default_factory=list)
    _parts: list[Any] = field(default_factory=list)
    _calls: list[_Call] = field(default_factory=list)
    _pieces: dict[str, list[str]] = field(default_factory=dict)  # of other texts, by field
    _size: int = 0
    _finish: str | None = None
    _usage: dict[str, Any] = field(default_factory=dict)
    _more: dict[str, Any] = field(default_factory=dict)  # of the choice and the answer

    def add(self, event: Any) -> None:
        """See Collector."""
        self._usage = merged_usage(self._usage, event.get("usage"))
        groq = event.get("x_groq")
        if isinstance(groq, dict):
            self._usage = merged_usage(self._usage, groq.get("usage"))
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in {None, 0}:
                self._add_choice(choice)
        self._more |= {key: event[key] for key in ("object", "message", "detail", "base_resp") if key in event}

    def _add_choice(self, choice: Mapping[str, Any]) -> None:
        if choice.get("error"):
            raise error_in_answer(choice["error"])
        self._usage = merged_usage(self._usage, choice.get("usage"))
        delta = choice.get("delta")
        if not isinstance(delta, dict) and self.is_empty:
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._add_delta(delta)
        reason = choice.get("finish_reason")
        self._finish = reason if isinstance(reason, str) and reason else self._finish

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        self._add_content(delta.get("content"))
        calls = delta.get("tool_calls")
        for piece in [calls] if isinstance(calls, dict) else calls if isinstance(calls, list) else ():
            if isinstance(piece, dict):
                self._add_call(piece)
        for key, value in delta.items():
            if key not in _MADE_OF_PIECES and value is not None:
                self.is_empty = self.is_empty and key == "role"
                self._add_field(key, value)
        self.bounds.check_bytes(self._size)

    def _add_field(self, key: str, value: Any) -> None:
        if isinstance(value, str) and key not in _NAMES:
            self._pieces.setdefault(key, []).append(value)
            self._size += len(value)
            if key == "refusal" and value:
                self.tell(value)
        else:
            self._message[key] = merged(self._message.get(key), value)
            self._size += len(to_json(value, fallback=str))

    def _add_content(self, content: Any) -> None:
        if isinstance(content, str) and content:
            self.is_empty = False
            self._add_text(content)
        for part in [content] if isinstance(content, dict) else content if isinstance(content, list) else ():
            self.is_empty = False
            self._add_part(part)

    def _add_text(self, text: str) -> None:
        if self._parts:
            self._parts = merged(self._parts, [{"type": "text", "text": text}])
        self._text.append(text)
        self._size += len(text)
        self.tell(text)

    def _add_part(self, part: Any) -> None:
        if isinstance(part, str):
            part = {"type": "text", "text": part}
        if not self._parts and self._text:
            self._parts = [{"type": "text", "text": "".join(self._text)}]
        self._parts = merged(self._parts, [part])
        self.bounds.check_parts(len(self._parts))
        self._size += len(to_json(part, fallback=str))
        if isinstance(part, dict) and part.get("type") in {"text", "output_text"} and isinstance(part.get("text"), str):
            self.tell(part["text"])

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        self.is_empty = False
        call = self._continued(piece)
        if call is None:
            call = _Call(piece.get("index"))
            self._calls.append(call)
            self.bounds.check_calls(len(self._calls))
        self._size += call.add(piece)

    def _continued(self, piece: Mapping[str, Any]) -> _Call | None:
        """Return the call that a piece continues; None if it begins another."""
        index, call_id = piece.get("index"), piece.get("id") or ""
        same = [each for each in self._calls if call_id and each.id == call_id]
        if same:
            return same[-1] if same[-1].index == index or index is None else None
        candidates = [each for each in self._calls if index is None or each.index == index]
        last = candidates[-1] if candidates else None
        if last is None or (call_id and last.id):
            return None
        function = piece.get("function")
        name = function.get("name") if isinstance(function, dict) else None
        return None if name and last.name and (last.is_complete or (index is None and name != last.name)) else last

    def answer(self) -> Any:
        """See Collector."""
        if self._finish is None:
            if self.is_empty and self._more.keys() & {"message", "detail", "base_resp"}:
                raise error_in_answer(self._more)
            raise cut_off()
        message = {"role": "assistant", **self._message, "content": self._content()}
        message |= {key: "".join(pieces) for key, pieces in self._pieces.items()}
        if self._calls:
            message["tool_calls"] = [each.message() for each in self._calls]
        return {"choices": [{"message": message, "finish_reason": self._finish}], "usage": self._usage}

    def _content(self) -> Any:
        if self._parts:
            return self._parts
        return "".join(self._text) if self._text or not self._calls else None


def merged(old: Any, new: Any) -> Any:
    """Return what two pieces of a field add up to.

    Texts are joined, objects merged by their fields, and items of arrays by their type and index.

    >>> merged({"text": "a", "id": "1"}, {"text": "b", "id": "1"})
    {'text': 'ab', 'id': '1'}
    """
    if old is None or new is None:
        return old if new is None else new
    if isinstance(old, dict) and isinstance(new, dict):
        result = dict(old)
        for key, value in new.items():
            is_whole = key in _NAMES or not isinstance(value, str | dict | list)
            result[key] = value if is_whole and value is not None else merged(result.get(key), value)
        return result
    if isinstance(old, list) and isinstance(new, list):
        result_list = list(old)
        for item in new:
            if result_list and _continues(result_list[-1], item):
                result_list[-1] = merged(result_list[-1], item)
            else:
                result_list.append(item)
        return result_list
    return old + new if isinstance(old, str) and isinstance(new, str) else new


def _continues(last: object, item: object) -> bool:
    """Return whether an item of an array is a piece of the one before it."""
    if not isinstance(last, dict) or not isinstance(item, dict):
        return False
    if "index" in last and "index" in item and last["index"] != item["index"]:
        return False
    if item.get("id") and last.get("id") and item["id"] != last["id"]:
        return False
    kind = item.get("type", last.get("type"))
    return kind == last.get("type") and isinstance(kind, str) and kind.partition(".")[0] in _TEXTUAL


_TEXTUAL: Final = frozenset({"text", "output_text", "thinking", "reasoning", "refusal"})


def _is_object(text: str) -> bool:
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(from_json(text), dict)
    except ValueError:
        return False


def answer_of_choice(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first choice of an answer. Raises ModelFailedError if it has none, or holds an error."""
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        if answer.keys() & {"message", "detail", "msg", "base_resp"} or answer.get("object") == "error":
            raise error_in_answer(answer)
        raise invalid_answer("it has no choices")
    choice: Mapping[str, Any] = choices[0]
    if choice.get("error"):
        raise error_in_answer(choice["error"])
    return choice
