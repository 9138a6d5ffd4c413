"""Colours, line widths and fonts of all drawings, in two themes.

The background is opaque, so a drawing reads the same on a light page and on a dark one. Emphasis uses line weight as
well as colour, so that it survives a black-and-white printer. Text has a contrast of 4.5 to 1 or more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from gatechart.errors.outside import DrawingError
from gatechart.errors.root import suggestion

FONT: Final = "Arial,Helvetica,sans-serif"  # fonts of its widths are on nearly every system
LARGE: Final = 15.0  # points
MEDIUM: Final = 11.0
SMALL: Final = 9.0

BETWEEN: Final = "#7A8699"  # for text on the page itself, which may be light or dark


@dataclass(frozen=True, slots=True)
class Tone:
    """The emphasis of a part of a drawing."""

    ink: str
    soft_ink: str  # for details: guards and actions
    line: str
    width: float  # of lines, in points


class Marked(Protocol):
    """A transition, or an arrow with several transitions, that may be a signal or an escape."""

    @property
    def is_signal(self) -> bool:
        """Whether it answers a signal."""
        ...

    @property
    def is_escape(self) -> bool:
        """Whether it is an escape."""
        ...


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of a drawing."""

    card: str
    state: str
    clusters: tuple[str, str]  # alternating by depth, so that a nested cluster stands out from its parent
    door: str
    door_ink: str
    active: str
    active_cluster: str
    trail: str
    trail_ink: str
    plain: Tone
    faint: Tone  # off the trail, in a drawing with a trail
    loud: Tone  # on the trail
    around: Tone  # an active state with children
    alive: Tone
    signal: Tone  # answers to signals
    escape: Tone  # escapes from the problems that signals report

    def tone_of(self, *, marked: bool, among_marked: bool) -> Tone:
        """Return `loud` for a marked part, `faint` beside marked parts, and `plain` if no part is marked."""
        if marked:
            return self.loud
        return self.faint if among_marked else self.plain

    @property
    def tones(self) -> tuple[Tone, ...]:
        """All tones."""
        return (self.plain, self.faint, self.loud, self.around, self.alive, self.signal, self.escape)

    def kind(self, part: Marked) -> Tone | None:
        """Return the tone of a signal or an escape; None for an ordinary transition."""
        return self.signal if part.is_signal else self.escape if part.is_escape else None


LIGHT: Final = Theme(
    card="#FBFBF9",
    state="#FFFFFF",
    clusters=("#EEF2F7", "#E1E8F0"),
    door="#0F5F59",
    door_ink="#FFFFFF",
    active="#FDE293",
    active_cluster="#FEF7E0",
    trail="#6D28D9",
    trail_ink="#FFFFFF",
    plain=Tone(ink="#1E293B", soft_ink="#475569", line="#475569", width=1.1),
    faint=Tone(ink="#566373", soft_ink="#566373", line="#A3AFBF", width=1.0),
    loud=Tone(ink="#1E293B", soft_ink="#475569", line="#6D28D9", width=2.5),
    around=Tone(ink="#1E293B", soft_ink="#475569", line="#92400E", width=2.2),
    alive=Tone(ink="#1E293B", soft_ink="#475569", line="#92400E", width=3.5),
    signal=Tone(ink="#B4123C", soft_ink="#475569", line="#B4123C", width=1.6),
    escape=Tone(ink="#1D4ED8", soft_ink="#475569", line="#1D4ED8", width=1.6),
)

DARK: Final = Theme(
    card="#12161D",
    state="#1B212B",
    clusters=("#232B38", "#2C3646"),
    door="#7FDDD0",
    door_ink="#0B1F1D",
    active="#5A4408",
    active_cluster="#33290F",
    trail="#C4A7FF",
    trail_ink="#1C1033",
    plain=Tone(ink="#EDF1F7", soft_ink="#C3CCD9", line="#9AA7B8", width=1.1),
    faint=Tone(ink="#B4BECC", soft_ink="#B4BECC", line="#5D6A7C", width=1.0),
    loud=Tone(ink="#EDF1F7", soft_ink="#C3CCD9", line="#C4A7FF", width=2.5),
    around=Tone(ink="#EDF1F7", soft_ink="#C3CCD9", line="#F5B942", width=2.2),
    alive=Tone(ink="#EDF1F7", soft_ink="#C3CCD9", line="#F5B942", width=3.5),
    signal=Tone(ink="#FF9DB0", soft_ink="#C3CCD9", line="#FF9DB0", width=1.6),
    escape=Tone(ink="#9DB8FF", soft_ink="#C3CCD9", line="#9DB8FF", width=1.6),
)

THEMES: Final[Mapping[str, Theme]] = MappingProxyType({"light": LIGHT, "dark": DARK})


def theme_of(name: str) -> Theme:
    """Return a theme by name. Raises DrawingError, which lists the known themes."""
    try:
        return THEMES[name]
    except (KeyError, TypeError):
        raise DrawingError(f"unknown theme {name!r}: {suggestion(name, tuple(THEMES))}") from None
