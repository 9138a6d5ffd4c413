"""Providers refuse a conversation that is too long in their own words, and all of these are `context_length`."""

import pytest

from gatechart.models.failures import error_in_answer, refused


def plain(message, **more):
    return {"error": {"message": message, **more}}


REFUSALS = {
    "OpenAI, the code": (400, plain("too long", code="context_length_exceeded", type="invalid_request_error")),
    "OpenAI, chat completions": (
        400,
        plain(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 139612 tokens. "
            "Please reduce the length of the messages."
        ),
    ),
    "OpenAI, responses": (400, plain("Your input exceeds the context window of this model. Please adjust your input.")),
    "OpenAI, tokens per minute": (
        429,
        plain(
            "Request too large for gpt-4o in organization org-vyUrKHsIdLcZGKR3zqCqllrS on tokens per min (TPM): "
            "Limit 30000, Requested 61337. The input or output tokens must be reduced in order to run successfully.",
            type="tokens",
            code="rate_limit_exceeded",
        ),
    ),
    "OpenAI, a long string": (
        400,
        plain(
            "Invalid 'messages[2].content': string too long. Expected a string with maximum length 10485760, but got "
            "a string with length 11000000 instead.",
            type="invalid_request_error",
            code="string_above_max_length",
        ),
    ),
    "Azure": (
        400,
        plain(
            "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the "
            "messages, 1000 in the completion).",
            code="context_length_exceeded",
        ),
    ),
    "Anthropic": (
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 208310 tokens > 200000 maximum",
            },
        },
    ),
    "Anthropic, with the answer": (
        400,
        plain(
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or "
            "`max_tokens` and try again",
            type="invalid_request_error",
        ),
    ),
    "Anthropic, bytes": (
        413,
        plain("Request exceeds the maximum allowed number of bytes.", type="request_too_large"),
    ),
    "vLLM": (
        400,
        {
            "object": "error",
            "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the "
            "messages, Please reduce the length of the messages.",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "vLLM, the engine": (
        400,
        {"message": "The decoder prompt (length 5036) is longer than the maximum model length of 4096.", "code": 400},
    ),
    "vLLM, the answer's tokens": (
        400,
        plain(
            "'max_tokens' or 'max_completion_tokens' is too large: 2000. This model's maximum context length is 4096 "
            "tokens and your request has 2104 input tokens (2000 > 4096 - 2104)."
        ),
    ),
    "SGLang": (
        400,
        plain("The input (9000 tokens) is longer than the model's context length (8192 tokens).", type="BadRequest"),
    ),
    "TGI": (
        422,
        {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"},
    ),
    "Ollama": (400, plain("prompt too long; exceeded max context length by 4096 tokens", type="api_error")),
    "Ollama, status 500": (500, plain("input length exceeds context length", type="api_error")),
    "llama.cpp": (
        400,
        plain(
            "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
            code=400,
            type="exceed_context_size_error",
            n_prompt_tokens=9000,
            n_ctx=8192,
        ),
    ),
    "llama.cpp, older": (500, plain("the request exceeds the available context size. try increasing it", code=500)),
    "LM Studio": (
        400,
        {
            "error": "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded "
            "with context length of only 4096 tokens, which is not enough."
        },
    ),
    "LM Studio, newer": (
        400,
        {"error": "The number of tokens to keep from the initial prompt is greater than the context length."},
    ),
    "Mistral": (
        400,
        {
            "object": "error",
            "message": "Prompt contains 300000 tokens and 0 draft tokens, too large for model with 131072 maximum "
            "context length",
            "type": "invalid_request_prompt",
            "code": "3051",
        },
    ),
    "Gemini": (
        400,
        [
            plain(
                "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).",
                code=400,
                status="INVALID_ARGUMENT",
            )
        ],
    ),
    "OpenRouter": (
        400,
        plain(
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 132463 tokens "
            "(1463 of text input, 131000 in the output). Please reduce the length of either one.",
            code=400,
        ),
    ),
    "Groq": (
        400,
        plain("Please reduce the length of the messages or completion.", code="context_length_exceeded"),
    ),
    "Groq, tokens per minute": (
        413,
        plain(
            "Request too large for model `llama-3.3-70b-versatile` in organization `org_01j2g5d88hfvjrgw64hnapqk8y` "
            "service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 10338, please reduce your "
            "message size and try again.",
            type="tokens",
            code="rate_limit_exceeded",
        ),
    ),
    "DeepSeek": (
        400,
        plain(
            "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in "
            "the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
            type="invalid_request_error",
            code="invalid_request_error",
        ),
    ),
    "xAI": (
        400,
        {"code": "x", "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."},
    ),
    "Kimi": (400, plain("Your request exceeded model token limit: 262144 (requested: 291351)")),
    "MiniMax": (
        400,
        {"base_resp": {"status_code": 2013, "status_msg": "invalid params, context window exceeds limit"}},
    ),
    "DashScope": (
        400,
        plain("<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"),
    ),
    "Zhipu": (400, plain("Prompt exceeds max length", code="1261")),
    "Together": (400, plain("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 10345 `inputs` tokens")),
    "Fireworks": (
        400,
        plain("The prompt is too long: 140000, model maximum context length: 131071", type="invalid_request_error"),
    ),
    "Cohere": (400, {"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - 5000"}),
    "Bedrock": (400, plain("Input is too long for requested model.")),
    "GitHub models": (413, plain("Request body too large for gpt-4.1 model. Max size: 8000 tokens.")),
    "GitHub Copilot": (
        400,
        plain("prompt token count of 145000 exceeds the limit of 128000", code="model_max_prompt_tokens_exceeded"),
    ),
    "LiteLLM": (400, plain("litellm.ContextWindowExceededError: prompt is too long", type="None", code="400")),
    "a gateway": (413, "<html>413 Request Entity Too Large</html>"),
}

OTHERS = {
    "Anthropic's rate limit": (
        429,
        plain(
            "This request would exceed your organization's rate limit of 40,000 input tokens per minute.",
            type="rate_limit_error",
        ),
        "rate_limit",
    ),
    "OpenAI's rate limit": (
        429,
        plain(
            "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, "
            "Requested 2000. Please try again in 2s.",
            type="tokens",
            code="rate_limit_exceeded",
        ),
        "rate_limit",
    ),
    "too many tokens per minute": (
        429,
        {"message": "Too many tokens, please wait before trying again."},
        "rate_limit",
    ),
    "an answer that may not be so long": (
        400,
        plain("max_tokens is too large: 60000. This model supports at most 16384 completion tokens"),
        "invalid_request",
    ),
    "a name that is too long": (
        400,
        plain("Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64"),
        "invalid_request",
    ),
    "a grammar that is too large": (
        400,
        plain("The compiled grammar is too large, which would cause performance issues.", type="invalid_request_error"),
        "too_many_strict_tools",
    ),
    "a schema that is too complex": (
        400,
        plain("Schema is too complex for compilation.", type="invalid_request_error"),
        "too_many_strict_tools",
    ),
}


@pytest.mark.parametrize(("status", "body"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_for_length_is_known_by_the_words_of_its_provider(status, body):
    error = refused(status, body, {})
    assert (error.code, error.is_permanent, error.status) == ("context_length", True, status)


@pytest.mark.parametrize(
    "body",
    [each for status, each in REFUSALS.values() if status != 413],
    ids=[k for k, v in REFUSALS.items() if v[0] != 413],
)
def test_a_refusal_for_length_within_an_answer_is_known_as_well(body):
    error = error_in_answer(body)
    assert (error.code, error.is_permanent) == ("context_length", True)


@pytest.mark.parametrize(("status", "body", "code"), OTHERS.values(), ids=OTHERS)
def test_other_refusals_that_speak_of_lengths_and_tokens_are_not_for_the_length_of_the_conversation(status, body, code):
    assert refused(status, body, {}).code == code
