"""The grammar of documents: elements, their children and their attributes.

Source: W3C SCXML, https://www.w3.org/TR/scxml/, sections 3 to 6. Anything missing here is not carried over: `invoke`,
`finalize`, `script`, external data (`src`), and communication with anything but the agent itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gatechart.contrib.scxml.scope import PROCESSOR
from gatechart.contrib.scxml.xml import Element
from gatechart.errors.definition import Fault
from gatechart.errors.root import listing


@dataclass(frozen=True, slots=True)
class ElementRule:
    """The attributes and children of an element. Attributes with a `!` are required."""

    attributes: str = ""
    children: str = ""
    is_executed: bool = False  # executable content, where foreign elements have a meaning


DOES: Final = "raise if log assign send cancel foreach"
BODY: Final = "state parallel final history datamodel transition onentry onexit"
RULES: Final = {
    "scxml": ElementRule("version initial name datamodel binding", "state parallel final datamodel"),
    "state": ElementRule("id initial", f"{BODY} initial"),
    "parallel": ElementRule("id", BODY),
    "final": ElementRule("id", "onentry onexit donedata"),
    "history": ElementRule("id type", "transition"),
    "initial": ElementRule("", "transition"),
    "transition": ElementRule("event cond target type", DOES, is_executed=True),
    "onentry": ElementRule("", DOES, is_executed=True),
    "onexit": ElementRule("", DOES, is_executed=True),
    "donedata": ElementRule("", "param content"),
    "datamodel": ElementRule("", "data"),
    "data": ElementRule("id! expr"),
    "raise": ElementRule("event!"),
    "if": ElementRule("cond!", f"{DOES} elseif else", is_executed=True),
    "elseif": ElementRule("cond!"),
    "else": ElementRule(),
    "foreach": ElementRule("array! item! index", DOES, is_executed=True),
    "log": ElementRule("label expr"),
    "assign": ElementRule("location! expr"),
    "send": ElementRule(
        "event eventexpr target targetexpr type typeexpr id idlocation delay delayexpr namelist", "param content"
    ),
    "cancel": ElementRule("sendid sendidexpr"),
    "param": ElementRule("name! expr location"),
    "content": ElementRule("expr"),
}
_VALUES: Final = {
    ("scxml", "binding"): ("early", "late"),
    ("scxml", "datamodel"): ("ecmascript", "null"),
    ("scxml", "version"): ("1.0",),
    ("transition", "type"): ("external", "internal"),
    ("history", "type"): ("shallow", "deep"),
}
_PATTERNS: Final = {  # an unknown target or event processor is an error only when it is sent to
    ("send", "target"): (re.compile(r"#_internal|#_scxml_.*|[\w.-]*"), "use '#_internal', or leave it out"),
    ("send", "type"): (re.compile(rf"{re.escape(PROCESSOR)}|scxml|[^A-Za-z]*"), "use 'scxml', or leave it out"),
}
_TEMPLATE: Final = "{http://www.w3.org/2005/scxml-conformance}"
_ANYTHING: Final = re.compile(".*", re.DOTALL)
_NOT_BOTH: Final = {"send": ("target", "type", "delay")}  # exclude the attribute with the suffix `expr`
_ONE_OF: Final = {"send": ("event", "eventexpr"), "cancel": ("sendid", "sendidexpr")}


def grammar_faults(root: Element) -> Iterator[Fault]:
    """Yield a fault for each unsupported or missing part of the document."""
    if root.name != "scxml":
        yield Fault(
            str(root), "it is not an SCXML document", "start with <scxml xmlns='http://www.w3.org/2005/07/scxml'>"
        )
        return
    yield from _faults(root)


def _faults(element: Element) -> Iterator[Fault]:
    rule = RULES[element.name]
    known = tuple(name.rstrip("!") for name in rule.attributes.split())
    for name, value in element.attributes.items():
        if name.startswith(_TEMPLATE):
            yield Fault(str(element), "it belongs to a template of the W3C's tests", "transform it for a data model")
        if name.startswith("{"):  # other namespaces' attributes are notes of editors
            continue
        if name not in known:
            remedy = f"there are {listing(known)}" if known else "leave it out"
            yield Fault(str(element), f"the attribute {name!r} is not carried over", remedy)
        allowed = _VALUES.get((element.name, name), (value,))
        if value not in allowed:
            yield Fault(str(element), f"{name}={value!r} is not carried over", f"use {listing(allowed)}")
        pattern, remedy = _PATTERNS.get((element.name, name), (_ANYTHING, ""))
        if not pattern.fullmatch(value):
            yield Fault(str(element), f"{name}={value!r} is not carried over", remedy)
    yield from _missing(element, rule)
    for child in element.children:
        yield from _child_faults(element, rule, child)


def _missing(element: Element, rule: ElementRule) -> Iterator[Fault]:
    for name in rule.attributes.split():
        if name.endswith("!") and name.rstrip("!") not in element.attributes:
            yield Fault(str(element), f"the attribute {name.rstrip('!')!r} is missing", "add it")
    choice = _ONE_OF.get(element.name, ())
    if choice and sum(name in element.attributes for name in choice) != 1:
        yield Fault(str(element), f"it needs one of {listing(choice)}", "give it exactly one of them")
    for name in _NOT_BOTH.get(element.name, ()):
        if {name, f"{name}expr"} <= set(element.attributes):
            yield Fault(str(element), f"it has both {name} and {name}expr", "drop one of them")
    if element.name in ("history", "initial") and len(element.named("transition")) != 1:
        yield Fault(str(element), "it needs one <transition> to its default target", "give it exactly one")


def _child_faults(parent: Element, rule: ElementRule, child: Element) -> Iterator[Fault]:
    is_foreign = child.name.startswith("{") and not child.name.startswith(_TEMPLATE)
    if is_foreign and not rule.is_executed:  # other namespaces' elements are notes of editors
        return
    if child.name in rule.children.split():
        yield from _faults(child)
        return
    known = tuple(rule.children.split())
    remedy = f"there are {listing(known)}" if known else "leave it out"
    yield Fault(str(child), f"it is not carried over inside <{parent.name}>", remedy)
