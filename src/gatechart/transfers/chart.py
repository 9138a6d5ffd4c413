"""Transfers of a chart file: from nodes to forms, from forms to the transfers of a state, and back to keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel

from gatechart.chartfiles.faults import Fields, Spot, kind_of, text_of
from gatechart.chartfiles.handing_on import HandingOn
from gatechart.chartfiles.model import BestForm, Reference, StateForm, ToForm, TransfersForm
from gatechart.chartfiles.parts import HandoffParser
from gatechart.chartfiles.writing import Writer, delay_data, one_or_many, state_reference, without_blanks
from gatechart.graph.selection import Best
from gatechart.graph.transfers import To, Transfers

_MOST: Final = 3  # the default
_KINDS: Final = ("state", "graph", "best")
_OF_A_GRAPH: Final = ("at", "packet", "deadline", "fallbacks", "waits", "transcript")
_TARGET: Final = "write a state's name, `state: <name>`, `graph: <name>` with `at: <entry point>`, or `best:`"


def transfers_form(parts: HandoffParser, spot: Spot | None) -> TransfersForm | None:
    """Return the form of a state's transfers. parts: the parser of the parts inside."""
    if spot is None:
        return None
    fields = Fields(spot, parts.faults, parts.known["transfers"])
    targets = fields.needs("targets", "list the states, and the entry points of other graphs, to choose among")
    target_forms = () if targets is None else tuple(_targets(parts, targets))
    return TransfersForm(
        spot=spot,
        targets=target_forms,
        most=_most(parts, spot.get("most")),
        otherwise=spot.get("otherwise"),
        resets_on=fields.texts("resets_on"),
        arguments=spot.get("arguments") is None or fields.flag("arguments"),
        status=parts.optional_function(spot, "status"),
    )


def _most(parts: HandoffParser, spot: Spot | None) -> int | None:
    """Return the limit; null switches the transfers off."""
    if spot is None:
        return _MOST
    if spot.value is None or (isinstance(spot.value, int) and not isinstance(spot.value, bool)):
        limit: int | None = spot.value
        return limit
    parts.faults.add(spot, f"expected a whole number, found {kind_of(spot)}", "write 1 or more, or null for none")
    return _MOST


def _targets(parts: HandoffParser, spot: Spot) -> Iterator[ToForm]:
    for element in spot.elements():
        if not element.is_mapping:
            if text_of(element, parts.faults):
                yield ToForm(element, element)
            continue
        fields = Fields(element, parts.faults, parts.known["to"])
        named = [key for key in _KINDS if element.get(key) is not None]
        target = element.get(named[0]) if len(named) == 1 else None
        if target is None or (named != ["best"] and not text_of(target, parts.faults)):
            problem = f"it is {' and '.join(map(repr, named))} at once" if len(named) > 1 else "it names no target"
            parts.faults.add(element, problem, _TARGET)
            continue
        best = parts.best(fields, "at")
        for key in _OF_A_GRAPH if named == ["state"] else ():
            if element.get(key) is not None:
                parts.faults.add(element.key(key), f"{key!r} is for other graphs", "write `graph:`, or drop it")
        yield _target(parts, fields, best or target, is_graph=named == ["graph"])


def _target(parts: HandoffParser, fields: Fields, target: Spot | BestForm, *, is_graph: bool) -> ToForm:
    spot, takes = fields.spot, fields.spot.get("takes")
    return ToForm(
        spot=spot,
        target=target,
        at=parts.needed(fields, "at", "name the entry point of the graph") or "?" if is_graph else "",
        description=fields.text("description"),
        guard=parts.guard(spot.get("guard")),
        actions=parts.actions(fields, "actions"),
        takes=None if takes is None else Reference(takes, text_of(takes, parts.faults)),
        packet=parts.optional_function(spot, "packet"),
        deadline=parts.delay(spot.get("deadline")),
        fallbacks=parts.fallbacks(spot.get("fallbacks")),
        waits=spot.get("waits"),
        transcript=spot.get("transcript") is None or fields.flag("transcript"),
    )


class TransfersBuilder:
    """The builder of the transfers of a chart. The chart's builder looks up their names, and keeps their positions."""

    def __init__(self, chart: HandingOn) -> None:
        self.chart = chart

    def transfers(self, form: StateForm) -> Transfers | None:
        """Return the transfers that the state offers to its invoke; None if it has none."""
        given, chart = form.transfers, self.chart
        if given is None:
            return None
        place = f"state {chart.names.names[form]!r}, transfers"
        chart.places.setdefault(place, given.spot)
        targets = [self.to(part, form, place) for part in given.targets]
        otherwise = "" if given.otherwise is None else chart.names.target(given.otherwise, form)
        chart.places.setdefault(f"{place}, otherwise", given.otherwise or given.spot)
        return Transfers(
            targets,
            most=given.most,
            otherwise=otherwise,
            resets_on=given.resets_on,
            arguments=given.arguments,
            status=chart.optional_function(given.status),
        )

    def to(self, form: ToForm, source: StateForm, place: str) -> To:
        """Return a target of transfers."""
        chart = self.chart
        built = To(
            self.target(form, source),
            at=form.at,
            description=form.description,
            guard=chart.bindings.guard(form.guard),
            actions=chart.actions(form.actions),
            takes=None if form.takes is None else chart.bindings.type(form.takes, BaseModel),
            packet=chart.optional_function(form.packet),
            deadline=form.deadline,
            fallbacks=chart.fallbacks(form.fallbacks),
            waits="" if form.waits is None else chart.names.target(form.waits, source),
            transcript=form.transcript,
        )
        chart.places.setdefault(f"{place}, {built.key}", form.spot)
        chart.places.setdefault(f"{place}, {built.key}, waits", form.waits or form.spot)
        return built

    def target(self, form: ToForm, source: StateForm) -> str | Best:
        """Return the name of a state or of a graph, or a selection."""
        if isinstance(form.target, BestForm):
            return self.chart.best(form.target)
        return form.target.node.text if form.at else self.chart.names.target(form.target, source)


def written_transfers(transfers: Transfers, writer: Writer) -> dict[str, Any]:
    """Return the transfers of a state as data."""
    return {
        "targets": [_written(target, writer) for target in transfers.targets],
        "most": transfers.most,
        **without_blanks(
            otherwise=state_reference(transfers.otherwise),
            resets_on=one_or_many(transfers.resets_on),
            status=writer.optional_function(transfers.status),
        ),
        **({} if transfers.arguments else {"arguments": False}),
    }


def _written(to: To, writer: Writer) -> Any:
    """Return a target of transfers; only a state's name if that is enough."""
    more = without_blanks(
        at=to.at,
        description=to.description,
        guard=None if to.guard is None else writer.guard(to.guard),
        actions=writer.functions(to.actions),
        takes=writer.name(to.takes.__name__, to.takes) if to.takes else "",
        packet=writer.optional_function(to.packet),
        deadline=delay_data(to.deadline),
        waits=state_reference(to.waits),
    )
    more |= writer.fallbacks(to.fallbacks) | ({} if to.transcript else {"transcript": False})
    if isinstance(to.target, Best):
        return {**writer.best(to.target), **more}
    if to.is_handoff:
        return {"graph": to.target, **more}
    return {"state": state_reference(to.name), **more} if more else state_reference(to.name)
