"""What the agents of the shop know of a customer, and what is brought to them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from gatechart import ConversationContext


class ShopContext(ConversationContext):
    """A customer's talk with the shop. What is known of their order is among the entities, and so goes along."""

    answer: str = ""  # the last one given


class Brought(BaseModel):
    """The base of all payloads: unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Visit(Brought):
    """Who came, where that is known."""

    user_id: str = ""


class Question(Brought):
    """What the customer said."""

    text: str = Field(min_length=1)
