"""Moments that several test modules share."""

from datetime import UTC, datetime

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
