"""What the two agents know, and what they begin with."""

from __future__ import annotations

from pydantic import BaseModel, Field

from gatechart import AgentContext


class Question(BaseModel):
    """What somebody wants to know."""

    question: str


class Research(AgentContext):
    """A question, and what was found about it."""

    question: str
    findings: list[str] = Field(default_factory=list)
    gap: str = ""  # what is missing, as the model says
    document: str = ""


class Draft(BaseModel):
    """A text that somebody wants to publish."""

    text: str


class Review(AgentContext):
    """A text, and what was said about it."""

    text: str
    remarks: list[str] = Field(default_factory=list)
