"""The events of a streamed message of Anthropic, put together as the answer that comes at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_json

from gatechart.models.arguments import read_arguments
from gatechart.models.bounds import AnswerBounds
from gatechart.models.failures import cut_off, invalid_answer
from gatechart.models.openai_stream import merged
from gatechart.models.usage import merged_usage


@dataclass(slots=True)
class _Block:
    """A block as its pieces come."""

    fields: dict[str, Any]
    pieces: dict[str, list[str]] = field(default_factory=dict)  # of texts, by field
    inputs: list[str] = field(default_factory=list)  # pieces of the arguments, as JSON text

    def whole(self) -> dict[str, Any]:
        block = dict(self.fields)
        for key, pieces in self.pieces.items():
            block[key] = "".join([block.get(key) or "", *pieces])
        text = "".join(self.inputs)
        if text.strip():
            arguments, problem = read_arguments(text)
            block["input"] = text if problem else arguments
        return block


@dataclass(slots=True)
class MessageCollector:
    """Puts the events of a stream together. tell: is given each piece of text."""

    tell: Callable[[str], None]
    bounds: AnswerBounds
    is_empty: bool = True  # whether no event had anything of a message
    _message: dict[str, Any] = field(default_factory=dict)
    _usage: dict[str, Any] = field(default_factory=dict)
    _blocks: dict[object, _Block] = field(default_factory=dict)
    _size: int = 0
    _is_over: bool = False

    def add(self, event: Any) -> None:
        """See Collector. Unknown kinds of events are ignored, as the provider's documentation demands."""
        match event.get("type"):
            case "message_start":
                self._start(event.get("message"))
            case "content_block_start":
                self._begin(event.get("index"), event.get("content_block"))
            case "content_block_delta":
                self._extend(event.get("index"), event.get("delta"))
            case "message_delta":
                self._change(event)
            case "message_stop":
                self._is_over = True
        self.bounds.check_bytes(self._size)

    def _start(self, message: object) -> None:
        if not isinstance(message, dict):
            return
        self._message = {key: value for key, value in message.items() if key not in {"content", "usage"}}
        self._usage = merged_usage(self._usage, message.get("usage"))
        content = message.get("content")
        for index, block in enumerate(content if isinstance(content, list) else ()):
            self._begin(index, block)

    def _begin(self, index: object, block: object) -> None:
        if not isinstance(block, dict):
            raise invalid_answer("a block of its stream is no object")
        self.is_empty = False
        self._blocks[index] = _Block(dict(block))
        self.bounds.check_parts(len(self._blocks))
        self.bounds.check_calls(sum(each.fields.get("type") == "tool_use" for each in self._last_blocks(block)))
        self._size += len(to_json(block, fallback=str))
        text = block.get("text")
        if block.get("type") == "text" and isinstance(text, str) and text:
            self.tell(text)

    def _last_blocks(self, block: Mapping[str, Any]) -> list[_Block]:
        """Return the blocks to count calls in, which only a call adds to."""
        return list(self._blocks.values()) if block.get("type") == "tool_use" else []

    def _extend(self, index: object, delta: object) -> None:
        if not isinstance(delta, dict):
            return
        self.is_empty = False
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = self._missing(delta)
        for key, value in delta.items():
            if key != "type" and value is not None:
                self._add(block, str(delta.get("type")), key, value)

    def _missing(self, delta: Mapping[str, Any]) -> _Block:
        """Return the block of a piece whose beginning some servers leave out."""
        kind = str(delta.get("type")).removesuffix("_delta")
        if kind not in {"text", "thinking"}:
            raise invalid_answer(f"its stream has a {kind!r} piece of a block that never started")
        return _Block({"type": kind, kind: ""})

    def _add(self, block: _Block, kind: str, key: str, value: Any) -> None:
        if key == "partial_json":
            piece = value if isinstance(value, str) else to_json(value).decode()
            block.inputs.append(piece)
            self._size += len(piece)
        elif key == "citation":
            block.fields["citations"] = [*(block.fields.get("citations") or ()), value]
            self._size += len(to_json(value, fallback=str))
        elif isinstance(value, str) and key not in {"signature", "encrypted_content"}:
            block.pieces.setdefault(key, []).append(value)
            self._size += len(value)
            if kind == "text_delta" and key == "text" and value:
                self.tell(value)
        else:
            block.fields[key] = value if isinstance(value, str) else merged(block.fields.get(key), value)

    def _change(self, event: Mapping[str, Any]) -> None:
        self._usage = merged_usage(self._usage, event.get("usage"))
        delta = event.get("delta")
        changes = {**(delta if isinstance(delta, dict) else {}), "context_management": event.get("context_management")}
        self._message |= {key: value for key, value in changes.items() if value is not None}

    def answer(self) -> Any:
        """See Collector. A message is complete that names its reason to stop, or whose end came."""
        if not self._is_over and not self._message.get("stop_reason"):
            raise cut_off()
        blocks = [each.whole() for each in self._blocks.values()]
        return {**self._message, "content": blocks, "usage": self._usage}
