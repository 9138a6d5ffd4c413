"""Time zones by their names in the IANA database."""

from __future__ import annotations

from zoneinfo import ZoneInfo, available_timezones


def zone_named(name: str) -> ZoneInfo | None:
    """Return the time zone with this name, such as 'Europe/Berlin'; None if it is unknown."""
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError, TypeError, AttributeError):  # ZoneInfoNotFoundError is a KeyError
        return None


def zone_remedy() -> str:
    """Return the remedy for an unknown name."""
    if available_timezones():
        return "write a name of the IANA database, such as 'Europe/Berlin'"
    return "install the package tzdata, because this machine has no time zone database"
