"""The OpenAPI document of an application, generated from the models of its requests and answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final, TypeAlias

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode

from gatechart.api.agents import StartCommand, StartOnCommand
from gatechart.api.codec import DONE
from gatechart.api.command import Command
from gatechart.api.errors import ErrorDocument
from gatechart.api.events import CanCommand, PostCommand, SendCommand
from gatechart.api.route import CHANGES, LIVE, READY, STREAM
from gatechart.api.scheduling import ScheduleCommand
from gatechart.graph.definition import EntryPoint
from gatechart.graph.events import EventType
from gatechart.graph.graph import AnyGraph
from gatechart.graph.payload_schema import JsonSchema
from gatechart.serving.answers import headers_of
from gatechart.serving.requests import OPERATIONS, HttpCall

Json: TypeAlias = dict[str, Any]

_CREATED: Final = 201
_REFS: Final = "#/components/schemas/{model}"
_ERRORS: Final = {
    "400": "The request is malformed.",
    "401": "The token is missing or wrong.",
    "403": "The server has no token, and the request comes from another machine or from a web page of another site.",
    "404": "Unknown agent, graph, state, trigger, version, mail, handoff, timer, invoke, schedule, filter or scorer.",
    "408": "The body did not arrive in time.",
    "409": "The request conflicts with the current state. Nothing was changed; a turn that failed was undone.",
    "413": "The body is too large.",
    "415": "The body is not declared as JSON.",
    "422": "The request is invalid; the message says what is wrong and what is expected.",
    "429": "Too much mail is waiting, or a limited token exceeds its rate.",
    "503": "The server is starting or stopping, has too many connections, or its database fails.",
}
_LEFT_OUT: Final = {True: "403", False: "401"}  # key: whether the server has a token
_BRING_EVENTS: Final = (SendCommand, PostCommand, CanCommand)
_TEXT: Final[Json] = {"type": "string"}
_LOCATION: Final[Json] = {"headers": {"Location": {"description": "The path of the agent.", "schema": _TEXT}}}
_RETRY_AFTER: Final[Json] = {
    "headers": {"Retry-After": {"description": "Seconds to wait before trying again.", "schema": {"type": "integer"}}}
}
_HEALTHS: Final = {
    LIVE: "Check that the process answers; needs no token",
    READY: "Check that agents are hosted; needs no token",
}


def openapi_document(graphs: Sequence[AnyGraph], *, needs_token: bool) -> Json:
    """Generate the document, OpenAPI 3.1.

    graphs: the newest version of each; the document describes their entry points and declared events.
    """
    schemas, references = _schemas(graphs)
    paths: defaultdict[str, Json] = defaultdict(dict)
    for operation in OPERATIONS:
        if operation.call is not StartOnCommand:  # it shares the path of `start`
            paths[operation.route.path][operation.route.method.lower()] = _operation(operation, references, needs_token)
    for operation in OPERATIONS:
        if operation.call in _BRING_EVENTS:
            body = _event_schema(operation, graphs, references)
            paths[operation.route.path]["post"]["requestBody"] = _content(body, required=True)
    paths["/agents"]["post"]["requestBody"] = _content(_start_schema(graphs, references), required=True)
    paths["/schedules"]["post"]["requestBody"] = _content(_schedule_schema(graphs, references), required=True)
    paths[CHANGES]["get"] = _changes(needs_token)
    paths[STREAM.path]["get"] = _stream(references, needs_token)
    for path, summary in _HEALTHS.items():
        paths[path]["get"] = _health(path, summary)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "gatechart",
            "version": version("gatechart"),
            "description": f"Agents of {', '.join(graph.name for graph in graphs)}.",
        },
        "paths": dict(paths),
        "components": {
            "schemas": schemas,
            **({"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}} if needs_token else {}),
        },
        **({"security": [{"token": []}]} if needs_token else {}),
    }


def limited_document(calls: Sequence[type[Command]]) -> Json:
    """Generate the document for a limited token: only the paths and schemas of these calls."""
    operations = [operation for operation in OPERATIONS if operation.call in calls]
    schemas, references = _schemas((), operations)
    paths: defaultdict[str, Json] = defaultdict(dict)
    for operation in operations:
        paths[operation.route.path][operation.route.method.lower()] = _operation(operation, references, True)
    for path, summary in _HEALTHS.items():
        paths[path]["get"] = _health(path, summary)
    return {
        "openapi": "3.1.0",
        "info": {"title": "gatechart", "version": version("gatechart")},
        "paths": dict(paths),
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
    }


class _Whole(GenerateJsonSchema):
    """Schemas of answers where all fields are required, including fields with defaults."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Return whether a field is always present."""
        return self.mode == "serialization" or super().field_is_required(field, total)


def _schemas(
    graphs: Sequence[AnyGraph], operations: Sequence[HttpCall] = OPERATIONS
) -> tuple[Json, Mapping[Any, Json]]:
    """Generate the schemas of the components, and a reference to each model."""
    models: dict[tuple[Any, JsonSchemaMode], TypeAdapter[Any]] = {}
    models[ErrorDocument, "serialization"] = TypeAdapter(ErrorDocument)
    for operation in operations:
        answer = operation.call.answer
        if answer is not DONE:
            models[answer, "serialization"] = answer.adapter
        if operation.route.has_body:  # the fields of a path or a query are parameters without a model
            models[operation.rest, "validation"] = TypeAdapter(operation.rest)
    for _, entry in _entry_points(graphs):
        if entry.takes is not None:
            models[entry.takes, "validation"] = TypeAdapter(entry.takes)
    for _, event in _events(graphs):
        if isinstance(event.takes, type):
            models[event.takes, "validation"] = TypeAdapter(event.takes)
    inputs = [(kind, mode, adapter) for (kind, mode), adapter in models.items()]
    references, defined = TypeAdapter.json_schemas(inputs, ref_template=_REFS, schema_generator=_Whole)
    return defined.get("$defs", {}), references


def _operation(operation: HttpCall, references: Mapping[Any, Json], needs_token: bool) -> Json:
    located = [_parameter("path", name, schema) for name, schema in _fields(operation.located)]
    described: Json = {"operationId": operation.verb, "summary": operation.route.summary, "parameters": located}
    if not operation.route.has_body:
        described["parameters"] += [_parameter("query", name, schema) for name, schema in _fields(operation.rest)]
    else:
        needed = operation.needs_body
        described["requestBody"] = _content(references[operation.rest, "validation"], required=needed)
    answer: Json = {"description": operation.route.summary}
    if operation.call.answer is not DONE:
        answer |= _content(references[operation.call.answer, "serialization"])
    if operation.route.status == _CREATED:
        answer |= _LOCATION
    described["responses"] = {str(operation.route.status): answer, **_errors(references, needs_token)}
    return described


def _fields(model: type[BaseModel]) -> Iterator[tuple[str, Json]]:
    """Yield each field with a schema without references. Callers omit a field to pass null."""
    schema = model.model_json_schema(mode="validation")
    for name, declared in schema.get("properties", {}).items():
        choices = [choice for choice in declared.get("anyOf", [declared]) if choice.get("type") != "null"]
        found: Json = dict(choices[0]) if len(choices) == 1 else {"anyOf": choices}
        if "$ref" in found:
            found = dict(schema["$defs"][found["$ref"].rpartition("/")[2]])
        if declared.get("default") is not None:
            found["default"] = declared["default"]
        yield name, _whole({key: value for key, value in found.items() if key != "title"}, schema.get("$defs", {}))


def _whole(schema: Any, defined: Mapping[str, Json]) -> Any:
    """Return the schema with its references resolved in place."""
    if isinstance(schema, list):
        return [_whole(part, defined) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _whole(defined[schema["$ref"].rpartition("/")[2]], defined)
    return {key: _whole(value, defined) for key, value in schema.items()}


def _parameter(location: str, name: str, schema: Json) -> Json:
    described = _content(schema) if schema.get("type") == "object" else {"schema": schema}  # a parameter has JSON text
    return {"name": name, "in": location, "required": location == "path", **described}


def _content(schema: Json, *, required: bool | None = None) -> Json:
    content = {"content": {"application/json": {"schema": schema}}}
    return content if required is None else {**content, "required": required}


def _errors(references: Mapping[Any, Json], needs_token: bool) -> Json:
    content = _content(references[ErrorDocument, "serialization"])
    return {status: {**_response(status), **content} for status in _ERRORS if status != _LEFT_OUT[needs_token]}


def _response(status: str) -> Json:
    """Describe an answer with this status, and its headers."""
    return {"description": _ERRORS[status], **(_RETRY_AFTER if headers_of(int(status)) else {})}


def _entry_points(graphs: Sequence[AnyGraph]) -> Iterator[tuple[AnyGraph, EntryPoint]]:
    return ((graph, entry) for graph in graphs for entry in graph.entry_points.values())


def _start_schema(graphs: Sequence[AnyGraph], references: Mapping[Any, Json]) -> Json:
    """Describe a body for each entry point, and for each trigger that opens exactly one."""
    entries = list(_entry_points(graphs))
    opened = Counter(trigger for _, entry in entries for trigger in entry.opens_on)
    return {
        "oneOf": [
            *(
                _start(StartCommand, {"graph": graph.name, "at": entry.name}, entry, references)
                for graph, entry in entries
            ),
            *(
                _start(StartOnCommand, {"trigger": trigger}, entry, references)
                for _, entry in entries
                for trigger in entry.opens_on
                if opened[trigger] == 1
            ),
        ]
    }


def _schedule_schema(graphs: Sequence[AnyGraph], references: Mapping[Any, Json]) -> Json:
    """Describe a body for each entry point, with a period or a cron expression."""
    doors = (
        _start(ScheduleCommand, {"graph": graph.name, "at": entry.name}, entry, references)
        for graph, entry in _entry_points(graphs)
    )
    when = [
        {"required": ["every"], "not": {"required": ["cron"]}},
        {"required": ["cron"], "not": {"required": ["every"]}},
    ]
    return {"oneOf": [door | {"required": ["name", *door["required"]], "oneOf": when} for door in doors]}


def _start(call: type[BaseModel], named: Mapping[str, str], entry: EntryPoint, references: Mapping[Any, Json]) -> Json:
    model = next(operation for operation in OPERATIONS if operation.call is call).rest
    payload: Json = {"type": ["object", "null"], "maxProperties": 0}
    needs_payload = False
    if entry.takes is not None:
        required = references[entry.takes, "validation"]
        needs_payload = any(field.is_required() for field in entry.takes.model_fields.values())
        payload = required if needs_payload else {"anyOf": [required, {"type": "null"}]}
    properties = dict(_fields(model)) | {name: {"const": text} for name, text in named.items()} | {"payload": payload}
    for name in {"agent_id", "idempotency_key"} & properties.keys():
        properties[name] = {"anyOf": [properties[name], {"type": "null"}]}
    return {
        "type": "object",
        "description": entry.description,
        "properties": properties,
        "required": [*named, *(["payload"] if needs_payload else [])],
        "additionalProperties": False,
    }


def _events(graphs: Sequence[AnyGraph]) -> Iterator[tuple[AnyGraph, EventType]]:
    return ((graph, event) for graph in graphs for event in graph.event_types.values())


def _event_schema(operation: HttpCall, graphs: Sequence[AnyGraph], references: Mapping[Any, Json]) -> Json:
    """Describe a body for each declared event, and the general one, as the path does not contain the agent's graph."""
    general = references[operation.rest, "validation"]
    declared = [_event_body(operation, graph, event, references) for graph, event in _events(graphs)]
    return {"anyOf": [*declared, general]} if declared else general


def _event_body(operation: HttpCall, graph: AnyGraph, event: EventType, references: Mapping[Any, Json]) -> Json:
    properties = dict(_fields(operation.rest)) | {"event": {"const": event.name}}
    if isinstance(event.takes, JsonSchema):
        properties["payload"] = _without_references(event.takes.plain, event.takes.plain.get("$defs", {}))
    elif event.takes is not None:
        properties["payload"] = references[event.takes, "validation"]
    return {
        "type": "object",
        "title": f"{event.name} of {graph.name}",
        "description": event.description,
        "properties": properties,
        "required": ["event"],
        "additionalProperties": False,
    }


def _without_references(part: Any, parts: Json) -> Any:
    """Return a part of a schema with its references resolved; a reference would be looked up in the whole document."""
    if isinstance(part, list):
        return [_without_references(item, parts) for item in part]
    if not isinstance(part, dict):
        return part
    plain = {key: _without_references(item, parts) for key, item in part.items() if key not in {"$defs", "$ref"}}
    if "$ref" not in part:
        return plain
    return {"allOf": [_without_references(parts[part["$ref"].rpartition("/")[2]], parts), plain]}


_LAST_EVENT: Final[Json] = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
}


def _changes(needs_token: bool) -> Json:
    text = {"schema": {"type": "string"}}
    return {
        "operationId": "changes",
        "summary": "Stream the turns of all agents as they are committed, as server-sent events",
        "parameters": [_LAST_EVENT, _parameter("query", "framework", {"type": "boolean"})],
        "responses": {
            "200": {"description": "Events, until the reader disconnects.", "content": {"text/event-stream": text}},
            **{status: _response(status) for status in ("401", "403") if status != _LEFT_OUT[needs_token]},
            "422": {"description": "The Last-Event-ID is invalid."},
            "503": _response("503"),
        },
    }


def _stream(references: Mapping[Any, Json], needs_token: bool) -> Json:
    """Describe the stream of an invoke: like the stream of turns, but with path parameters and an end."""
    described = _changes(needs_token)
    located = [_parameter("path", name, _TEXT) for name in STREAM.in_path]
    answers = {
        "204": {"description": "The reader has all items up to the end of the invoke."},
        **{
            status: {**_response(status), **_content(references[ErrorDocument, "serialization"])}
            for status in ("400", "404")
        },
    }
    return described | {
        "operationId": "stream",
        "summary": STREAM.summary,
        "parameters": [*located, _LAST_EVENT],
        "responses": described["responses"] | answers,
    }


def _health(path: str, summary: str) -> Json:
    content = _content({"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]})
    answers = {"200": {"description": "Yes.", **content}}
    if path == READY:
        answers["503"] = {"description": "Not ready: the server is starting or stopping.", **_RETRY_AFTER, **content}
    return {"operationId": path.rpartition("/")[2], "summary": summary, "security": [], "responses": answers}
