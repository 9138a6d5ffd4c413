"""Failures of tools: which ones to retry, and how long the other side asks to wait."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeAlias

from gatechart.errors.models import ModelFailedError
from gatechart.errors.operation import BreakerOpenError
from gatechart.errors.tools import ToolFailedError
from gatechart.values.delays import Delay, Retry, seconds_in

MOST_RETRY_AFTER_S: Final = 86400.0
"""The longest wait that the other side may ask for. If it asks for more, the tool is not called again."""

_NUMBER: Final = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_PASSING: Final = (408, 409, 425, 429)  # statuses below 500 that the clients of OpenAI and Anthropic retry
_LOST: Final = (TimeoutError, ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
# By name, because a tool may use httpx without this package importing it; ConnectTimeout and PoolTimeout are not here.
_LOST_BY_HTTPX: Final = frozenset({"ReadTimeout", "WriteTimeout", "ReadError", "WriteError", "RemoteProtocolError"})


class ToolError(Exception):
    """Raised by a tool that knows whether a retry makes sense.

    retry: whether another attempt may succeed. after: minimum wait before it, "30s" or seconds.
    in_doubt: whether the tool may have acted despite the error. A tool that must not be repeated is then not called
    again.
    """

    def __init__(self, message: str, *, retry: bool = True, after: Delay | None = None, in_doubt: bool = False) -> None:
        super().__init__(message)
        self.retry = retry
        self.in_doubt = in_doubt
        self.after_s = None if after is None else seconds_in(after, "after")


RetryOn: TypeAlias = "Callable[[Exception], bool] | type[Exception] | tuple[type[Exception], ...]"
"""The exceptions to retry: their classes, or a function that returns whether to retry."""


def is_passing(error: Exception) -> bool:
    """Return whether another attempt may succeed. True unless the other side reports an error of the caller.

    Evaluates `ToolError`, `ModelFailedError`, and the status of an HTTP response, as httpx, pydantic-ai and the clients
    of OpenAI and Anthropic raise it.
    """
    if isinstance(error, ToolError):
        return error.retry
    if isinstance(error, ModelFailedError):
        return not error.is_permanent
    status = getattr(_response_of(error), "status_code", None)
    return not isinstance(status, int) or status >= 500 or status in _PASSING


def is_in_doubt(error: BaseException) -> bool:
    """Return whether the tool may have acted despite the error: the request was sent, and the answer is missing.

    Evaluates `ToolError`, and timeouts and broken connections of Python and httpx. After a failed attempt to connect,
    there is no doubt.
    """
    if isinstance(error, ToolError):
        return error.in_doubt
    names = {base.__name__ for base in type(error).__mro__}
    return isinstance(error, _LOST) or not names.isdisjoint(_LOST_BY_HTTPX)


def is_worth_retrying(error: Exception, retry_on: RetryOn) -> bool:
    """Return whether `retry_on` includes the exception."""
    return isinstance(error, retry_on) if isinstance(retry_on, type | tuple) else bool(retry_on(error))


def retry_after_s(error: Exception, now: datetime) -> float:
    """Return the seconds that the other side asks to wait, from `ToolError` or the response's Retry-After; else 0.

    An open circuit breaker, also inside a tool, asks to wait until it allows a call. Providers of models also send the
    more precise `retry-after-ms`. Source of Retry-After: RFC 9110, section 10.2.3: seconds, or a date.
    """
    if isinstance(error, ToolError):
        return error.after_s or 0.0
    if isinstance(error, BreakerOpenError | ToolFailedError):
        return 0.0 if error.retry_at is None else max((error.retry_at - now).total_seconds(), 0.0)
    if isinstance(error, ModelFailedError):
        return _seconds(error.retry_after, now)
    headers: Any = getattr(_response_of(error), "headers", None)
    return _seconds(asked_wait(headers), now) if hasattr(headers, "get") else 0.0


def asked_wait(headers: Mapping[str, Any]) -> str:
    """Return the wait that a response's headers request: seconds, or a date as in Retry-After; "" without one.

    headers: case-insensitive, as in httpx and the clients of providers.

    >>> asked_wait({"retry-after-ms": "1500", "retry-after": "2"})
    '1.5'
    """
    in_ms = headers.get("retry-after-ms")
    if isinstance(in_ms, str) and _NUMBER.fullmatch(in_ms.strip()):
        return str(float(in_ms) / 1000)
    given = headers.get("retry-after")
    return given if isinstance(given, str) else ""


def next_try_s(
    retry: Retry, failed: int, draw: float, error: Exception, retry_on: RetryOn, now: datetime
) -> float | None:
    """Return the seconds to wait before another try, at least the wait that the other side asks for; None to give up.

    failed: number of failed tries. draw: see `Retry.wait_s`. error: of the last try. now: aware, in UTC.
    """
    wait_s, asked_s = retry.wait_s(failed, draw), retry_after_s(error, now)
    if wait_s is None or asked_s > MOST_RETRY_AFTER_S or not is_worth_retrying(error, retry_on):
        return None
    return max(wait_s, asked_s)


def _response_of(error: Exception) -> Any:
    """Return the object with the HTTP response's facts: the exception's `response`, or itself, as in pydantic-ai."""
    return getattr(error, "response", error)


def _seconds(given: str, now: datetime) -> float:
    text = given.strip()
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        return max((parsedate_to_datetime(text) - now).total_seconds(), 0.0)
    except (TypeError, ValueError, OverflowError):  # a date without a zone, or no date
        return 0.0
