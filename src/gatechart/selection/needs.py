"""Needs of work, from the declarations of a selection and from the packet."""

from __future__ import annotations

from collections.abc import Iterable

from gatechart.errors.failures import SelectionAnswerError
from gatechart.graph.selection import Best, NeedRule
from gatechart.handoff.packet import HandoffPacket, SelectionTerms
from gatechart.handoff.selections import terms_with
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import Needs


def needs_of(best: Best, packet: HandoffPacket) -> Needs:
    """Return the needs of the work in a packet: the selection's declared needs and the first matching rule's needs.

    If the needs are a function, its exceptions are raised.
    """
    return _declared(best, packet).joined(_ruled(best, packet) or Needs())


def terms_of(best: Best, packet: HandoffPacket) -> SelectionTerms:
    """Return the terms of a selection, with the needs of the work in a packet, for storage in the packet."""
    ruled = _ruled(best, packet)
    needs = _declared(best, packet).joined(ruled or Needs())
    return terms_with(best, needs).model_copy(update={"no_rule": bool(best.rules) and ruled is None})


def first_needs(rules: Iterable[NeedRule], reason: Reason, text: str) -> Needs | None:
    """Return the needs of the first rule that applies to work with this reason and text; None if none applies."""
    return next((rule.needs for rule in rules if rule.applies(reason, text)), None)


def _ruled(best: Best, packet: HandoffPacket) -> Needs | None:
    return first_needs(best.rules, packet.reason, f"{packet.current_problem}\n{packet.suggested_action}")


def _declared(best: Best, packet: HandoffPacket) -> Needs:
    if best.needs is None:
        return Needs()
    needs = best.needs if isinstance(best.needs, Needs) else best.needs(packet)
    if not isinstance(needs, Needs):
        raise SelectionAnswerError("needs=", repr(needs), "Needs(...)")
    return needs
