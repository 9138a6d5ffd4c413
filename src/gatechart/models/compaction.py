"""Compaction of transcripts: when to summarize the older part, and how much of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, cast

from gatechart.handoff.conversation import SUMMARY
from gatechart.hosting.agent_journal import AgentJournal
from gatechart.hosting.invoke_context import Step, Work
from gatechart.models.limits import Summarize
from gatechart.models.model import NO_USAGE, Finish, Usage
from gatechart.models.requesting import Frame, Requester
from gatechart.models.summaries import (
    ENTRY,
    SummaryAnswer,
    SummaryRequest,
    extracts,
    is_without_summary,
    summary_answers,
)
from gatechart.models.tokens import tokens_of, tokens_of_result
from gatechart.models.transcript import Transcript

_WINDOW_EXCEEDED: Final = "model_context_window_exceeded"
"""Anthropic's and Zhipu's word for an answer that was cut off because the conversation left it no room."""

_SMALLEST_SHARE: Final = 8
"""A summary has to replace at least 1/n of the tokens of a transcript; else it is not worth a call. This is n."""

_LEAST_ROOM: Final = 1_000
"""Tokens of the conversation that a request for a summary has at least, however small `at_tokens` is."""

_WORTH_ALONE: Final = 1_000
"""Tokens of a single message that is worth a summary."""


def tokens_to_send(transcript: Transcript, state: str, frame: Frame) -> int:
    """Return how many tokens the next request has: the number that was reported last, and an estimate of the rest.

    All are estimated if the newest turn's provider reported none, if entries were replaced since, or if that turn
    belongs to another state, whose tools and instructions may differ.
    """
    last, added = transcript.last, transcript.added()
    if last is None or added is None or last.state != state or not _is_reported(last.usage):
        return frame.tokens + tokens_of(transcript.messages)
    turn, *newer = added
    return transcript.size + sum(map(tokens_of_result, turn.tool_calls)) + tokens_of(newer)


def _is_reported(usage: Usage) -> bool:
    return usage.is_reported and usage.input_tokens > 0


def limit_of(transcript: Transcript, state: str) -> int:
    """Return the limit of tokens for the messages of the next request; 0 for no limit.

    The newest turn has the limit that its provider accepted. It ends once a part of the transcript is replaced, and in
    another state, which may ask another model.
    """
    last = transcript.last
    if last is None or last.state != state or transcript.added() is None:
        return 0
    if fills_window(transcript):
        return (last.limit or tokens_of(transcript.messages)) // 2
    return last.limit


def fills_window(transcript: Transcript) -> bool:
    """Return whether the newest answer was cut off because the conversation fills the model's context window."""
    last = transcript.last
    is_cut_off = last is not None and last.finish is Finish.LENGTH and last.reason == _WINDOW_EXCEEDED
    return is_cut_off and transcript.added() is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class OldPart:
    """The part of a transcript that is to be summarized."""

    transcript: Transcript
    room: int  # tokens of the conversation that a request for the summary may have


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """A summary, or extracts in place of one, and the entries that it replaces."""

    text: str
    names: tuple[str, ...]  # of the summarized entries
    answers: tuple[str, ...]  # names of the recorded answers to requests for it
    usage: Usage  # of these answers, in this entry of the state


class Compactor:
    """Finds the old part of a transcript, and has it summarized."""

    def __init__(self, policy: Summarize, talk: Work[Any], requester: Requester, by: str) -> None:
        self._policy = policy
        self._talk = talk
        self._journal = cast("AgentJournal", talk.journal)
        self._requester = requester
        self._by = by
        self._names: set[str] = set()  # of the steps of this run

    @property
    def usage(self) -> Usage:
        """Usage of answers in this entry of the state that no compaction has used yet."""
        answers = self._answers().values()
        return sum((each.usage for each in answers if each.by == self._by), NO_USAGE)

    def _answers(self) -> dict[str, SummaryAnswer]:
        recorded = ((name, self._journal.recorded(name)) for name in self._journal.names(ENTRY))
        return summary_answers({name: text for name, text in recorded if text is not None})

    def old_part(self, transcript: Transcript, state: str, frame: Frame, refused: int) -> OldPart | None:
        """Return the part to summarize; None if the next request is short enough, or if a summary gains nothing.

        refused: tokens of a request that its provider refused for its length; 0 if there was none.
        """
        most = self._policy.at_tokens
        limit = limit_of(transcript, state)
        if refused or limit:
            most = max(min(most, refused // 2 if refused else limit + frame.tokens), 1)
        # The size of a refused request is an estimate, so it is compared with an estimate, not with a provider's count.
        tokens = frame.tokens + tokens_of(transcript.messages) if refused else tokens_to_send(transcript, state, frame)
        if tokens < most:
            return None
        room = max(most - frame.tokens, most // 4)
        old, _ = transcript.split(self._kept(transcript, room // 2))
        if not _is_worth(old, transcript, is_refused=refused > 0):
            return None
        return OldPart(transcript=old, room=max(room, _LEAST_ROOM))

    def _kept(self, transcript: Transcript, most_tokens: int) -> int:
        """Return the number of newest messages to keep: fewer than the policy's if they are too large, at least one."""
        kept, tokens = 0, 0
        for _, messages in reversed(list(transcript.groups())):
            tokens += tokens_of(messages)
            if kept == self._policy.keep or (kept and tokens > most_tokens):
                break
            kept += 1
        return kept

    async def summary(
        self,
        part: OldPart,
        transcript: Transcript,
        frame: Frame,
        step: Callable[[str], Step],
        check: Callable[[], None],
    ) -> Summary:
        """Return the summary of a part, or of its beginning if a request has no room for all of it.

        An answer that is recorded, but not used, is used now. The model is asked twice at most: with its tools, which
        it is not to call, then without tools. Then extracts take the place of the summary. step: makes steps of names.
        check: is called before each request, and raises if a limit is reached. Raises the failures of a provider that
        the next turn would meet as well.
        """
        answers = self._answers().values()
        usable = [each for each in answers if set(self._names_of(each, transcript)) <= set(transcript.names)]
        best = next((each for each in usable if each.summary), None)
        forms = [False, True][2 if any(each.is_plain for each in usable) else bool(usable) :]
        while best is None and forms:
            check()
            answer = await self._request(part, transcript.turns, frame, step, is_plain=forms.pop(0))
            best = answer if answer is not None and answer.summary else None
        old = part.transcript
        return Summary(
            text=extracts(old.messages, part.room // 2) if best is None else best.summary,
            names=old.names if best is None else self._names_of(best, transcript),
            answers=tuple(self._answers()),
            usage=self.usage,
        )

    def _names_of(self, answer: SummaryAnswer, transcript: Transcript) -> tuple[str, ...]:
        return answer.names or transcript.split(self._policy.keep)[0].names

    async def _request(
        self, part: OldPart, turns: int, frame: Frame, step: Callable[[str], Step], *, is_plain: bool
    ) -> SummaryAnswer | None:
        """Return the recorded answer to a request for a summary; None if the provider refuses this request alone."""
        entries = self._journal.entries
        names = (f"{ENTRY}.{turns}.{number}" for number in count())
        name = next(each for each in names if each not in entries and each not in self._names)
        self._names.add(name)
        request = SummaryRequest(
            old=part.transcript,
            room=part.room,
            instructions=self._policy.instructions,
            tools=frame.tools,
            by=self._by,
            is_plain=is_plain,
        )
        try:
            return await self._talk.step(step(name), request.answer, self._requester)
        except Exception as error:
            if not is_without_summary(error):
                raise
            return None


def _is_worth(old: Transcript, transcript: Transcript, *, is_refused: bool) -> bool:
    """Return whether a summary of a part makes the conversation shorter by enough to be worth a request."""
    messages = old.messages
    tokens = tokens_of(messages)
    if len(messages) < 2:
        return any(each.role != SUMMARY for each in messages) and tokens >= _WORTH_ALONE
    return is_refused or tokens * _SMALLEST_SHARE >= tokens_of(transcript.messages)
