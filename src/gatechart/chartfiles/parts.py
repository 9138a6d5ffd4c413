"""From nodes to the parts of a chart inside its states: references, guards, handoffs, entry points and so on."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from gatechart.chartfiles import former_keys, xstate
from gatechart.chartfiles.built_in import BUILT_IN
from gatechart.chartfiles.faults import Faults, Fields, Keys, Spot, kind_of, retry_of, text_of
from gatechart.chartfiles.model import (
    AcceptsForm,
    ActionForm,
    BestForm,
    BuiltInForm,
    Dialect,
    Exceptions,
    Expression,
    FallbackForm,
    HandoffForm,
    InvokeForm,
    Question,
    Reference,
    Values,
)
from gatechart.chartfiles.selections import best_form
from gatechart.graph.handoff import Human, OtherGraph, SameTarget
from gatechart.values.delays import DELAY_REMEDY, Delay, Retry, seconds_of
from gatechart.values.handoffs import Mode, Reason
from gatechart.values.profiles import HIGHEST_CAPACITY

_MOST_TARGETS: Final = 32  # of a transition; each is compared with every other


class References:
    """The parser of references, for one chart with its dialect and its faults.

    known: the keys of all parts in the dialect.
    """

    def __init__(self, faults: Faults, dialect: Dialect, known: Keys) -> None:
        self.faults = faults
        self.dialect = dialect
        self.known = known

    @property
    def is_xstate(self) -> bool:
        """Whether the chart has XState's semantics."""
        return self.dialect is Dialect.XSTATE

    def filled(self, spot: Spot) -> Spot:
        """Drop the keys that hold null in XState's dialect: JSON may have null for undefined."""
        if not self.is_xstate:
            return spot
        return without(spot, [key for key, value in spot.items() if value.value is None])

    def targets(self, spot: Spot | None) -> tuple[Spot, ...]:
        """Return one reference to a state, or a list of references."""
        if spot is None or (spot.value is None and self.is_xstate):
            return ()
        several = tuple(spot.elements())
        if len(several) > _MOST_TARGETS:
            self.faults.add(spot, f"there are more than {_MOST_TARGETS} targets", "target a state around them")
        return tuple(each for each in several[:_MOST_TARGETS] if text_of(each, self.faults))

    def reference(self, spot: Spot) -> Reference:
        """Return the name of a function, or its name under `type` with `params`."""
        if not spot.is_mapping:
            return Reference(spot, text_of(spot, self.faults))
        fields = Fields(spot, self.faults, self.known["reference"])
        name = fields.needs("type", "name the function")
        given = spot.get("params")
        params = None if given is None else self.params(given)
        return Reference(spot, "" if name is None else text_of(name, self.faults), params)

    def named(self, spot: Spot, what: str) -> Reference:
        """Return a reference in XState's dialect, with a fault where an export has lost a function."""
        declared = spot.get("type") or spot
        text = declared.value
        if text is None or text == "" or (isinstance(text, str) and text.startswith(xstate.INTERNAL)):
            detail = f"the name {text!r} does not identify one" if text else "the name is missing"
            self.faults.add(spot, *xstate.lost(what, detail))
            return Reference(spot, "")
        return self.reference(spot)

    def params(self, spot: Spot) -> dict[str, object]:
        """Return the parameters of a function, by name."""
        Fields(spot, self.faults)
        return dict(spot.plain()) if spot.is_mapping else {}

    def guard(self, spot: Spot | None) -> Question | None:
        """Return the name of a function, an expression under `cel`, or events under `except` with another guard."""
        if spot is None:
            return None
        if spot.get("cel") is not None:
            return Expression(spot, Fields(spot, self.faults, self.known["cel"]).text("cel"))
        if spot.get("except") is not None:
            events = Fields(spot, self.faults, self.known["except"]).texts("except")
            return Exceptions(spot, events, self.guard(spot.get("guard")))
        return self.named(spot, "guard") if self.is_xstate else self.reference(spot)

    def data(self, spot: Spot | None) -> Reference | Values | None:
        """Return the name of a function, or values under `value`."""
        if spot is None:
            return None
        value = spot.get("value")
        if value is not None and len(spot.value) == 1 and value.is_mapping:
            return Values(value, value.plain())
        if self.is_xstate and spot.is_mapping and spot.get("type") is None:
            self.faults.add(spot, "XState 5 has no 'data' of a final state", former_keys.OUTPUT)
            return None
        return self.reference(spot)

    def output(self, spot: Spot | None) -> Reference | Values | None:
        """Return the output of a state in XState: values, or the name of a function."""
        if spot is None:
            return None
        return Values(spot, spot.plain()) if spot.is_mapping else self.reference(spot)

    def context(self, spot: Spot | None) -> Reference | Values | None:
        """Return the name of a type, or initial values."""
        if spot is None:
            return None
        return Values(spot, spot.plain()) if spot.is_mapping else Reference(spot, text_of(spot, self.faults))

    def maps(self, spot: Spot) -> Reference | Values:
        """Return payload fields with the context fields that they fill, or the name of a function."""
        if not spot.is_mapping:
            return self.reference(spot)
        return Values(spot, {key: text_of(value, self.faults) for key, value in spot.items()})


def without(spot: Spot, keys: Collection[str]) -> Spot:
    """Return the spot without some keys of its mapping."""
    if not spot.is_mapping or not keys:
        return spot
    kept = {key: node for key, node in spot.value.items() if key not in keys}
    return replace(spot, node=replace(spot.node, value=kept))


_OF_AN_AGENT: Final = ("at", "packet", "fallbacks")
_MODES: Final = tuple(mode.value for mode in Mode)
_REASONS: Final = tuple(reason.value for reason in Reason)
_SOURCE: Final = "name the function to run, or a graph with `agent:`"
_TO: Final = "name the graph that takes the work"
_AT: Final = "name the entry point of the graph"
_KINDS: Final = ("same_target", "other_graph", "human", "best")
_FALLBACK: Final = (
    "write `same_target: {attempts: 3}`, `best:`, or `other_graph: <graph>` or `human: <graph>`, these two with `at:`"
)


class HandoffParser(References):
    """The parser of handoffs, invoked agents and accepted handoffs."""

    def actions(self, fields: Fields, key: str) -> tuple[ActionForm, ...]:
        """Return one action or a list of them."""
        return tuple(self.action(value) for value in fields.values(key))

    def action(self, spot: Spot) -> ActionForm:
        """Return the name of a function, a built-in action, or a handoff."""
        kind = next((kind for kind in BUILT_IN if spot.get(kind) is not None), None)
        if kind is not None:
            return self.built_in(spot, kind)
        content = spot.get("handoff")
        if content is None:
            return self.named(spot, "action") if self.is_xstate else self.reference(spot)
        if self.is_xstate:
            remedy = "name an action, and bind a Handoff(...) to the name; or leave out `dialect: xstate`"
            self.faults.add(spot.key("handoff"), "XState has no handoffs", remedy)
            return Reference(spot, "")
        Fields(spot, self.faults, self.known["handing_on"])
        return self.handoff(content)

    def built_in(self, spot: Spot, kind: str) -> BuiltInForm:
        """Return an action that needs no function; a text in place of its keys is the event or the message."""
        Fields(spot, self.faults, {kind: "values"})
        content = spot.get(kind) or spot
        if kind == "assign":
            Fields(content, self.faults)
            if content.value == {}:
                self.faults.add(content, "it sets no field", "write a field of the context with its value")
            return BuiltInForm(spot, kind, values=content)
        text, values = ("message", "facts") if kind == "log" else ("event", "payload")
        if not content.is_mapping:
            return BuiltInForm(spot, kind, text_of(content, self.faults))
        fields = Fields(content, self.faults, self.known[kind])
        given = content.get(values)
        if given is not None:
            Fields(given, self.faults)
        to = content.get("to")
        if to is not None:
            text_of(to, self.faults)
        content_text = self.needed(fields, text, f"write `{text}:`")
        return BuiltInForm(spot, kind, content_text, to, given, self.delay(content.get("delay")))

    def handoff(self, spot: Spot) -> HandoffForm:
        """Return the form of a handoff."""
        fields = Fields(spot, self.faults, self.known["handoff"])
        best = self.best(fields, "to", "at", "agent")
        return HandoffForm(
            spot=spot,
            to=self.needed(fields, "to", _TO) if best is None else best,
            at=self.needed(fields, "at", _AT) if best is None else "",
            mode=fields.choice("mode", _MODES, Mode.TRANSFER.value),
            reason=fields.choice("reason", _REASONS, _REASONS[-1]) if fields.spot.get("reason") else "",
            deadline=self.delay(spot.get("deadline")),
            fallbacks=self.fallbacks(spot.get("fallbacks")),
            packet=self.optional_function(spot, "packet"),
            agent=self.optional_function(spot, "agent") if best is None else None,
            achieved=self.optional_function(spot, "achieved"),
            transcript=spot.get("transcript") is None or fields.flag("transcript"),
        )

    def invoke(self, spot: Spot) -> InvokeForm:
        """Return the form of an invoke: the name of a function, or a mapping about a function or an agent."""
        if not spot.is_mapping:
            function = self.reference(spot)
            return InvokeForm(spot, function, "", None)
        fields = Fields(spot, self.faults, self.known["invoke"])
        spot = fields.spot = self.filled(spot)
        if not self.is_xstate and (spot.get("agent") is not None or spot.get("best") is not None):
            return self.agent(fields)
        for key in _OF_AN_AGENT:
            if spot.get(key) is not None and not self.is_xstate:
                self.faults.add(spot.key(key), f"{key!r} is for agents", "name its graph with `agent:`")
        source = spot.get("src") if self.is_xstate else fields.needs("src", _SOURCE)
        if source is None and self.is_xstate:
            self.faults.add(spot, *xstate.lost("actor", "'src' is missing"))
        function = Reference(spot, "") if source is None else self.reference(source)
        given = spot.get("params") or spot.get("input")
        if given is not None:
            function = Reference(function.spot, function.name, self.params(given))
        retry_spot = spot.get("retry")
        retry = None if retry_spot is None else retry_of(Retry, retry_spot, self.faults, self.known["retry"])
        return InvokeForm(spot, function, fields.text("id"), fields.number("timeout_s"), retry)

    def agent(self, fields: Fields) -> InvokeForm:
        """Return the form of an agent that works while a state is active."""
        spot = fields.spot
        for key in ("src", "params", "retry"):
            if spot.get(key) is not None:
                self.faults.add(spot.key(key), f"{key!r} is for functions", "drop it, or drop `agent:`")
        best = self.best(fields, "agent", "at")
        return InvokeForm(
            spot=spot,
            function=None,
            id=fields.text("id"),
            timeout_s=fields.number("timeout_s"),
            agent=best or self.needed(fields, "agent", _TO) or "?",
            at=self.needed(fields, "at", _AT) if best is None else "",
            packet=self.optional_function(spot, "packet"),
            fallbacks=self.fallbacks(spot.get("fallbacks")),
        )

    def accepts(self, spot: Spot | None) -> AcceptsForm | None:
        """Return the capacity for handoffs, and the policy that accepts them."""
        if spot is None:
            return None
        fields = Fields(spot, self.faults, self.known["accepts"])
        capacity = spot.get("capacity")
        if capacity is None:
            return AcceptsForm(spot, None, self.optional_function(spot, "policy"))
        is_whole = isinstance(capacity.value, int) and not isinstance(capacity.value, bool)
        is_whole = is_whole and capacity.value <= HIGHEST_CAPACITY
        number = fields.number("capacity")
        if number is not None and not is_whole:
            remedy = f"write a whole number from 0 to {HIGHEST_CAPACITY}"
            self.faults.add(capacity, f"expected a capacity, found {kind_of(capacity)}", remedy)
        return AcceptsForm(
            spot, capacity.value if is_whole and number is not None else None, self.optional_function(spot, "policy")
        )

    def needed(self, fields: Fields, key: str, remedy: str) -> str:
        """Return a required text; empty after a fault, which is added."""
        spot = fields.needs(key, remedy)
        return "" if spot is None else text_of(spot, self.faults)

    def optional_function(self, spot: Spot, key: str) -> Reference | None:
        """Return the name of a function, if there is one."""
        reference = spot.get(key)
        return None if reference is None else self.reference(reference)

    def delay(self, spot: Spot | None) -> Delay | None:
        """Return a delay; a number is seconds."""
        if spot is None:
            return None
        value = spot.value
        if seconds_of(value) is None:
            self.faults.add(spot, f"{kind_of(spot)} is not a duration", DELAY_REMEDY)
            return None
        delay: Delay = value
        return delay

    def best(self, fields: Fields, *others: str) -> BestForm | None:
        """Return the selection of the target, if there is one. others: keys of a named target."""
        spot = fields.spot.get("best")
        if spot is None:
            return None
        for key in others:
            if fields.spot.get(key) is not None:
                self.faults.add(fields.spot.key(key), f"{key!r} is for a named target", "drop it, or `best:`")
        return best_form(spot, self.faults)

    def fallbacks(self, spot: Spot | None) -> tuple[FallbackForm, ...] | None:
        """Return the fallbacks for a rejected offer."""
        return None if spot is None else tuple(self.fallback_steps(spot))

    def fallback_steps(self, spot: Spot) -> Iterator[FallbackForm]:
        """Yield the valid fallbacks."""
        for element in spot.elements():
            fields = Fields(element, self.faults, self.known["fallback"])
            kinds = [kind for kind in _KINDS if element.get(kind) is not None]
            if element.is_mapping and len(kinds) != 1:
                problem = f"it is {' and '.join(map(repr, kinds))} at once" if kinds else "it names no fallback"
                self.faults.add(element, problem, _FALLBACK)
            elif kinds == ["same_target"]:
                yield from self.same_target(element)
            elif kinds == ["best"]:
                best = self.best(fields, "at", "agent")
                yield from () if best is None else (best,)
            elif kinds:
                kind = OtherGraph if kinds == ["other_graph"] else Human
                graph, at = self.needed(fields, kinds[0], _TO), self.needed(fields, "at", _AT)
                yield kind(graph or "?", at=at or "?", agent=fields.text("agent"))

    def same_target(self, step: Spot) -> Iterator[SameTarget]:
        """Yield the fallback to the same target, with its number of attempts and its waits."""
        for key in ("at", "agent"):
            if step.get(key) is not None:
                self.faults.add(step.key(key), f"{key!r} belongs to another target", "drop it; it is the same target")
        spot = step.get("same_target")
        same = None if spot is None else retry_of(SameTarget, spot, self.faults, self.known["retry"])
        if same is not None:
            yield same
