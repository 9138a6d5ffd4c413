"""Tools: functions with a schema and policies, called from an invoke as recorded steps and offered to models."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import (
    Any,
    Concatenate,
    Final,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypedDict,
    get_args,
    overload,
)

from typing_extensions import TypeVar, Unpack

from gatechart.errors.definition import Fault
from gatechart.errors.root import suggestion
from gatechart.errors.tools import InvalidToolError
from gatechart.graph.callables import callable_name, yields
from gatechart.graph.escape import EscapePlan
from gatechart.graph.escape_faults import tool_plan_faults
from gatechart.graph.names import one_or_more
from gatechart.graph.payload_schema import JsonSchema
from gatechart.tools.arguments import Described, Signature, Takes
from gatechart.tools.naming import LONGEST_TOOL_NAME, model_name
from gatechart.tools.retries import RetryOn, is_passing
from gatechart.values.breakers import BreakerPolicy
from gatechart.values.delays import Retry
from gatechart.values.names import AgentId, unkept
from gatechart.values.tool_policies import ToolPolicies

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True, default=Any)
R = TypeVar("R")

Repeat: TypeAlias = Literal["never", "safe", "keyed"]
"""Whether a tool may be called again after a call whose outcome nobody knows.

never: no; safe: yes, it changes nothing, or the same again; keyed: yes, with the same idempotency key.
"""

USUAL: Final = ToolPolicies(retry=Retry(attempts=4, jitter=0.1), breaker=BreakerPolicy(failures_in_a_row=5))
"""The policies of a tool where nothing else is said."""

_NO_POLICIES: Final = ToolPolicies()
_REPEATS: Final = get_args(Repeat)


class ToolOptions(TypedDict, total=False):
    """What can be said of a tool beside its function, as keywords of `tool`."""

    name: str  # by default the function's
    title: str  # for people, in user interfaces
    description: str  # by default the function's docstring
    hints: Mapping[str, Any]  # for clients of an MCP server, as in MCP's annotations: {"readOnlyHint": True}
    strict: bool  # whether providers keep their models to the schema; by default wherever it and their limits allow
    repeat: Repeat  # whether it may be called again after a timeout, or a crash in the midst of a call
    key: Iterable[str] | str  # arguments that together name the business object on which a `keyed` tool acts
    undo: str | Tool[..., Any]  # the tool that takes a call back
    capabilities: Iterable[str] | str  # what it can do, by which it is found as an alternative
    policies: ToolPolicies  # weaker than those of graph, state and deployment
    retry_on: RetryOn  # the exceptions that are worth another attempt
    escape: EscapePlan  # what is tried if a signal names it, where no plan of a state or a graph does for this tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool may know of its call, as its first argument if that is annotated so."""

    tool: str
    agent_id: AgentId
    call_id: str
    idempotency_key: str  # for outside systems that act once per key; a repeat of the call has the same
    attempt: int  # from 1
    services: Any


@dataclass(frozen=True, eq=False, repr=False)
class Tool(Generic[P, R_co]):
    """A function that agents and models call by name, with policies. `tool` makes it.

    Calling it calls the function itself: nothing is recorded, and no policies hold.
    """

    name: str
    description: str
    function: Callable[..., Any]
    takes: Takes
    returns: Any = Any  # type of the result, as which a record of it is read
    repeat: Repeat = "never"
    key: tuple[str, ...] = ()  # arguments that name the business object; without them a call has a key of its own
    undo: str = ""  # name of the tool that takes a call back
    capabilities: tuple[str, ...] = ()
    policies: ToolPolicies = _NO_POLICIES
    retry_on: RetryOn = is_passing
    escape: EscapePlan | None = None
    title: str = ""
    hints: Mapping[str, Any] = field(default_factory=dict)
    strict: bool | None = None  # None: as the loop and the model say
    output_schema: Mapping[str, Any] | None = None  # of the result, if it came with the tool's definition
    takes_context: bool = False  # whether the function is called with a ToolContext first

    def __call__(self, /, *args: P.args, **arguments: P.kwargs) -> R_co:
        """Call the function itself."""
        found: R_co = self.function(*args, **arguments)
        return found

    def __repr__(self) -> str:
        return f"<Tool {self.name!r}, repeat={self.repeat!r}>"

    @classmethod
    def from_openai(
        cls, definition: Mapping[str, Any], function: Callable[..., Any], **options: Unpack[ToolOptions]
    ) -> Tool[..., Any]:
        """Return a tool of a definition in OpenAI's shape, of chat completions or of responses.

        function: called with the arguments by name. If it is a tool, the new one takes over its title, hints and
        schema of the result, because OpenAI's shape has no fields for them. Raises InvalidToolError.
        """
        inner = definition.get("function", definition)
        parameters = inner.get("parameters")
        title = parameters.get("title") if isinstance(parameters, Mapping) else None
        if isinstance(title, str) and title and model_name(title) == inner.get("name"):
            inner = {**inner, "name": title}
            parameters = {key: value for key, value in parameters.items() if key != "title"}
        made = _described(inner, parameters, function, options)
        if not isinstance(function, Tool):
            return made
        output = function.output_schema
        return replace(
            made,
            title=made.title or function.title,
            hints=made.hints or function.hints,
            returns=function.returns,
            output_schema=output,
        )

    @classmethod
    def from_mcp(
        cls, definition: Mapping[str, Any], function: Callable[..., Any], **options: Unpack[ToolOptions]
    ) -> Tool[..., Any]:
        """Return a tool of a definition in MCP's shape. Its hints about repeats are not trusted: say so with `repeat`.

        function: called with the arguments by name. Raises InvalidToolError.
        """
        made = _described(definition, definition.get("inputSchema"), function, options)
        hints = definition.get("annotations") or {}
        title = definition.get("title") or hints.get("title") or ""
        return replace(
            made,
            title=made.title or str(title),
            hints={**hints, **made.hints},
            output_schema=definition.get("outputSchema"),
        )


AnyTool: TypeAlias = Tool[..., Any]
"""A tool with any arguments and any result."""


class ToolMaker(Protocol):
    """Makes a tool of a function; what `tool` returns if it is called with keywords alone."""

    @overload
    def __call__(self, function: Callable[Concatenate[ToolContext, P], R], /) -> Tool[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(function: Callable[Concatenate[ToolContext, P], R], /) -> Tool[P, R]: ...


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(**options: Unpack[ToolOptions]) -> ToolMaker: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Make a tool of a function: `@tool`, or `@tool(repeat="safe")`. See ToolOptions for the keywords.

    The function is async, or plain and then run in a separate thread. Its annotations say what it takes and returns,
    its docstring describes it to models. A first argument of type ToolContext is not the caller's.

    Raises InvalidToolError with all faults at once.
    """
    return _made(function, options) if function is not None else lambda each: _made(each, options)


def _made(function: Callable[..., Any], options: ToolOptions) -> AnyTool:
    name = options.get("name") or callable_name(function)
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, ValueError) as error:
        remedy = "annotate it with names that its module knows"
        raise InvalidToolError((Fault(f"tool {name!r}", f"its signature cannot be read: {error}", remedy),)) from error
    parameters = tuple(signature.parameters.values())
    takes_context = bool(parameters) and parameters[0].annotation is ToolContext
    takes = Signature(parameters[1:] if takes_context else parameters)
    returns = Any if signature.return_annotation is signature.empty else signature.return_annotation
    found = _fields(options, inspect.cleandoc(function.__doc__ or ""))
    return _checked(Tool(name, function=function, takes=takes, returns=returns, takes_context=takes_context, **found))


def _described(told: Mapping[str, Any], schema: Any, function: Callable[..., Any], options: ToolOptions) -> AnyTool:
    """Return the tool of a definition from outside. schema: of its arguments; None if it takes none."""
    takes = Described(JsonSchema(json.dumps({"type": "object", "properties": {}} if schema is None else schema)))
    name = options.get("name") or str(told.get("name", ""))
    found = _fields(options, str(told.get("description") or ""))
    return _checked(Tool(name, function=function, takes=takes, **found))


def _fields(options: ToolOptions, description: str) -> dict[str, Any]:
    """Return the options as fields of a tool. description: where they say none."""
    given: dict[str, Any] = {"description": description, **options}
    given.pop("name", None)
    for several in ("key", "capabilities"):
        given[several] = one_or_more(given.get(several, ()))
    undo = given.get("undo", "")
    return given | {"undo": undo.name if isinstance(undo, Tool) else undo}


def _checked(made: AnyTool) -> AnyTool:
    """Return the tool. Raises InvalidToolError if it has faults."""
    place = f"tool {made.name!r}"
    found = tuple(made.takes.faults(place)) or tuple(_faults(made, place))
    if found:
        raise InvalidToolError(found)
    return made


def _faults(made: AnyTool, place: str) -> Iterator[Fault]:
    problem = "it is empty" if made.name == "" else unkept(made.name, LONGEST_TOOL_NAME)
    if problem:
        yield Fault(place, f"the name cannot be used: {problem}", f"give it 1 to {LONGEST_TOOL_NAME} characters")
    if not callable(made.function) or yields(made.function):
        yield Fault(place, "it is no function that returns a result", "pass a plain or an async function")
    if made.repeat not in _REPEATS:
        yield Fault(place, f"repeat={made.repeat!r} is unknown", suggestion(made.repeat, _REPEATS))
    if made.escape is not None:
        yield from tool_plan_faults(place, made.name, made.escape)
    if made.key and made.repeat != "keyed":
        yield Fault(place, f"key={made.key!r} has no use with repeat={made.repeat!r}", 'write repeat="keyed"')
    known = tuple(made.takes.schema.get("properties", ())) if made.key else ()
    for each in made.key:
        if each not in known:
            yield Fault(place, f"key={each!r} is no argument", suggestion(each, known))
