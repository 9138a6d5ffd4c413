"""Models that choose by a script: what is tested with them holds for any model, and needs no library of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from pydantic import BaseModel


class Call(BaseModel):
    """A tool call of a model."""

    id: str
    tool: str
    arguments: dict[str, Any]


class Model(Protocol):
    """What chooses among tools."""

    async def calls(self, text: str, tools: Sequence[dict[str, Any]]) -> list[Call]:
        """Return the model's tool calls. tools: in the shape of OpenAI's chat completions."""
        ...


class Scripted:
    """A model that calls the tools of its script, one each time, and then ends without a call."""

    def __init__(self, *script: str) -> None:
        self._script: Iterator[str] = iter(script)
        self.told: list[str] = []  # the texts that it was shown

    async def calls(self, text: str, tools: Sequence[dict[str, Any]]) -> list[Call]:
        """See Model."""
        self.told.append(text)
        return [_call(tool, len(self.told)) for tool in self._next(tools)]

    def _next(self, _tools: Sequence[dict[str, Any]]) -> list[str]:
        return [tool for tool in [next(self._script, "")] if tool]


class Stubborn(Scripted):
    """A model that chooses the first tool whatever it is told, and so never leaves a loop by itself."""

    def _next(self, tools: Sequence[dict[str, Any]]) -> list[str]:
        return [tools[0]["function"]["name"]]


def _call(tool: str, number: int) -> Call:
    return Call(id=f"call-{number}", tool=tool, arguments={"reason": f"remark {number}"})
