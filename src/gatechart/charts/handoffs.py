"""The parts of a chart that hand on work, and that take it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from gatechart.charts.fields import Fields, kind_of, text_of
from gatechart.charts.forms import AcceptsForm, ActionForm, HandoffForm, InvokeForm, Reference
from gatechart.charts.places import Spot
from gatechart.charts.references import References
from gatechart.charts.retries import retry_of
from gatechart.graph import Delay, Fallbacks, Human, OtherGraph, SameTarget, seconds_of
from gatechart.values import Mode, Reason

OF_AN_AGENT: Final = ("at", "packet", "fallbacks")
_MODES: Final = tuple(mode.value for mode in Mode)
_REASONS: Final = tuple(reason.value for reason in Reason)
_TO: Final = "name the graph that takes the work"
_AT: Final = "name the entry point of the graph"
_DELAY: Final = "write '500ms', '30s', '2m', '1h' or '7d', or seconds"
_KINDS: Final = ("same_target", "other_graph", "human")
_FALLBACK: Final = "write `same_target: {attempts: 3}`, `other_graph: <graph>` or `human: <graph>`, these with `at:`"


class Handoffs(References):
    """The reading of handoffs, of agents that are invoked, and of what is accepted."""

    def actions(self, fields: Fields, key: str) -> tuple[ActionForm, ...]:
        """One action or a list of them."""
        return tuple(self.action(each) for each in fields.values(key))

    def action(self, spot: Spot) -> ActionForm:
        """The name of a function, or a handoff."""
        content = spot.get("handoff")
        if content is None:
            return self.reference(spot)
        if self.is_xstate:
            remedy = "name an action, and bind a Handoff(...) to the name; or leave out `dialect: xstate`"
            self.faults.add(spot.key("handoff"), "XState has no handoffs", remedy)
            return Reference(spot, "")
        Fields(spot, self.faults, self.known["handing_on"])
        return self.handoff(content)

    def handoff(self, spot: Spot) -> HandoffForm:
        """Whereto, and how."""
        fields = Fields(spot, self.faults, self.known["handoff"])
        return HandoffForm(
            spot=spot,
            to=self.needed(fields, "to", _TO),
            at=self.needed(fields, "at", _AT),
            mode=fields.choice("mode", _MODES, Mode.TRANSFER.value),
            reason=fields.choice("reason", _REASONS, Reason.OTHER.value),
            deadline=self.delay(spot.get("deadline")),
            fallbacks=self.fallbacks(spot.get("fallbacks")),
            packet=self.told(spot, "packet"),
            agent=self.told(spot, "agent"),
            achieved=self.told(spot, "achieved"),
        )

    def agent(self, fields: Fields) -> InvokeForm:
        """An agent that works while a state is active."""
        spot = fields.spot
        for key in ("src", "params", "retry"):
            if spot.get(key) is not None:
                self.faults.add(spot.key(key), f"{key!r} belongs to a function", "drop it, or drop `agent:`")
        return InvokeForm(
            spot=spot,
            function=None,
            id=fields.text("id"),
            timeout_s=fields.number("timeout_s"),
            agent=self.needed(fields, "agent", _TO) or "?",
            at=self.needed(fields, "at", _AT),
            packet=self.told(spot, "packet"),
            fallbacks=self.fallbacks(spot.get("fallbacks")),
        )

    def accepts(self, spot: Spot | None) -> AcceptsForm | None:
        """How many handoffs are taken at once, and by what policy."""
        if spot is None:
            return None
        fields = Fields(spot, self.faults, self.known["accepts"])
        capacity = spot.get("capacity")
        if capacity is None:
            return AcceptsForm(spot, None, self.told(spot, "policy"))
        is_whole = isinstance(capacity.value, int) and not isinstance(capacity.value, bool)
        number = fields.number("capacity")
        if number is not None and not is_whole:
            self.faults.add(capacity, f"{kind_of(capacity)} stands where a whole number belongs", "write 0 or more")
        return AcceptsForm(spot, capacity.value if is_whole and number is not None else None, self.told(spot, "policy"))

    def needed(self, fields: Fields, key: str, remedy: str) -> str:
        """A text that must be there; empty where it is not, noted."""
        spot = fields.needs(key, remedy)
        return "" if spot is None else text_of(spot, self.faults)

    def told(self, spot: Spot, key: str) -> Reference | None:
        """The name of a function, where there is one."""
        found = spot.get(key)
        return None if found is None else self.reference(found)

    def delay(self, spot: Spot | None) -> Delay | None:
        """How long something takes; a number is seconds."""
        if spot is None:
            return None
        value = spot.value
        is_delay = isinstance(value, str | int | float) and not isinstance(value, bool)
        if not is_delay or seconds_of(value) in (None, math.inf):
            self.faults.add(spot, f"{kind_of(spot)} is no delay", _DELAY)
            return None
        delay: Delay = value
        return delay

    def fallbacks(self, spot: Spot | None) -> Fallbacks | None:
        """What to try when an offer is rejected."""
        return None if spot is None else Fallbacks(*self.fallback_steps(spot))

    def fallback_steps(self, spot: Spot) -> Iterator[SameTarget | OtherGraph | Human]:
        """Those that can be read."""
        for each in spot.elements():
            fields = Fields(each, self.faults, self.known["fallback"])
            kinds = [kind for kind in _KINDS if each.get(kind) is not None]
            if each.is_mapping and len(kinds) != 1:
                said = f"it is {' and '.join(map(repr, kinds))} at once" if kinds else "it does not say what to try"
                self.faults.add(each, said, _FALLBACK)
            elif kinds == ["same_target"]:
                yield from self.same_target(each)
            elif kinds:
                kind = OtherGraph if kinds == ["other_graph"] else Human
                graph, at = self.needed(fields, kinds[0], _TO), self.needed(fields, "at", _AT)
                yield kind(graph or "?", at=at or "?", agent=fields.text("agent"))

    def same_target(self, step: Spot) -> Iterator[SameTarget]:
        """The same target again, so often and after such waits."""
        for key in ("at", "agent"):
            if step.get(key) is not None:
                self.faults.add(step.key(key), f"{key!r} belongs to another target", "drop it; it is the same target")
        spot = step.get("same_target")
        same = None if spot is None else retry_of(SameTarget, spot, self.faults, self.known["retry"])
        if same is not None:
            yield same
