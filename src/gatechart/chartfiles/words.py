"""Translate the faults of a graph into the keys of chart files.

A graph names Python arguments. The author of a chart file gets keys instead. This table is the only place for that.
"""

from __future__ import annotations

import re
from typing import Final

_KEYS: Final = (
    "agent|at|data|deadline|events|fallbacks|history|id|initial|invoke|maps|most|otherwise|packet|states|status|takes|"
    "achieved|waits|answer|signals|window|calls|most_bytes|task|measure|payload|name|said|ignore"
)
WORDS: Final[tuple[tuple[str, str], ...]] = (  # (pattern, replacement)
    (r"leave it only name, history= and initial=", "leave it only `type`, `history` and `initial`"),
    (r"\bfailed=True", "`failed: true`"),
    (r"\binternal=True", "`internal: true`"),
    (r"\bparallel=True", "`type: parallel`"),
    (r"\badd final=True", "add `type: final`"),
    (r"\bor final=True", "or let the state not be final"),
    (r"\bdrop final=True", "drop `final: true`"),
    (r"\bon_(entry|exit)(?=[,:])", r"\1"),
    (rf"\b({_KEYS})=(?=[\s,;:]|$)", r"`\1`"),
    (rf"\b({_KEYS})=(?=\w)", r"\1: "),
    (r"\bor None to switch", "or null to switch"),
    (r"\bor None for none", "or leave it out"),
    (r"^pass a (?=whole number)", "write a "),
    (r"\b(most_a_day|turns)=", r"`\1` "),
    (r"^use ToHuman\(.*\), GiveUp\(\) or a Handoff", "write `to_human:`, `give_up` or `handoff:`"),
    (r"^(Retry|SameTarget)\(.*?\) is not possible", "it is not possible"),
)
_COMPILED: Final = tuple((re.compile(pattern), instead) for pattern, instead in WORDS)


def in_keys(text: str) -> str:
    """Return the text of a graph's fault with chart keys in place of Python arguments.

    >>> in_keys("give it states=, or drop parallel=True")
    'give it `states`, or drop `type: parallel`'
    """
    for pattern, instead in _COMPILED:
        text = pattern.sub(instead, text)
    return text
