"""Summaries of a transcript: the request, the answers that count, and extracts in place of a summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

from pydantic import Field, TypeAdapter
from pydantic_core import to_json

from gatechart.errors.models import ModelFailedError
from gatechart.handoff.conversation import SUMMARY
from gatechart.handoff.packet import Message
from gatechart.models.contents import without_secrets
from gatechart.models.finish import finish_of
from gatechart.models.fitting import shortened, shortened_text
from gatechart.models.model import NO_USAGE, Finish, ModelReply, ModelRequest, Usage, result_text
from gatechart.models.repair import TEXT_ALONE, in_form, is_refusal
from gatechart.models.requesting import Requester, is_too_long
from gatechart.models.tokens import tokens_in, tokens_of_message
from gatechart.models.transcript import Transcript
from gatechart.tools.definition import AnyTool

ENTRY: Final = "summary"
"""The beginning of the names of SummaryAnswers in a journal."""

_LEAST_ROOM: Final = 256
_MOST_EXTRACTS: Final = 2_000
_LINE: Final = 60
_NO_SUMMARY: Final = "[The model wrote no summary. Extracts from the conversation:]"
_OUTAGES: Final = (
    "authentication",
    "connection",
    "not_found",
    "overloaded",
    "permission",
    "quota",
    "rate_limit",
)
"""Failures of a provider that the next turn would meet as well, so that extracts would not help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryAnswer:
    """An answer to a request for a summary, which was paid for."""

    names: tuple[str, ...] = ()  # of the entries that it summarizes; () in older journals: all that were not kept
    text: str = ""  # of the summary; "" if the answer does not count as one
    finish: Finish = Finish.ANSWERED
    reason: str = ""  # the provider's own word for why the answer ended
    usage: Usage = NO_USAGE
    by: str = ""  # the entry of a state and the invoke that asked
    is_plain: bool = False  # whether it was asked for without tools
    message: Annotated[Message | None, Field(exclude_if=lambda value: value is None)] = None  # of older journals

    @property
    def summary(self) -> str:
        """The text of the summary; "" if there is none."""
        return self.text or ("" if self.message is None else self.message.content.strip())


_ANSWER: Final = TypeAdapter(SummaryAnswer)


def summary_answers(entries: Mapping[str, str]) -> dict[str, SummaryAnswer]:
    """Return the answers in a journal that no compaction has used yet, by the names of their entries."""
    names = [each for each in entries if each.partition(".")[0] == ENTRY]
    return {name: _ANSWER.validate_json(entries[name]) for name in names}


def summary_in(reply: ModelReply) -> str:
    """Return the summary that a model wrote; "" if its answer does not count as one.

    Only a complete answer counts. Calls are ignored, and the text beside them counts if the provider says that the
    answer ended, rather than that it waits for results.
    """
    finish = reply.finish
    if finish is Finish.CALLS and reply.reason:
        finish = finish_of(reply.reason, reply.message.model_copy(update={"tool_calls": ()}))
    text = reply.message.content.strip() if finish is Finish.ANSWERED else ""
    return text.encode(errors="replace").decode()  # halves of characters cannot be stored


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRequest:
    """A request for a summary, with at most `room` tokens of the conversation."""

    old: Transcript
    room: int  # tokens
    instructions: str
    tools: tuple[AnyTool, ...]
    by: str
    is_plain: bool  # without tools, and with earlier calls told in words

    async def answer(self, requester: Requester) -> SummaryAnswer:
        """Ask for a summary of the oldest entries, of as many as the provider takes. Raises ModelFailedError."""
        room = self.room
        while True:
            names, messages = self._piece(room)
            try:
                reply = await requester.reply(self._request(messages, requester))
            except ModelFailedError as error:
                if not is_too_long(error) or room < _LEAST_ROOM:
                    raise
                room //= 2
                continue
            text = shortened_text(summary_in(reply), max(room // 2, _LEAST_ROOM))
            return SummaryAnswer(
                names=names,
                text=text,
                finish=reply.finish,
                reason=reply.reason,
                usage=reply.usage,
                by=self.by,
                is_plain=self.is_plain,
            )

    def _piece(self, room: int) -> tuple[tuple[str, ...], tuple[Message, ...]]:
        """Return the names and messages of the oldest entries that fit, two with messages at least.

        Large texts are shortened to a quarter of the room each.
        """
        names: list[str] = []
        told: list[Message] = []
        number, tokens = 0, 0
        for group, messages in self.old.groups():
            shorter = [shortened(without_secrets(each), max(room // 4, _LEAST_ROOM // 4)) for each in messages]
            tokens += sum(map(tokens_of_message, shorter))
            if number >= 2 and tokens > room:
                break
            number += bool(messages)
            names += group
            told += shorter
        return tuple(names), tuple(told)

    def _request(self, messages: Iterable[Message], requester: Requester) -> ModelRequest:
        asked = Message(role="user", content=self.instructions)
        if self.is_plain:
            words = (told for each in messages for told in in_form(each, TEXT_ALONE))
            return ModelRequest(messages=(*words, asked))
        # Some providers refuse calls in a conversation without the tools.
        request = ModelRequest(messages=(*messages, asked), tools=self.tools, strict=requester.strict)
        return replace(request, tool_choice="none") if self.tools else request


def is_without_summary(error: Exception) -> bool:
    """Return whether a failure is of this request alone, so that the loop continues with extracts."""
    if isinstance(error, ModelFailedError):
        return error.code not in _OUTAGES
    return is_refusal(error)


def extracts(messages: Sequence[Message], most_tokens: int) -> str:
    """Return extracts of messages that take the place of a summary: the beginning and end of each, the newest ones.

    An earlier summary among them keeps up to half of the tokens. Secrets are masked.
    """
    most = min(most_tokens, _MOST_EXTRACTS)
    earlier = [shortened_text(each.content, most // 2) for each in messages if each.role == SUMMARY]
    lines: list[str] = []
    left = most - sum(map(tokens_in, earlier))
    others = [without_secrets(each) for each in messages if each.role != SUMMARY]
    for message in reversed(others):
        line = _line(message)
        left -= tokens_in(line)
        if left < 0 and lines:
            break
        lines.insert(0, line)
    gone = [f"[{len(others) - len(lines):,} messages are left out here.]"] if len(lines) < len(others) else []
    return "\n".join((_NO_SUMMARY, *earlier, *gone, *lines))


def _line(message: Message) -> str:
    calls = [
        f"{call.name} {shortened_text(to_json(call.arguments).decode(), _LINE)}: "
        f"{shortened_text(result_text(call), _LINE)}"
        for call in message.tool_calls
    ]
    words = shortened_text(message.content, _LINE)
    return "; ".join((f"{message.role}: {words}" if words else f"{message.role}:", *calls))
