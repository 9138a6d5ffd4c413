"""Models: requests and replies, adapters to providers, and a loop that lets a model call tools."""

from gatechart.models.anthropic import AnthropicModel
from gatechart.models.bounds import AnswerBounds
from gatechart.models.limits import Budget, Summarize
from gatechart.models.loop import ModelLoop, keep_messages
from gatechart.models.model import AGENT, Finish, Model, ModelReply, ModelRequest, Prices, Usage
from gatechart.models.openai import OpenAIModel
from gatechart.models.pydantic_ai import PydanticAIModel

__all__ = [
    "AGENT",
    "AnswerBounds",
    "AnthropicModel",
    "Budget",
    "Finish",
    "Model",
    "ModelLoop",
    "ModelReply",
    "ModelRequest",
    "OpenAIModel",
    "Prices",
    "PydanticAIModel",
    "Summarize",
    "Usage",
    "keep_messages",
]
