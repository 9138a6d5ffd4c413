"""Models: what they are asked and answer, adapters to their providers, and a loop that lets one call tools."""

from gatechart.models.anthropic import AnthropicModel
from gatechart.models.model import AGENT, Finish, Model, ModelReply, ModelRequest, Prices, Usage
from gatechart.models.openai import OpenAIModel

__all__ = [
    "AGENT",
    "AnthropicModel",
    "Finish",
    "Model",
    "ModelReply",
    "ModelRequest",
    "OpenAIModel",
    "Prices",
    "Usage",
]
