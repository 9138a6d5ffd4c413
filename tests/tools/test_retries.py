"""Which failures of tools are worth another attempt, and how long the other side asks to wait."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from gatechart import Retry
from gatechart.errors import BreakerOpenError, ToolFailedError
from gatechart.tools import ToolError
from gatechart.tools.retries import is_in_doubt, is_passing, is_worth_retrying, next_try_s, retry_after_s

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def answered(status: int, **headers: str) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", "http://shop.test/orders/4711")
    response = httpx.Response(status, headers={key.replace("_", "-"): each for key, each in headers.items()})
    return httpx.HTTPStatusError(str(status), request=request, response=response)


@pytest.mark.parametrize("error", [OSError(), answered(500), answered(503), answered(429), ToolError("busy")])
def test_what_passes_is_worth_another_attempt(error):
    assert is_passing(error)


@pytest.mark.parametrize("error", [answered(400), answered(404), ToolError("no such order", retry=False)])
def test_what_the_caller_did_wrong_is_not(error):
    assert not is_passing(error)


def test_a_tool_says_which_exceptions_are_worth_it():
    assert is_worth_retrying(ConnectionResetError(), (ConnectionError, TimeoutError))
    assert not is_worth_retrying(KeyError(), ConnectionError)
    assert is_worth_retrying(KeyError("busy"), lambda error: "busy" in str(error))


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (answered(429, retry_after="7"), 7),
        (answered(503, retry_after="Mon, 23 Nov 2026 12:00:30 GMT"), 30),
        (answered(503, retry_after="Mon, 23 Nov 2026 11:00:00 GMT"), 0),
        (answered(503, retry_after="soon"), 0),
        (answered(503, retry_after="-3"), 0),
        (answered(503), 0),
        (ToolError("busy", after="2m"), 120),
        (ToolError("busy"), 0),
        (OSError(), 0),
        (BreakerOpenError("crm", "open", NOW + timedelta(seconds=40), "503"), 40),
        (BreakerOpenError("crm", "open", NOW - timedelta(seconds=1), "503"), 0),
        (BreakerOpenError("crm", "isolated", None, ""), 0),
        (ToolFailedError("crm", "breaker open", "", 0, NOW + timedelta(seconds=40)), 40),
        (ToolFailedError("crm", "raised", "", 3), 0),
    ],
)
def test_the_other_side_says_how_long_to_wait(error, seconds):
    assert retry_after_s(error, NOW) == seconds


class ProviderError(Exception):
    """An exception that has the facts of the response itself, as pydantic-ai raises."""

    def __init__(self, status: int, **headers: str) -> None:
        self.status_code = status
        self.headers = {key.replace("_", "-"): each for key, each in headers.items()}


def test_an_exception_may_have_status_and_headers_itself():
    assert is_passing(ProviderError(429))
    assert not is_passing(ProviderError(401))
    assert retry_after_s(ProviderError(429, retry_after="7"), NOW) == 7


@pytest.mark.parametrize(
    ("failed", "error", "wait_s"),
    [
        (1, OSError(), 2),
        (2, OSError(), 4),
        (1, answered(429, retry_after="7"), 7),
        (1, answered(429, retry_after="1"), 2),
        (1, answered(429, retry_after="90000"), None),
        (1, answered(400), None),
        (3, OSError(), None),
    ],
)
def test_the_next_try_waits_for_the_policy_and_for_what_the_other_side_asks(failed, error, wait_s):
    assert next_try_s(Retry(attempts=3, first_s=2), failed, 0.5, error, is_passing, NOW) == wait_s


@pytest.mark.parametrize(
    "error", [TimeoutError(), ConnectionResetError(), httpx.ReadTimeout(""), ToolError("no answer", in_doubt=True)]
)
def test_an_answer_that_never_came_leaves_in_doubt_what_was_done(error):
    assert is_in_doubt(error)


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(), httpx.ConnectTimeout(""), answered(500), ToolError("busy"), KeyError()]
)
def test_a_request_that_never_went_out_or_was_answered_does_not(error):
    assert not is_in_doubt(error)
