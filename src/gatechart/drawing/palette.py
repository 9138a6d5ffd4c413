"""Colours, lines and letters of all drawings.

The card is light and opaque, so a drawing reads the same in print, on a white page and on a dark one. What stands out
does so by weight as well: it survives a printer without colours. Text has a contrast of 4.5 to 1 or more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FONT: Final = "Arial,Helvetica,sans-serif"  # fonts of its widths are on nearly every system
LARGE: Final = 15.0  # points
MEDIUM: Final = 11.0
SMALL: Final = 9.0

CARD: Final = "#FBFBF9"
STATE: Final = "#FFFFFF"
CLUSTERS: Final = ("#EEF2F7", "#E1E8F0")  # in turn by depth, so that a nested one stands out from its parent
DOOR: Final = "#0F5F59"
DOOR_INK: Final = "#FFFFFF"
ACTIVE: Final = "#FDE293"
ACTIVE_CLUSTER: Final = "#FEF7E0"
BETWEEN: Final = "#7A8699"  # where the page itself is the ground, light or dark
TRAIL: Final = "#6D28D9"
TRAIL_INK: Final = "#FFFFFF"


@dataclass(frozen=True, slots=True)
class Tone:
    """How loud a part of a drawing is."""

    ink: str
    soft_ink: str  # of what matters less: guards and actions
    line: str
    width: float  # of lines, in points


PLAIN: Final = Tone(ink="#1E293B", soft_ink="#475569", line="#475569", width=1.1)
FAINT: Final = Tone(ink="#566373", soft_ink="#566373", line="#A3AFBF", width=1.0)
LOUD: Final = Tone(ink="#1E293B", soft_ink="#475569", line=TRAIL, width=2.5)
AROUND: Final = Tone(ink="#1E293B", soft_ink="#475569", line="#92400E", width=2.2)  # an active state with children
ALIVE: Final = Tone(ink="#1E293B", soft_ink="#475569", line="#92400E", width=3.5)


def tone_of(*, marked: bool, among_marked: bool) -> Tone:
    """Loud where marked; faint where others are; plain where nothing is."""
    if marked:
        return LOUD
    return FAINT if among_marked else PLAIN
