"""Options with which objects and services are declared to the engine, and raw bytes as values."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from restate import InvocationRetryPolicy, RunOptions
from restate.serde import BytesSerde, Serde

MARGIN: Final = timedelta(seconds=60)  # on top of the longest time that a handler works without contact to the engine
BYTES: Final[Serde[Any]] = BytesSerde()
AS_BYTES: Final[RunOptions[bytes]] = RunOptions(serde=BYTES, type_hint=bytes)
FOREVER: Final = InvocationRetryPolicy(
    initial_interval=timedelta(milliseconds=100),
    exponentiation_factor=2.0,
    max_interval=timedelta(seconds=10),
    max_attempts=2**31 - 1,  # without it the engine's own limit holds, which pauses an agent for good after minutes
)
"""Retry policy for failures that only an unavailable service or engine causes: retry until it succeeds."""


def patience(longest_s: float) -> dict[str, Any]:
    """Return options with which the engine does not repeat an invocation that merely takes long."""
    return {
        "inactivity_timeout": timedelta(seconds=longest_s) + MARGIN,
        "abort_timeout": MARGIN,
        "journal_retention": timedelta(0),
        "idempotency_retention": timedelta(minutes=10),
        "invocation_retry_policy": FOREVER,
    }
