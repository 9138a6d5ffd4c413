"""Reads the answers of the tools: the only place that knows how they are worded."""

from __future__ import annotations

import re
from typing import Final

NO_CONNECTION: Final = "no connection"
NEEDED_PERMISSIONS: Final = ("storage", "sms")  # by the messaging app, for picture messages

_RATING: Final = re.compile(r"\(([^)]+)\)")
_ON: Final = re.compile(r"\bON\b")
_OFF: Final = re.compile(r"\bOFF\b")


def has_service(status_bar: str) -> bool:
    """Whether the status bar shows a signal."""
    shown = status_bar.lower()
    return "no signal" not in shown and "no service" not in shown and "airplane mode" not in shown


def fields(text: str) -> dict[str, str]:
    r"""Read lines of the form "Name: value", with names in lower case.

    >>> fields("Airplane Mode: ON\nCellular Signal: good")
    {'airplane mode': 'ON', 'cellular signal': 'good'}
    """
    parts = (line.partition(":") for line in text.splitlines())
    return {name.strip().lower(): value.strip() for name, colon, value in parts if colon}


def is_on(text: str) -> bool:
    r"""Whether something is said to be on: the first ON or OFF of the text counts, or a yes.

    >>> is_on("Data Roaming is now ON.\nStatus Bar: …"), is_on("VPN is turned OFF."), is_on("Yes")
    (True, False, True)
    """
    on, off = _ON.search(text), _OFF.search(text)
    if on and off:
        return on.start() < off.start()
    return bool(on) or text.strip().lower() == "yes"


def sim(text: str) -> str:
    """Return the state of a SIM card: missing, locked, active or unknown."""
    said = text.lower()
    states = (("no sim", "missing"), ("missing", "missing"), ("locked", "locked"), ("active", "active"))
    return next((state for words, state in states if words in said), "unknown")


def speed(text: str) -> str:
    """Return the rating of a speed test in lower case, or NO_CONNECTION.

    >>> speed("Speed Test Result: 275.00 Mbps (Excellent). …"), speed("Speed test failed: No Connection.")
    ('excellent', 'no connection')
    """
    rating = _RATING.search(text)
    return rating.group(1).lower() if rating else NO_CONNECTION


def is_vpn_connected(text: str) -> bool:
    """Whether a VPN is connected, rather than only turned on in the settings."""
    return is_on(text) and "not connected" not in text


def missing_permissions(text: str) -> tuple[str, ...]:
    """Return which permissions the messaging app lacks, of those that it needs."""
    _, _, granted = text.partition("permission for:")
    held = {name.strip(" .").lower() for name in granted.split(",")}
    return tuple(name for name in NEEDED_PERMISSIONS if name not in held)


def has_mmsc_url(text: str) -> bool:
    """Whether the APN settings name a server of picture messages."""
    return any(name.startswith("mmsc url") and value.lower() != "not set" for name, value in fields(text).items())


def can_send_mms(text: str) -> bool:
    """Whether the messaging app can send picture messages."""
    return "can send" in text
