"""How objects and services are declared to the engine, and how bytes go there unchanged."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from restate import InvocationRetryPolicy, RunOptions
from restate.serde import BytesSerde, Serde

MARGIN: Final = timedelta(seconds=60)  # beyond the longest that a handler works without a word to the engine
BYTES: Final[Serde[Any]] = BytesSerde()
AS_BYTES: Final[RunOptions[bytes]] = RunOptions(serde=BYTES, type_hint=bytes)
FOREVER: Final = InvocationRetryPolicy(
    initial_interval=timedelta(milliseconds=100),
    exponentiation_factor=2.0,
    max_interval=timedelta(seconds=10),
    max_attempts=2**31 - 1,  # left out, the engine's own bound holds, and it pauses an agent after minutes for good
)
"""For what only a service that is down, or its engine, can make fail: it is tried until it goes on."""


def patience(longest_s: float) -> dict[str, Any]:
    """What an object is declared with, so that the engine does not run again what only takes long."""
    return {
        "inactivity_timeout": timedelta(seconds=longest_s) + MARGIN,
        "abort_timeout": MARGIN,
        "journal_retention": timedelta(0),
        "idempotency_retention": timedelta(minutes=10),
        "invocation_retry_policy": FOREVER,
    }
