"""One run of a model loop. The transcript alone determines its next step."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import count
from typing import Any, Final, TypeVar, cast

from pydantic import JsonValue

from gatechart.errors.models import BudgetUsedUpError, IncompleteAnswerError, ModelFailedError, ToolNameTakenError
from gatechart.handoff.conversation import SUMMARY, ConversationContext
from gatechart.handoff.media import AnyPart, parts_in, text_of_parts
from gatechart.handoff.message_ids import random_id
from gatechart.handoff.packet import Message, ToolCall, readable
from gatechart.hosting.agent_journal import AgentJournal
from gatechart.hosting.invoke_context import Step, Work
from gatechart.hosting.media_entries import with_bytes
from gatechart.hosting.tool_records import Identity, key_of_call
from gatechart.hosting.transfers import epoch_of_choice
from gatechart.models.approvals import decision
from gatechart.models.call_texts import call_line, masked_call, short_text, told_of
from gatechart.models.compaction import Compactor, fills_window, limit_of
from gatechart.models.completeness import calls_not_made, is_incomplete
from gatechart.models.contents import with_arguments, with_own_ids, without_secrets
from gatechart.models.entries import (
    CallResult,
    Compaction,
    Cut,
    Entry,
    Feedback,
    ModelTurn,
    Nudged,
    Replacement,
    text_of,
)
from gatechart.models.limits import cut_off, shortened
from gatechart.models.listening import listen
from gatechart.models.loop_terms import LoopTerms
from gatechart.models.model import NO_USAGE, Finish, ModelRequest, Usage, is_by_model
from gatechart.models.output import ANSWER
from gatechart.models.repair import in_form
from gatechart.models.requesting import Frame, Requester, is_too_long
from gatechart.models.tokens import tokens_of
from gatechart.models.transcript import KeptTranscripts, Transcript, with_secrets
from gatechart.secrets import marked_by, revealed
from gatechart.tasks import start_task
from gatechart.tools.arguments import ArgumentsMisfitError
from gatechart.tools.definition import AnyTool
from gatechart.tools.results import ToolResult
from gatechart.tools.retries import is_passing
from gatechart.tools.schemas import without_nulls
from gatechart.tools.toolbox import ToolBox
from gatechart.turn.turn_context import one_line
from gatechart.values.trail import LONGEST_TOLD, digest_of

R = TypeVar("R", bound=Replacement)

ACCEPTED: Final = "accepted"
_EARLIER: Final = "This choice belongs to an earlier step; the work has continued since."
_CAME_BACK: Final = "This transfer was made, but the work came back: the target refused or returned it."
_GO_ON: Final = Message(role="user", content="[Go on as you are instructed.]")
_ONE_ANSWER: Final = "another answer of this turn was accepted"
_WITHDRAWN: Final = "withdrawn: a message arrived before it was approved. Make it again if it is still wanted"


_TRANSCRIPTS: Final = KeptTranscripts()


@dataclass(frozen=True, slots=True)
class _Final:
    """The final answer of a loop."""

    answer: JsonValue
    finish: Finish


class LoopRun:
    """One run of a loop."""

    def __init__(self, terms: LoopTerms, context: Any, work: Work[Any], talk: Work[Any], tools: ToolBox) -> None:
        self._terms = terms
        self._context = context
        self._work = work
        self._talk = talk  # the same tools, with records that belong to the agent
        self._tools = tools
        self._journal = cast("AgentJournal", talk.journal)
        it = self._journal.invocation
        self._by = f"{it.epoch}.{it.invoke}"
        self._transcript = _TRANSCRIPTS.continued((it.agent_id, self._journal.name), self._journal.entries)
        self._requester = Requester(terms, work)
        policy = terms.compaction
        self._compactor = None if policy is None else Compactor(policy, talk, self._requester, self._by)

    @classmethod
    async def begun(cls, terms: LoopTerms, context: Any, work: Work[Any]) -> LoopRun:
        """Read the transcript, and update it by the messages of the context."""
        run = cls(terms, context, work, await work.for_agent(terms.journal), terms.tools_of(work.services))
        run._check_names()
        await run._leave_out()
        await listen(run._journal, run._transcript, terms, context, work.rolled_back_at)
        return run

    def _check_names(self) -> None:
        """Raise ToolNameTakenError if a tool has the name of a transfer of the state."""
        chosen = self._talk.transfer_names
        taken = next((each for each in (*self._tools.names, *map(_name, self._answer_tool())) if each in chosen), None)
        if taken is not None:
            raise ToolNameTakenError(taken, "a transfer of the state")

    async def _leave_out(self) -> None:
        """Apply the cuts of operators and of escape plans that are not applied yet."""
        asked = self._transcript.asked_cut()
        if asked is not None:
            name, old, left = asked
            await self._replaced(f"cut.{name}", self._in_place_of(old, Cut, None), old.names, left)
        for part in (await self._work.escapes()).cut:
            old, left = self._transcript.without(part, partial(self._is_call, part.call))
            if not old.names:
                continue
            summary = Message(role=SUMMARY, content=part.summary, time=self._work.now) if part.summary else None
            entry = self._in_place_of(old, Cut, summary)
            await self._replaced(f"cut.{part.until}", entry, old.names, left)

    def _is_call(self, known_as: str, call: ToolCall) -> bool:
        return key_of_call(self._journal, Identity(call.id, call.name, "", is_given=True)) == known_as

    def _in_place_of(self, old: Transcript, kind: type[R], summary: Message | None, more: Usage = NO_USAGE) -> R:
        """Return an entry that replaces a part. more: the usage of its summary."""
        told = self._terms.told_by(self._context)
        return kind(
            turns=self._transcript.turns,
            summary=summary and summary.model_copy(update={"id": random_id()}),
            by=self._by,
            usage=old.usage_of(self._by) + more,
            known=old.known_of(told),
            nudged=self._transcript.nudged,
            call_ids=old.call_ids().text,
            ids=old.ids_of(told),
        )

    async def _replaced(self, name: str, entry: Entry, names: tuple[str, ...], left: Transcript) -> None:
        """Write an entry in place of others. left: the transcript without those."""
        left.add(name, await self._journal.replace(name, text_of(name, entry), names))
        self._transcript = left
        _TRANSCRIPTS.keep((self._journal.invocation.agent_id, self._journal.name), left)

    async def result(self) -> dict[str, Any]:
        """Return the result of the invoke: the answer, or the calls that wait for a person."""
        while True:
            waiting = await self._answer_calls()
            if waiting:
                return self._brought(_Final(None, Finish.CALLS), waiting)
            await self._tell_trail()
            final = await self._final()
            if final is not None:
                return self._brought(final, ())
            self._check_limits()
            frame = await self._frame()
            await self._compact(frame, tokens_of(self._transcript.messages) if fills_window(self._transcript) else 0)
            await self._hear_nudge()
            await self._ask(frame)

    # Turns

    async def _frame(self) -> Frame:
        offer = await self._talk.transfer_tools()
        return Frame(
            instructions="\n\n".join(filter(None, (self._terms.instructed_by(self._context), offer.text))),
            tools=(*self._tools, *offer.tools, *self._answer_tool()),
            transfers=offer.tools.names,
        )

    async def _ask(self, frame: Frame) -> None:
        """Ask the model for its next turn, and record it.

        A provider that refuses the request for its length is asked once more after a compaction. If that changes
        nothing, or is refused as well, the messages are shortened.
        """
        number = self._transcript.turns + 1
        self._check_budget()
        try:
            turn = await self._asked(f"turn.{number}", frame, is_last=self._compactor is None)
        except ModelFailedError as error:
            if not is_too_long(error) or self._compactor is None:
                raise
            await self._compact(frame, frame.tokens + tokens_of(self._transcript.messages))
            self._check_budget()
            turn = await self._asked(f"turn.{number}.again", frame, is_last=True)
        if turn.by != self._by:
            raise ModelFailedError(
                f"another loop writes the journal {self._terms.journal!r}; give each loop a separate journal"
            )
        calls = [call.name for call in turn.message.tool_calls]
        if calls and self._terms.stream:
            self._work.publish({"turn": number, "calls": calls})

    async def _asked(self, name: str, frame: Frame, *, is_last: bool) -> ModelTurn:
        """Request a turn and record it under the name. is_last: whether the messages may be shortened."""
        number = self._transcript.turns + 1
        request = ModelRequest(
            messages=tuple(with_bytes(self._journal, each) for each in self._messages_sent()),
            instructions=frame.instructions,
            tools=frame.tools,
            strict=self._requester.strict,
            tell=self._tell(number),
        )
        made = partial(self._turn, number, request, frame.transfers, is_last)
        return cast("ModelTurn", await self._recorded(name, made))

    async def _hear_nudge(self) -> None:
        """Send the model the message of an escape plan, once."""
        escapes = await self._work.escapes()
        if escapes.nudge and escapes.count > self._transcript.nudged:
            told = Message(role="user", content=f"[{escapes.nudge}]", id=random_id())
            await self._write(f"nudge.{escapes.count}", Nudged(number=escapes.count, message=told))

    def _messages_sent(self) -> tuple[Message, ...]:
        """Return the messages for the model, with its own calls unmasked.

        Models do not answer their own last message, except after a turn that was paused.
        """
        told = zip(self._transcript.messages, self._transcript.forms, strict=True)
        messages = tuple(each for message, form in told for each in in_form(with_secrets(message), form))
        last = self._transcript.last
        if last is not None and last.finish is Finish.PAUSED and self._transcript.is_answered:
            return messages
        is_own = bool(messages) and is_by_model(messages[-1]) and not messages[-1].tool_calls
        return (*messages, _GO_ON) if is_own else messages

    async def _turn(self, number: int, request: ModelRequest, transfers: tuple[str, ...], is_last: bool) -> ModelTurn:
        state = self._journal.invocation.state
        limit = limit_of(self._transcript, state)
        answer = await self._requester.fitted_reply(request, limit, may_shorten=is_last)
        reply = answer.reply
        message = with_own_ids(reply.message, self._transcript.call_ids())
        message = with_arguments(message.model_copy(update={"time": self._work.now, "id": random_id()}), self._marked)
        return ModelTurn(
            number=number,
            by=self._by,
            state=state,
            message=message,
            finish=reply.finish,
            usage=reply.usage,
            transfers=transfers,
            reason=reply.reason,
            form=answer.form,
            limit=answer.limit,
        )

    def _marked(self, name: str, arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """Mark the secrets among the arguments of a call, which only the call itself needs."""
        answers = self._terms.output.tool
        tool = answers if answers is not None and name == ANSWER else self._tools.get(name)
        found: dict[str, JsonValue] = arguments if tool is None else marked_by(tool.takes.schema, arguments)
        return found

    def _tell(self, number: int) -> Any:
        return (lambda text: self._work.publish({"turn": number, "text": text})) if self._terms.stream else None

    def _answer_tool(self) -> tuple[AnyTool, ...]:
        return () if self._terms.output.tool is None else (self._terms.output.tool,)

    async def _recorded(self, name: str, made: Any) -> Any:
        """Run a step with the loop's retries, and record its result under the name."""
        entry = await self._talk.step(self._step(name), made)
        self._transcript.add(name, self._journal.recorded(name) or text_of(name, entry))
        return entry

    def _step(self, name: str) -> Step:
        """Return a step that calls the model, with the retries of a tool: none if the request itself is wrong."""
        return Step(name, retry=self._terms.retry, retry_on=is_passing)

    async def _write(self, name: str, entry: Entry) -> None:
        self._transcript.add(name, await self._journal.record(name, text_of(name, entry)))

    # Calls

    async def _answer_calls(self) -> tuple[ToolCall, ...]:
        """Answer the open calls of the newest turn, unless some wait for a person. Return the waiting calls."""
        last, found = self._transcript.last, self._transcript.open_calls()
        if last is None or not found:
            return ()
        not_made = calls_not_made(last, self._terms.accept)
        for place, _ in found:
            if place in not_made:
                await self._result(last, place, None, not_made[place])
        found = [each for each in found if each[0] not in not_made]
        allowed = {place: self._approval(call) for place, call in found}
        waiting = {call.id: call for place, call in found if allowed[place] is None}
        if waiting and not self._is_withdrawn():
            return tuple(waiting.values())
        allowed = {place: _WITHDRAWN if each is None else each for place, each in allowed.items()}
        judged = await self._answers(last, found)
        choices = [(place, call) for place, call in found if call.name in last.transfers and not call.error]
        others = [each for each in found if each[0] not in judged and each not in choices]
        await _all(self._answer_call(last, place, call, allowed[place]) for place, call in others)
        for place, call in choices:  # last, because the one that is followed ends this run
            await self._choose(last, place, call)
        return ()

    def _is_withdrawn(self) -> bool:
        """Return whether a message arrived while calls waited for a person, and the loop withdraws these calls."""
        return self._terms.is_withdrawn_by_speech and not self._transcript.is_answered

    def _approval(self, call: ToolCall) -> bool | str | None:
        """Return whether a call may be made. A call that cannot be made needs no approval."""
        tool = self._tools.get(call.name)
        if self._terms.approval is None or call.error or tool is None:
            return True
        try:
            tool.takes.read(without_nulls(tool.takes.schema, revealed(call.arguments)))
        except ArgumentsMisfitError:
            return True
        return decision(self._terms.approval, self._context, masked_call(call))

    async def _answers(self, last: ModelTurn, found: list[tuple[int, ToolCall]]) -> set[int]:
        """Judge the calls of the answer tool, and accept the first one that fits. Return their places."""
        places: set[int] = set()
        is_given = False
        for place, call in found:
            if self._terms.output.tool is None or call.name != ANSWER:
                continue
            places.add(place)
            problem = call.error or (_ONE_ANSWER if is_given else self._terms.output.read(revealed(call.arguments))[1])
            is_given = is_given or not problem
            await self._result(last, place, None if problem else ACCEPTED, problem)
        return places

    async def _answer_call(self, last: ModelTurn, place: int, call: ToolCall, allowed: bool | str | None) -> None:
        if call.error:
            await self._result(last, place, None, call.error)
        elif self._tools.get(call.name) is None:
            await self._result(last, place, None, f"there is no tool {call.name!r} now; {self._named()}")
        elif allowed is not True:
            await self._result(last, place, None, str(allowed))
        else:
            await self._made(last, place, call)

    async def _choose(self, last: ModelTurn, place: int, call: ToolCall) -> None:
        """Choose a transfer, unless something happened since the model chose it."""
        if self._is_current(last):
            outcome = await self._talk.transfer(call.name, call.arguments, call_id=call.id)
            await self._result(last, place, outcome.answer, "")
        else:
            is_back = (
                last.state == self._journal.invocation.state and epoch_of_choice(self._journal, call.id) is not None
            )
            await self._result(last, place, _CAME_BACK if is_back else _EARLIER, "")

    def _is_current(self, turn: ModelTurn) -> bool:
        """Return whether nothing happened since the turn, even if the agent left the state to have calls approved."""
        it = self._journal.invocation
        if turn.by == self._by:
            return True
        calls = (call for call in turn.message.tool_calls if call.name in turn.transfers)
        epochs = {epoch_of_choice(self._journal, call.id) for call in calls} - {None, it.epoch}
        return turn.state == it.state and self._transcript.is_answered and not epochs

    async def _made(self, last: ModelTurn, place: int, call: ToolCall) -> None:
        """Make a call, and record its result for the model."""
        tool = self._tools.get(call.name)
        assert tool is not None
        arguments = without_nulls(tool.takes.schema, revealed(call.arguments))
        result: ToolResult[Any] = await self._talk.call_with(tool.name, arguments, call_id=call.id)
        output, error = told_of(result, self._tools)
        await self._result(last, place, output, error, parts_in(result.value))

    async def _result(
        self, last: ModelTurn, place: int, output: JsonValue, error: str, parts: tuple[AnyPart, ...] = ()
    ) -> None:
        most = self._terms.most_bytes
        told = str(cut_off(readable(error), most))
        entry = CallResult(turn=last.number, place=place, output=cut_off(output, most), error=told)
        if parts:
            entry = replace(entry, output=cut_off(text_of_parts(parts), most), parts=shortened(parts, most))
        await self._write(f"result.{last.number}.{place}", entry)

    def _named(self) -> str:
        names = ", ".join(self._tools.names)
        return f"the tools are {names}" if names else "there are no tools"

    async def _tell_trail(self) -> None:
        """Report the newest turn to the agent's signals as a step of reasoning, once, after its calls are answered."""
        last = self._transcript.last
        if last is None or last.by != self._by:
            return
        calls = last.message.tool_calls
        results = [self._transcript.result(last, place) for place in range(len(calls))]
        action = " ".join((last.message.content[:LONGEST_TOLD], *map(call_line, calls)))
        outcome = " ".join(each.error or short_text(each.output) for each in results if each is not None)
        name = f"turn.{last.number}.{digest_of(self._terms.journal)}"
        await self._work.reasoned(one_line(action), one_line(outcome), name=name)

    # The end

    async def _final(self) -> _Final | None:
        """Return the answer of the newest turn; send the model the problem of an answer that does not fit.

        There is none after a newer message, for a turn of another state's loop, or for a paused turn. Raises
        IncompleteAnswerError for an incomplete answer of this entry of the state. After an incomplete answer of an
        earlier entry, the model gets another request.
        """
        last = self._transcript.last
        if last is None or not self._transcript.is_answered or last.state != self._journal.invocation.state:
            return None
        for place, call in enumerate(last.message.tool_calls):
            result = self._transcript.result(last, place)
            if call.name == ANSWER and result is not None and result.output == ACCEPTED and self._terms.output.tool:
                return _Final(self._terms.output.read(revealed(call.arguments))[0], Finish.ANSWERED)
        if last.by == self._by and is_incomplete(self._transcript.turns_of(self._by), self._terms.accept):
            raise IncompleteAnswerError(last.finish.value, last.reason)
        if last.message.tool_calls or last.finish is Finish.PAUSED or is_incomplete([last], self._terms.accept):
            return None
        answer, problem = self._terms.output.read_text(last.message.content)
        if not problem:
            return _Final(answer, last.finish)
        told = Message(role="user", content=f"[This answer does not fit] {problem}", id=random_id())
        await self._write(f"feedback.{last.number}", Feedback(turn=last.number, message=told))
        return None

    def _brought(self, final: _Final, waiting: Iterable[ToolCall]) -> dict[str, Any]:
        said = self._context.messages if isinstance(self._context, ConversationContext) else ()
        return {
            "answer": final.answer,
            "finish": final.finish.value,
            "messages": [_brought(each) for each in self._transcript.untold(said)],
            "usage": asdict(self._transcript.usage_of(self._by)),
            "waits_for": [
                masked_call(each).model_dump(mode="json", include={"id", "name", "arguments"}) for each in waiting
            ],
        }

    # Limits

    def _check_limits(self) -> None:
        """Raise BudgetUsedUpError if this entry of the state has used up its turns or its budget."""
        usage = self._transcript.usage_of(self._by)
        if usage.requests >= self._terms.most_turns:
            raise BudgetUsedUpError("turns", usage.requests, self._terms.most_turns)
        self._check_budget()

    def _check_budget(self) -> None:
        """Raise BudgetUsedUpError if this entry of the state has used up its budget, also for summaries."""
        usage = self._transcript.usage_of(self._by) + (NO_USAGE if self._compactor is None else self._compactor.usage)
        self._terms.budget.check(usage, (self._work.now - self._journal.began).total_seconds())

    async def _compact(self, frame: Frame, refused: int = 0) -> None:
        """Replace older parts of the transcript by summaries until it is short enough.

        refused: tokens of a request that the provider refused for its length.
        """
        state = self._journal.invocation.state
        while self._compactor is not None:
            part = self._compactor.old_part(self._transcript, state, frame, refused)
            if part is None:
                return
            found = await self._compactor.summary(part, self._transcript, frame, self._step, self._check_budget)
            old, left = self._transcript.part(found.names)
            summary = Message(role=SUMMARY, content=found.text, time=self._work.now)
            entry = self._in_place_of(old, Compaction, summary, found.usage)
            await self._replaced(self._compaction_name(), entry, (*old.names, *found.answers), left)

    def _compaction_name(self) -> str:
        """Return a name for a compaction; there may be more than one before the next turn."""
        first = f"compaction.{self._transcript.turns}"
        names = (first if number == 0 else f"{first}.{number}" for number in count())
        return next(name for name in names if name not in self._journal.entries)


def _name(tool: AnyTool) -> str:
    return tool.name


def _brought(message: Message) -> dict[str, Any]:
    """Return a message for the agent's context. Its verbatim form stays in the transcript."""
    return without_secrets(message).model_dump(mode="json", exclude={"verbatim"})


async def _all(made: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Await all at once. The first failure cancels the others, and is raised."""
    tasks = [start_task(each) for each in made]
    try:
        for done in asyncio.as_completed(tasks):
            await done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
