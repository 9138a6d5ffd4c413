"""The parameters of a model loop, and how it reads the agent's context and the services."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from gatechart.errors.models import ModelFailedError
from gatechart.errors.root import suggestion
from gatechart.handoff.conversation import ConversationContext
from gatechart.handoff.packet import Message
from gatechart.models.approvals import Approval
from gatechart.models.limits import Budget, Summarize
from gatechart.models.model import Finish, Model
from gatechart.models.output import Output
from gatechart.tools.toolbox import ToolBox
from gatechart.values.breakers import BreakerPolicy
from gatechart.values.delays import Retry

Prompt: TypeAlias = "Callable[[Any], str | Iterable[Message]]"
"""What a model is told, from the agent's context: one text, or messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTerms:
    """The parameters of a model loop. See ModelLoop."""

    model: Model | str
    tools: tuple[str, ...]
    instructions: str | Callable[[Any], str]
    prompt: Prompt | None
    output: Output
    most_turns: int
    most_bytes: int
    budget: Budget
    retry: Retry | None
    breaker: BreakerPolicy | None
    approval: Approval | None
    is_withdrawn_by_speech: bool
    accept: frozenset[Finish]
    strict: bool | None
    compaction: Summarize | None
    stream: bool
    journal: str

    def model_of(self, services: Any) -> Model:
        """Return the model. Raises ModelFailedError if the services have none of its name."""
        if not isinstance(self.model, str):
            return self.model
        found: Model | None = _service(services, self.model)
        if found is None:
            raise ModelFailedError(f"the services have no {self.model!r}; add this model, or pass a Model to ModelLoop")
        return found

    def tools_of(self, services: Any) -> ToolBox:
        """Return the tools that the model may call. Raises ModelFailedError if the services lack one of them."""
        if not self.tools:
            return ToolBox()
        found: ToolBox | None = _service(services, "tools")
        if found is None:
            raise ModelFailedError("the services have no `tools`; add a ToolBox")
        missing = [each for each in self.tools if each not in found]
        if missing:
            raise ModelFailedError(f"the tool box has no {missing[0]!r}; {suggestion(missing[0], found.names)}")
        return found.only(self.tools)

    def told_by(self, context: Any) -> tuple[Message, ...]:
        """Return the context's messages for the model. Raises ModelFailedError if it has no messages, and no prompt."""
        if self.prompt is not None:
            told = self.prompt(context)
            return (Message(role="user", content=told),) if isinstance(told, str) else tuple(told)
        if isinstance(context, ConversationContext):
            return tuple(context.messages)
        raise ModelFailedError(f"{type(context).__name__} has no messages; give ModelLoop(prompt=...)")

    def instructed_by(self, context: Any) -> str:
        """Return the instructions."""
        return self.instructions if isinstance(self.instructions, str) else self.instructions(context)


def _service(services: Any, name: str) -> Any:
    return services.get(name) if isinstance(services, Mapping) else getattr(services, name, None)
