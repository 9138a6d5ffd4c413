"""A model that works with tools until it has an answer, as the function of an invoke."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gatechart.errors.models import ToolNameTakenError
from gatechart.handoff.conversation import ConversationContext
from gatechart.handoff.packet import Message
from gatechart.hosting.invoke_context import Work
from gatechart.models.approvals import Approval
from gatechart.models.completeness import accepted_finishes
from gatechart.models.handing_on import handed_on
from gatechart.models.limits import Budget, Summarize, usual_most_bytes
from gatechart.models.loop_run import LoopRun
from gatechart.models.loop_terms import LoopTerms, Prompt
from gatechart.models.model import Finish, Model
from gatechart.models.output import ANSWER, Check, Output
from gatechart.models.transcript import Transcript
from gatechart.tools.definition import AnyTool
from gatechart.values.breakers import BreakerPolicy
from gatechart.values.commits import CONVERSATION
from gatechart.values.delays import Retry
from gatechart.values.tool_policies import under_tool

NO_LIMITS = Budget()
USUAL_RETRY = Retry(attempts=4, jitter=0.1)
USUAL_SUMMARY = Summarize()


class ModelLoop:
    """A loop of a model and its tools: `Invoke(ModelLoop("model", tools=["lookup_order"], instructions="…"))`.

    Each turn of the model and each result of a call is an entry of a journal that belongs to the agent. So a repeat of
    the invocation, or a later invocation of the agent, continues the transcript: no turn and no call is made again.
    The loop reads messages that are new in the context; without new messages, the last answer stands.
    `done.invoke.<id>` brings
    `{"answer": …, "finish": …, "messages": […], "usage": {…}, "waits_for": […]}`; `keep_messages` is an action that
    adds these messages to a ConversationContext. A limit that is reached is `error.invoke.<id>` of type
    BudgetUsedUpError, an answer that is not complete is one of type IncompleteAnswerError, with its `finish`.

    model: a Model, or its name in the services.
    tools: names of tools in the services' tool box, or the tools.
    instructions: for the model, a text or a function of the context.
    prompt: a function of the context that returns the messages for the model; by default the
        messages of a ConversationContext.
    output: the type of the answer, given by a call of the tool `answer`; text if None.
    checks: functions of the answer that return a problem, which the loop sends back to the model.
    most_turns: of the model, and `budget`: in one entry of the state. most_bytes: of the result of a call; a longer
        result is cut off, with a note. None: as many bytes as `compaction` has tokens, about a quarter of them.
    retry: of a turn whose provider fails, unless it says that the request is wrong; `Retry-After` is waited for.
    breaker: a circuit breaker of the model's name in the services; while it is open, retries wait for it.
    approval: of calls; a call that waits for a person ends the loop. withdraw: whether a message that arrives
    meanwhile withdraws the waiting calls; the model then decides again.
    accept: finish reasons (Finish) of incomplete answers that count as answers all the same.
    strict: whether providers hold the model to the tools' schemas, unless a tool says so itself; None: as the model
    says.
    compaction: summaries of a long transcript; None keeps all of it. If a provider still refuses a request for its
    length, the loop sends shorter forms of the largest messages.
    stream: publish `{"turn": n, "text": …}` as the model writes, and `{"turn": n, "calls": […]}`.
    journal: of the agent; loops of other states that name the same one continue the same conversation, one at a time.
    name: of the invoke, if it has no id.
    """

    def __init__(
        self,
        model: Model | str = "model",
        *,
        tools: Iterable[AnyTool | str] = (),
        instructions: str | Callable[[Any], str] = "",
        prompt: Prompt | None = None,
        output: Any = None,
        checks: Iterable[Check] = (),
        most_turns: int = 20,
        most_bytes: int | None = None,
        budget: Budget = NO_LIMITS,
        retry: Retry | None = USUAL_RETRY,
        breaker: BreakerPolicy | None = None,
        approval: Approval | None = None,
        withdraw: bool = False,
        accept: Iterable[Finish | str] = (),
        strict: bool | None = None,
        compaction: Summarize | None = USUAL_SUMMARY,
        stream: bool = True,
        journal: str = CONVERSATION,
        name: str = "model_loop",
    ) -> None:
        most_bytes = usual_most_bytes(compaction) if most_bytes is None else most_bytes
        for limit, number in (("most_turns", most_turns), ("most_bytes", most_bytes)):
            if number < 1:
                raise ValueError(f"ModelLoop({limit}={number}) leaves the model nothing; give 1 or more")
        if breaker is not None and not isinstance(model, str):
            raise ValueError("ModelLoop(breaker=...) needs the model's name in the services, which all its loops share")
        names = tuple(each if isinstance(each, str) else each.name for each in tools)
        if output is not None and ANSWER in names:
            raise ToolNameTakenError(ANSWER, "the answer of ModelLoop(output=...)")
        self.terms = LoopTerms(
            model=model,
            tools=names,
            instructions=instructions,
            prompt=prompt,
            output=Output(output, checks),
            most_turns=most_turns,
            most_bytes=most_bytes,
            budget=budget,
            retry=retry,
            breaker=breaker and under_tool(breaker),
            approval=approval,
            is_withdrawn_by_speech=withdraw,
            accept=accepted_finishes(accept),
            strict=strict,
            compaction=compaction,
            stream=stream,
            journal=journal,
        )
        self.__name__ = name

    @property
    def journal(self) -> str:
        """Name of the agent's journal with the transcript. Escape plans can remove repeated turns from it."""
        return self.terms.journal

    @property
    def breakers(self) -> tuple[str, ...]:
        """Names of the circuit breakers without which it comes to nothing: its model's, if it has one."""
        return () if self.terms.breaker is None else (str(self.terms.model),)

    def handed_on(
        self, entries: Mapping[str, str], conversation: Sequence[Message], most_bytes: int
    ) -> tuple[Message, ...]:
        """Return the conversation of a packet with the loop's own messages in it.

        entries: of the journal. most_bytes: of the added messages, as JSON.
        """
        transcript = Transcript(entries)
        asked = transcript.asked_cut()
        return handed_on(transcript if asked is None else asked[2], conversation, most_bytes)

    def __repr__(self) -> str:
        return f"<ModelLoop {self.__name__!r}, tools={list(self.terms.tools)}>"

    async def __call__(self, context: Any, work: Work[Any]) -> dict[str, Any]:
        """Run the loop until it has an answer, or calls that wait for approval.

        Raises BudgetUsedUpError, IncompleteAnswerError, ToolNameTakenError, the model's exceptions, and
        InvocationOverError.
        """
        return await (await LoopRun.begun(self.terms, context, work)).result()


def keep_messages(context: ConversationContext, event: Any) -> None:
    """Add the messages that a model loop brings with `done.invoke.<id>` to the conversation. An action.

    A message whose id the conversation has already is left as it is there.
    """
    known = {each.id for each in context.messages if each.id}
    brought = [Message.model_validate(each) for each in event.payload["result"]["messages"]]
    context.messages += [each for each in brought if each.id not in known]
