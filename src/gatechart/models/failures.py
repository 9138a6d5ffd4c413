"""Failures of providers: the kind of each, and whether to ask again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from gatechart.errors.extras import ExtraMissingError
from gatechart.errors.models import ModelFailedError
from gatechart.tools.retries import asked_wait

_LONGEST: Final = 500
"""Maximum length of a provider's message in an error, in characters."""

# Kinds of failures by the words of providers, the first that matches. The codes and types of an error come first in the
# searched text, then its message. Sources: the error pages of OpenAI, Anthropic, Azure, Gemini, DeepSeek, Mistral and
# OpenRouter, and the sources of vLLM, llama.cpp and Ollama.
_SIGNS: Final[Mapping[str, tuple[str, ...]]] = {
    "too_many_strict_tools": (
        r"strict.{0,40}tools?\b.{0,40}(?:many|most|maximum|limit|exceed)",
        r"(?:many|maximum|limit|exceed).{0,60}\bstrict",
        r"compiled grammar is too large",
        r"schemas? (?:is|are) too complex",
        r"too many (?:optional|union).{0,20}param",
        r"(?:optional|union)[- ]?(?:typed? )?param.{0,60}(?:limit|exceed|maximum)",
    ),
    "context_length": (
        r"context[_ ](?:length|size|window|limit)",
        r"exceed_context_size|max_prompt_tokens|request_too_large",
        r"prompt.{0,60}too (?:long|large)",
        r"maximum (?:context|input|prompt|allowed) (?:length|tokens|size)",
        r"(?:input|prompt|request).{0,60}(?:exceeds?|too (?:long|many|large)).{0,60}(?:tokens|length|model)",
        r"too many (?:input |prompt )?tokens|input token count|input is too long",
        r"reduce (?:the length of the (?:messages|prompt)|your message size)|tokens must be reduced",
        r"(?:longer|greater) than the (?:maximum )?(?:model|context).{0,5} length",
        r"request (?:body )?too large",
        r"range of input length|inputs?.{0,3} tokens.{0,40}must be",
        r"exceeds? the (?:model'?s? )?(?:maximum|max) (?:number of )?(?:input )?tokens",
    ),
    "quota": (
        r"insufficient[_ ](?:quota|balance|credits?|funds)",
        r"billing_(?:hard_limit|not_active|error)|hard[_ ]limit[_ ]reached",
        r"credit balance is too low|(?:requires?|need) more credits",
        r"access_terminated|account.{0,30}(?:suspended|arrears|overdue)",
    ),
    "content_filter": (r"content[_ ](?:filter|policy|management)", r"ResponsibleAIPolicy|data_inspection_failed"),
    "rate_limit": (r"rate[_ ]?limit|RESOURCE_EXHAUSTED|too many requests",),
    "overloaded": (r"overloaded|UNAVAILABLE|insufficient_system_resource|at capacity|server is busy",),
    "timeout": (r"timed? ?out\b|timeout_error|DEADLINE_EXCEEDED",),
    "authentication": (r"authentication_error|invalid_api_key|invalid x-api-key|UNAUTHENTICATED",),
    "permission": (r"permission_error|PERMISSION_DENIED",),
    "not_found": (r"not_found_error|model_not_found|NOT_FOUND",),
    "invalid_request": (r"invalid_request|INVALID_ARGUMENT",),
    "server_error": (r"server_error|api_error|internal",),
}
_PATTERNS: Final = {code: re.compile("|".join(signs), re.IGNORECASE) for code, signs in _SIGNS.items()}
# A limit of tokens per minute passes, unless one request exceeds it.
_LIMITED_RATE: Final = re.compile(r"rate[_ ]?limit|per (?:min|hour|day)|too many requests|please wait", re.IGNORECASE)
_LARGER_THAN_RATE: Final = re.compile(r"request (?:body )?too large|must be reduced|reduce your message", re.IGNORECASE)
_OF_STATUS: Final = {
    401: "authentication",
    402: "quota",
    403: "permission",
    404: "not_found",
    408: "timeout",
    413: "context_length",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
_PERMANENT: Final = frozenset(
    {
        "authentication",
        "content_filter",
        "context_length",
        "invalid_request",
        "not_found",
        "permission",
        "quota",
        "too_many_strict_tools",
    }
)
_PASSING: Final = (408, 409, 425, 429)  # of the statuses below 500
_OF_CLASSES: Final = {  # of pydantic-ai's errors that have no status, the special ones first
    "ModelContextWindowExceededError": "context_length",
    "ModelQuotaExceededError": "quota",
    "ModelRateLimitError": "rate_limit",
    "ModelOverloadedError": "overloaded",
    "ModelAuthenticationError": "authentication",
    "ModelNotFoundError": "not_found",
    "ModelRequestRejectedError": "invalid_request",
    "ModelTimeoutError": "timeout",
    "ModelRequestTimeout": "timeout",
    "ModelConnectionError": "connection",
    "ModelServerError": "server_error",
    "ContentFilterError": "content_filter",
    "UnexpectedModelBehavior": "invalid_answer",
}
_SPECIFIC: Final = ("too_many_strict_tools", "context_length", "quota", "content_filter")


def refused(status: int, body: object, headers: Mapping[str, Any]) -> ModelFailedError:
    """Return the error for a response whose status reports a failure. body: as JSON value, or as text."""
    error = error_in(body)
    facts = _facts(error)
    code = _code(facts)
    is_for_length = code == "context_length"  # of status 500, too, from llama.cpp and Ollama
    if code not in _SPECIFIC or (status >= 500 and not is_for_length):
        # the status is the better witness, but a quota that is used up comes as 429, and a prompt too long as 400
        code = _OF_STATUS.get(status, "server_error" if status >= 500 else "invalid_request")
    is_permanent = code in _PERMANENT if code in _SPECIFIC else status < 500 and status not in _PASSING
    should_retry = headers.get("x-should-retry")
    if should_retry in {"true", "false"} and not is_for_length:
        is_permanent = should_retry == "false"
    return ModelFailedError(
        f"the provider answered {status} {_phrase(status)}: {_error_text(error, body)}",
        code,
        is_permanent,
        status,
        asked_wait(headers) or _retry_delay(error),
    )


def error_in_answer(error: object) -> ModelFailedError:
    """Return the error for an answer of status 200 that contains an error. error: the value of its `error`."""
    error = error_in(error)
    facts = _facts(error)
    status = _status(error)
    code = _code(facts) or (_OF_STATUS.get(status, "") if status else "") or "error_in_answer"
    is_permanent = code in _PERMANENT or (status is not None and 400 <= status < 500 and status not in _PASSING)
    return ModelFailedError(
        f"its answer is an error: {_error_text(error, error)}", code, is_permanent, status, _retry_delay(error)
    )


def invalid_answer(problem: str) -> ModelFailedError:
    """Return the error for an answer that does not match its dialect."""
    return ModelFailedError(f"its answer cannot be read: {problem}", "invalid_answer")


def cut_off(problem: str = "the stream ended before the answer did") -> ModelFailedError:
    """Return the error for an answer whose end is missing."""
    return ModelFailedError(problem, "cut_off")


def too_large(problem: str) -> ModelFailedError:
    """Return the error for an answer that exceeds a bound; a repeat would be paid, and most likely as large."""
    return ModelFailedError(f"its answer is too large: {problem}", "answer_too_large", is_permanent=True)


@contextmanager
def raising_failures() -> Iterator[None]:
    """Raise ModelFailedError in place of any other exception; one for a missing package stays."""
    try:
        yield
    except (ModelFailedError, ExtraMissingError):
        raise
    except Exception as error:
        raise failure_of(error) from error


def failure_of(error: Exception) -> ModelFailedError:
    """Return the failure for an exception of a provider's client, or of anything below it."""
    for each in _causes(error):
        if isinstance(each, ModelFailedError):
            return each
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(response, "status_code", None)
    if isinstance(status, int) and status >= 300:
        headers = getattr(response, "headers", None) or getattr(error, "headers", None)
        body = getattr(error, "body", None)
        return refused(status, str(error) if body is None else body, {} if headers is None else headers)
    names = {kind.__name__ for each in _causes(error) for kind in type(each).__mro__}
    problem = f"{type(error).__name__}: {_root(error)}"[:_LONGEST]
    code = next((code for name, code in _OF_CLASSES.items() if name in names), "")
    if code:
        return ModelFailedError(problem, code, code in _PERMANENT)
    if names & {"TimeoutException", "TimeoutError", "APITimeoutError"}:
        return ModelFailedError(f"the provider was silent for too long ({problem})", "timeout")
    if names & {"APIConnectionError", "TransportError", "OSError", "EndOfStream"}:
        return ModelFailedError(f"the connection failed ({problem})", "connection")
    if names & {"JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError"}:
        return invalid_answer(problem)
    return ModelFailedError(problem, is_permanent=bool(names & {"TypeError", "ValueError", "UserError"}))


def error_in(body: object) -> object:
    """Return the error inside a body in the form of OpenAI, Anthropic or MiniMax, or Gemini's list of one error."""
    if isinstance(body, list) and len(body) == 1:
        return error_in(body[0])
    if isinstance(body, Mapping):
        facts = body.get("base_resp")  # of MiniMax
        if isinstance(facts, Mapping):
            return {"code": facts.get("status_code"), "message": facts.get("status_msg")}
        return body.get("error") or body
    return body


def _causes(error: BaseException) -> list[BaseException]:
    """Return the exception and its causes."""
    found: list[BaseException] = []
    step: BaseException | None = error
    while step is not None and step not in found:
        found.append(step)
        step = step.__cause__ or step.__context__
    return found


def _root(error: Exception) -> str:
    texts = [str(each) for each in _causes(error) if str(each)]
    return texts[-1] if texts else "no details"


def _facts(error: object) -> str:
    """Return the text that is searched for the kind: codes and types, then the message."""
    if not isinstance(error, Mapping):
        return str(error)
    detail = error.get("message") or error.get("detail") or ""
    return " ".join(str(each) for each in (error.get("code"), error.get("type"), error.get("status"), detail) if each)


def _code(facts: str) -> str:
    text = facts[:5000]
    code = next((code for code, pattern in _PATTERNS.items() if pattern.search(text)), "")
    is_passing = code == "context_length" and _LIMITED_RATE.search(text) and not _LARGER_THAN_RATE.search(text)
    return "rate_limit" if is_passing else code


def _status(error: object) -> int | None:
    """Return the status in an error inside an answer; OpenRouter and Gemini send one."""
    code = error.get("code") if isinstance(error, Mapping) else None
    number = int(code) if isinstance(code, str) and code.isdecimal() and len(code) == 3 else code
    return number if isinstance(number, int) and 100 <= number <= 599 else None


def _retry_delay(error: object) -> str:
    """Return the wait in seconds among an error's details, as Gemini sends it: `"retryDelay": "33s"`."""
    details = error.get("details") if isinstance(error, Mapping) else None
    for each in details if isinstance(details, list) else ():
        delay = each.get("retryDelay") if isinstance(each, Mapping) else None
        if isinstance(delay, str) and re.fullmatch(r"\d+(?:\.\d+)?s", delay):
            return delay[:-1]
    return ""


def _error_text(error: object, body: object) -> str:
    message = error.get("message") if isinstance(error, Mapping) else None
    text = f"{_facts(error)}" if isinstance(message, str) and message else str(body)
    return text[:_LONGEST]


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
