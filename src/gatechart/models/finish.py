"""The reason why an answer ended, from the provider's word and the contents of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gatechart.handoff.packet import MediaPart, Message
from gatechart.models.model import Finish

# Sources: the API references of OpenAI, Anthropic, Azure, Mistral, Gemini, DeepSeek, Zhipu, OpenRouter and Bedrock, and
# the sources of vLLM, SGLang, TGI, Ollama and llama.cpp.
_WORDS: Final[Mapping[Finish, tuple[str, ...]]] = {
    Finish.ANSWERED: ("stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "completed", "end"),
    Finish.CALLS: ("tool_calls", "tool_use", "tool_call", "function_call"),
    Finish.LENGTH: (
        "length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
        "limit",
    ),
    Finish.REFUSED: ("refusal",),
    Finish.FILTERED: (
        "content_filter",
        "content_filtered",
        "safety",
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "image_safety",
        "sensitive",
        "guardrail_intervened",
        "moderation",
    ),
    Finish.PAUSED: ("pause_turn", "compaction"),
}
_FINISHED: Final = {word: finish for finish, words in _WORDS.items() for word in words}

FAILURES: Final = frozenset({"error", "network_error", "insufficient_system_resource", "abort", "aborted", "cancelled"})
"""Words of providers for an answer that broke off on their side, so that the request is worth repeating."""


def finish_of(reason: str, message: Message, *, is_refused: bool = False) -> Finish:
    """Return why an answer ended.

    reason: the provider's word; "" if it gave none. is_refused: whether the answer says so elsewhere. An answer that
    was cut off has LENGTH even if it has calls. A word that contradicts the contents is UNKNOWN.
    """
    word = _FINISHED.get(reason.lower(), Finish.UNKNOWN) if reason else None
    if word in {Finish.LENGTH, Finish.REFUSED, Finish.FILTERED, Finish.PAUSED}:
        return word
    if is_refused:
        return Finish.REFUSED
    if word is Finish.UNKNOWN:
        return word
    if message.tool_calls:
        return Finish.CALLS  # many servers say "stop" of them
    if word is Finish.CALLS:
        return Finish.UNKNOWN  # its calls are missing
    return Finish.ANSWERED if has_content(message) else Finish.EMPTY


def has_content(message: Message) -> bool:
    """Return whether a message has contents: text that is not blank, or media."""
    return bool(message.content.strip()) or any(isinstance(each, MediaPart) for each in message.parts)
