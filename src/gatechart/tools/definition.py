"""Tools: functions with a schema and policies, which invokes call as recorded steps and models can choose."""

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
"""Whether a tool may be called again after a call with an unknown outcome.

never: no; safe: yes, the call is idempotent; keyed: yes, with the same idempotency key.
"""

USUAL: Final = ToolPolicies(retry=Retry(attempts=4, jitter=0.1), breaker=BreakerPolicy(failures_in_a_row=5))
"""The default policies of a tool."""

_NO_POLICIES: Final = ToolPolicies()
_REPEATS: Final = get_args(Repeat)


class ToolOptions(TypedDict, total=False):
    """The options of a tool, as keywords of `tool`."""

    name: str  # by default the function's
    title: str  # for people, in user interfaces
    description: str  # by default the function's docstring
    hints: Mapping[str, Any]  # for clients of an MCP server, as in MCP's annotations: {"readOnlyHint": True}
    strict: bool  # whether providers enforce the schema; by default if the schema and their limits allow it
    repeat: Repeat  # whether it may be called again after a timeout, or a crash during a call
    key: Iterable[str] | str  # arguments that together identify the business object that a `keyed` tool changes
    undo: str | Tool[..., Any]  # the tool that undoes a call
    capabilities: Iterable[str] | str  # its capabilities; policies find alternatives by them
    policies: ToolPolicies  # the policies of graph, state and deployment override them
    retry_on: RetryOn  # the exceptions to retry
    escape: EscapePlan  # the plan if a signal names this tool, and no state or graph has a plan for it


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The facts of a call, for a tool whose first argument is annotated with this type."""

    tool: str
    agent_id: AgentId
    call_id: str
    idempotency_key: str  # for outside systems that act once per key; a repeat of the call has the same key
    attempt: int  # from 1
    services: Any


@dataclass(frozen=True, eq=False, repr=False)
class Tool(Generic[P, R_co]):
    """A function that agents and models call by name, with policies. Created by `tool`.

    Calling it calls the function itself, without records and policies.
    """

    name: str
    description: str
    function: Callable[..., Any]
    takes: Takes
    returns: Any = Any  # type of the result, also when read from a record
    repeat: Repeat = "never"
    key: tuple[str, ...] = ()  # arguments that identify the business object; without them every call has its key
    undo: str = ""  # name of the tool that undoes a call
    capabilities: tuple[str, ...] = ()
    policies: ToolPolicies = _NO_POLICIES
    retry_on: RetryOn = is_passing
    escape: EscapePlan | None = None
    title: str = ""
    hints: Mapping[str, Any] = field(default_factory=dict)
    strict: bool | None = None  # None: the setting of the loop and the model
    output_schema: Mapping[str, Any] | None = None  # of the result, if the tool's definition contains it
    takes_context: bool = False  # whether the function's first argument is a ToolContext

    def __call__(self, /, *args: P.args, **arguments: P.kwargs) -> R_co:
        """Call the function itself."""
        result: R_co = self.function(*args, **arguments)
        return result

    def __repr__(self) -> str:
        return f"<Tool {self.name!r}, repeat={self.repeat!r}>"

    @classmethod
    def from_openai(
        cls, definition: Mapping[str, Any], function: Callable[..., Any], **options: Unpack[ToolOptions]
    ) -> Tool[..., Any]:
        """Return a tool from a definition in OpenAI's shape, of chat completions or of responses.

        function: called with the arguments by name. If it is a tool, the new one gets its title, hints and output
        schema, because OpenAI's shape has no fields for them. Raises InvalidToolError.
        """
        inner = definition.get("function", definition)
        parameters = inner.get("parameters")
        title = parameters.get("title") if isinstance(parameters, Mapping) else None
        if isinstance(title, str) and title and model_name(title) == inner.get("name"):
            inner = {**inner, "name": title}
            parameters = {key: value for key, value in parameters.items() if key != "title"}
        new = _described(inner, parameters, function, options)
        if not isinstance(function, Tool):
            return new
        return replace(
            new,
            title=new.title or function.title,
            hints=new.hints or function.hints,
            returns=function.returns,
            output_schema=function.output_schema,
        )

    @classmethod
    def from_mcp(
        cls, definition: Mapping[str, Any], function: Callable[..., Any], **options: Unpack[ToolOptions]
    ) -> Tool[..., Any]:
        """Return a tool from a definition in MCP's shape. Its hints about repeats are not trusted: set `repeat`.

        function: called with the arguments by name. Raises InvalidToolError.
        """
        new = _described(definition, definition.get("inputSchema"), function, options)
        hints = definition.get("annotations") or {}
        title = definition.get("title") or hints.get("title") or ""
        return replace(
            new,
            title=new.title or str(title),
            hints={**hints, **new.hints},
            output_schema=definition.get("outputSchema"),
        )


AnyTool: TypeAlias = Tool[..., Any]
"""A tool with any arguments and any result."""


class ToolMaker(Protocol):
    """Creates a tool from a function. `tool` returns it when called with keywords only."""

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
    """Create a tool from a function: `@tool`, or `@tool(repeat="safe")`. See ToolOptions for the keywords.

    The function is async, or plain and then run in a separate thread. Its annotations define its arguments and result;
    its docstring describes it to models. The framework passes a first argument of type ToolContext.

    Raises InvalidToolError with all faults.
    """
    return _new_tool(function, options) if function is not None else lambda decorated: _new_tool(decorated, options)


def _new_tool(function: Callable[..., Any], options: ToolOptions) -> AnyTool:
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
    fields = _fields(options, inspect.cleandoc(function.__doc__ or ""))
    return _checked(Tool(name, function=function, takes=takes, returns=returns, takes_context=takes_context, **fields))


def _described(
    definition: Mapping[str, Any], schema: Any, function: Callable[..., Any], options: ToolOptions
) -> AnyTool:
    """Return the tool of an outside definition. schema: of its arguments; None if it has none."""
    takes = Described(JsonSchema(json.dumps({"type": "object", "properties": {}} if schema is None else schema)))
    name = options.get("name") or str(definition.get("name", ""))
    fields = _fields(options, str(definition.get("description") or ""))
    return _checked(Tool(name, function=function, takes=takes, **fields))


def _fields(options: ToolOptions, description: str) -> dict[str, Any]:
    """Return the options as fields of a tool. description: the default."""
    fields: dict[str, Any] = {"description": description, **options}
    fields.pop("name", None)
    for name in ("key", "capabilities"):
        fields[name] = one_or_more(fields.get(name, ()))
    undo = fields.get("undo", "")
    return fields | {"undo": undo.name if isinstance(undo, Tool) else undo}


def _checked(new: AnyTool) -> AnyTool:
    """Return the tool. Raises InvalidToolError if it has faults."""
    place = f"tool {new.name!r}"
    faults = tuple(new.takes.faults(place)) or tuple(_faults(new, place))
    if faults:
        raise InvalidToolError(faults)
    return new


def _faults(new: AnyTool, place: str) -> Iterator[Fault]:
    problem = "it is empty" if new.name == "" else unkept(new.name, LONGEST_TOOL_NAME)
    if problem:
        yield Fault(place, f"the name cannot be used: {problem}", f"give it 1 to {LONGEST_TOOL_NAME} characters")
    if not callable(new.function) or yields(new.function):
        yield Fault(place, "it is not a function that returns a result", "pass a plain or an async function")
    if new.repeat not in _REPEATS:
        yield Fault(place, f"repeat={new.repeat!r} is unknown", suggestion(new.repeat, _REPEATS))
    if new.escape is not None:
        yield from tool_plan_faults(place, new.name, new.escape)
    if new.key and new.repeat != "keyed":
        yield Fault(place, f"key={new.key!r} has no effect with repeat={new.repeat!r}", 'write repeat="keyed"')
    arguments = tuple(new.takes.schema.get("properties", ())) if new.key else ()
    for name in new.key:
        if name not in arguments:
            yield Fault(place, f"key={name!r} is not an argument", suggestion(name, arguments))
