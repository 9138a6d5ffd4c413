"""Which failures of tools are worth another attempt, and how long the other side asks to wait."""

from datetime import UTC, datetime

import httpx
import pytest

from gatechart import ToolError
from gatechart.tools import is_in_doubt, is_passing, is_worth_retrying, retry_after_s

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
    ],
)
def test_the_other_side_says_how_long_to_wait(error, seconds):
    assert retry_after_s(error, NOW) == seconds


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
