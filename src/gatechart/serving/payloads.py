"""Payloads of starts as the OpenAPI document has them: a runtime makes numbers of texts, and JSON knows better."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError
from pydantic_core import to_json

from gatechart.api import BaseCall, StartCall, StartOnCall
from gatechart.context import describe_fields, problems_of
from gatechart.errors import PayloadError
from gatechart.graph import EntryPoint, StateTransitionGraph
from gatechart.serving.numbers import whole_numbers


def check_payload(graphs: Sequence[StateTransitionGraph], call: BaseCall) -> None:
    """Raises PayloadError where the entry point's schema, taken strictly, does not have the payload of a start.

    Where there is no such entry point, whoever carries the call out knows what to say.
    """
    if not isinstance(call, StartCall | StartOnCall) or call.payload is None:
        return
    for graph, entry in _doors(graphs, call):
        if entry.takes is not None:
            try:
                text = to_json(whole_numbers(call.payload))
                entry.takes.model_validate_json(text, strict=True, by_alias=True, by_name=True)
            except ValidationError as error:
                expected = f"{entry.takes.__name__}({describe_fields(entry.takes)})"
                raise PayloadError(
                    f"entry point {entry.name!r} of {graph.name!r}", problems_of(error), expected
                ) from error


def _doors(
    graphs: Sequence[StateTransitionGraph], call: StartCall | StartOnCall
) -> Sequence[tuple[StateTransitionGraph, EntryPoint]]:
    doors = [(graph, entry) for graph in graphs for entry in graph.entry_points.values()]
    if isinstance(call, StartCall):
        return [(graph, entry) for graph, entry in doors if (graph.name, entry.name) == (call.graph, call.at)]
    opened = [(graph, entry) for graph, entry in doors if call.trigger in entry.opens_on]
    return opened if len(opened) == 1 else ()
