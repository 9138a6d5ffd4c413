"""Texts of Mermaid's flowcharts, from names that may hold anything.

Source: https://mermaid.js.org/syntax/flowchart.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from gatechart.drawing.palette import ACTIVE, ALIVE, BETWEEN, CARD, DOOR, DOOR_INK, LOUD, PLAIN, STATE
from gatechart.drawing.text import visible

_SPECIAL = re.compile(r"""["#$%&'*;<=>?@\\^`{|}~!]""")
_IN_TITLES = str.maketrans("<>", "‹›")  # there Mermaid takes markup for its own, and entities for text
_HEAD = """\
---
title: {title}
config:
  theme: base
  themeVariables:
    lineColor: "{line}"
    textColor: "{line}"
  flowchart:
    wrappingWidth: 500
    nodeSpacing: 25
    rankSpacing: 35
    padding: 8
---
flowchart {direction}"""
CLASSES = (  # each sets its own colours of text and ground, so that both a light and a dark page can be read
    f"classDef state fill:{STATE},stroke:{PLAIN.line},color:{PLAIN.ink}",
    f"classDef visited fill:{STATE},stroke:{LOUD.line},color:{LOUD.ink},stroke-width:3px",
    f"classDef active fill:{ACTIVE},stroke:{ALIVE.line},color:{ALIVE.ink},stroke-width:4px,font-weight:bold",
    f"classDef initial fill:{PLAIN.ink},stroke:{PLAIN.ink}",
    f"classDef anywhere fill:{CARD},stroke:{PLAIN.line},color:{PLAIN.ink},stroke-dasharray:4",
    f"classDef label fill:{CARD},stroke:none,color:{PLAIN.ink}",
    f"classDef door fill:{DOOR},stroke:{DOOR},color:{DOOR_INK}",
    f"classDef elsewhere fill:{STATE},stroke:{DOOR},color:{DOOR},stroke-dasharray:4",
)


def whole(title: str, body: Iterable[str], *, direction: str = "TB") -> str:
    """A flowchart with its title, from top to bottom or from left to right, "LR"."""
    told = json.dumps(visible(title).translate(_IN_TITLES), ensure_ascii=False)
    return "\n".join([_HEAD.format(title=told, line=BETWEEN, direction=direction), *indented(body), ""])


def id_of(prefix: str, name: str) -> str:
    """An identifier that no other name has: the name itself where it is plain, else its bytes."""
    if re.fullmatch(r"[A-Za-z0-9]+(_[A-Za-z0-9]+)*", name):
        return f"{prefix}_{name}"
    return f"{prefix}__{name.encode(errors='surrogatepass').hex()}"


def lines_of(lines: Iterable[str]) -> str:
    """Several lines of text."""
    return "<br/>".join(map(escape, lines))


def escape(text: str) -> str:
    """The text with all that Mermaid or Markdown could take for its own written as an entity."""
    return _SPECIAL.sub(lambda found: f"#{ord(found[0])};", visible(text))


def indented(lines: Iterable[str]) -> Iterator[str]:
    """The lines, moved to the right."""
    return (f"  {line}" for line in lines)
