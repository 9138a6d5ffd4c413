"""Reference pages generated from the code: errors, keys of charts, commands, HTTP, configuration."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Final

from typer.main import get_command

from docs.generate.api import class_header, code
from docs.generate.text import prose, table
from gatechart.charts import schema
from gatechart.cli.commands import app
from gatechart.cli.options import COMMON_PANEL
from gatechart.errors import DefinitionError, EventError, GatechartError, OutsideError
from gatechart.hosting.limits import Limits
from gatechart.serving.connections import ServerLimits
from gatechart.serving.openapi import openapi_document

PARTS: Final = {
    "chart": "The chart",
    "state": "A state",
    "transition": "A transition, under its event",
    "listed": "A transition in a list",
    "then": "A transition under `after`, `always`, `onDone` or `onError`",
    "invoke": "An invoke",
    "initial": "`initial` with actions",
    "entry_point": "An entry point",
    "event_type": "A declared event",
    "accepts": "`accepts`",
    "handing_on": "`handoff`",
    "fallback": "A fallback",
    "retry": "`retry`",
    "cel": "A guard as an expression",
    "allowance": "An allowed finding",
}
BRANCHES: Final = {
    DefinitionError: "The definition is wrong",
    EventError: "This call cannot be carried out now",
    OutsideError: "Something outside failed",
}


def error_page() -> str:
    """Return every error with its facts, by blame."""
    lines = [
        "# Errors\n",
        "Every error is a `GatechartError`, in a branch that says who has to act. Facts are fields of the error;",
        "over HTTP, the class is `error`, and the fields are `facts` ([statuses](../how-to/serve.md#the-interface)).",
        "The message names what would have worked.\n",
    ]
    for branch, title in BRANCHES.items():
        kinds = sorted(set(below(branch)) - {branch}, key=lambda kind: kind.__name__)
        rows = [
            (f"`{kind.__name__}`", first(kind), ", ".join(f"`{each.name}`" for each in facts(kind))) for kind in kinds
        ]
        lines += [
            f"## {title}\n",
            f"`{branch.__name__}`. {first(branch)}\n",
            table(("error", "meaning", "facts"), rows),
        ]
    return "\n".join(lines)


def below(kind: type[GatechartError]) -> Iterator[type[GatechartError]]:
    """List a class and all classes below it."""
    yield kind
    for each in kind.__subclasses__():
        yield from below(each)


def first(kind: type) -> str:
    """Return the first paragraph of a docstring."""
    return inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]


def facts(kind: type) -> tuple[Any, ...]:
    """Return the fields of an error."""
    return fields(kind) if hasattr(kind, "__dataclass_fields__") else ()


def chart_keys() -> str:
    """Return the keys of chart files, part by part."""
    parts = schema()["$defs"]
    lines = [
        "# Keys of chart files\n",
        "What a chart file may say, part by part, in gatechart's own dialect;",
        "[charts as data](charts.md) shows them in use.",
        "`gatechart schema` prints the JSON Schema from which this page is made. Keys in bold are required.\n",
    ]
    for part, title in PARTS.items():
        told = parts.get(f"scxml.{part}", {})
        rows = [
            (
                f"**`{key}`**" if key in told.get("required", ()) else f"`{key}`",
                kind_of(value, parts),
                value.get("description", ""),
            )
            for key, value in told.get("properties", {}).items()
        ]
        if rows:
            lines += [f"## {title}\n", table(("key", "value", "meaning"), rows)]
    return "\n".join(lines)


def kind_of(value: Mapping[str, Any], parts: Mapping[str, Any], depth: int = 0) -> str:
    """Describe in a few words the values that a key accepts."""
    name = value.get("$ref", "").rpartition("/")[2]
    if name in parts and depth < 4:
        part = name.partition(".")[2]
        return PARTS[part].lower() if part in PARTS and part != "chart" else kind_of(parts[name], parts, depth + 1)
    if "enum" in value or "const" in value:
        return ", ".join(f"`{each}`" for each in value.get("enum", [value.get("const")]))
    for key in ("anyOf", "oneOf"):
        if key in value:
            return " or ".join(dict.fromkeys(filter(None, (kind_of(each, parts, depth + 1) for each in value[key]))))
    kinds = value.get("type", "")
    if kinds == "array":
        return f"a list of {kind_of(value['items'], parts, depth + 1) or 'values'}" if "items" in value else "a list"
    words = {"string": "text", "object": "a mapping", "boolean": "`true` or `false`", "null": ""}
    several = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(filter(None, (words.get(each, each) for each in several)))


def commands() -> str:
    """Return every command with its options."""
    command: Any = get_command(app)
    lines = [
        "# Commands\n",
        "What `gatechart COMMAND -h` says; [the command line](cli.md) explains what all commands share.\n",
    ]
    for path, each in leaves(command, ()):
        lines += described(" ".join(path), each)
    lines += ["## Options of every command\n", options([one for one in command.params if "help" not in one.opts[0]])]
    return "\n".join(lines)


def leaves(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """List the commands below a command, groups that are commands themselves included."""
    for name, each in command.commands.items():
        if not hasattr(each, "commands") or each.invoke_without_command:
            yield (*path, name), each
        if hasattr(each, "commands"):
            yield from leaves(each, (*path, name))


def described(name: str, command: Any) -> Iterator[str]:
    """Describe a command: its effect, arguments, options and examples."""
    yield f"## {name}\n"
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    named = " ".join(one.metavar or one.name.upper() for one in arguments)
    yield f"`gatechart {name}{' ' + named if named else ''} [OPTIONS]`\n"
    yield prose((command.help or "").replace("\\[", "["))
    own = [
        one for one in command.params if getattr(one, "rich_help_panel", None) != COMMON_PANEL and one.name != "help"
    ]
    if own:
        yield options(own)
    examples = (command.epilog or "").partition("[bold]Examples[/]\n\n")[2].partition("\n\n[bold]")[0]
    if examples:
        yield "```sh\n" + "\n".join(line.strip() for line in examples.splitlines()).replace("\\[", "[") + "\n```\n"


def options(given: list[Any]) -> str:
    """Return a table of arguments and options, with their environment variables."""
    rows = []
    for one in given:
        is_argument = one.param_type_name == "argument"
        names = [one.metavar or one.name.upper()] if is_argument else [*one.opts, *one.secondary_opts]
        variable = f" Environment: `{one.envvar}`." if one.envvar else ""
        default = (
            f" Default: `{one.default}`."
            if one.default not in (None, False, "", ()) and not callable(one.default)
            else ""
        )
        rows.append(
            (
                ", ".join(f"`{name}`" for name in names),
                (getattr(one, "help", "") or "").replace("\\[", "[") + default + variable,
            )
        )
    return table(("argument or option", "meaning"), rows)


def http() -> str:
    """Return the operations of `gatechart serve`, from its OpenAPI document."""
    document = openapi_document((), needs_token=True)
    parts = document["components"]["schemas"]
    lines = [
        "# HTTP\n",
        "The operations of `gatechart serve`, from its OpenAPI document;",
        "[agents behind HTTP](../how-to/serve.md) explains them.",
        "`GET /openapi.json` of a running server adds the payloads of its graphs' entry points and events.\n",
    ]
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            lines.append(f"## {verb.upper()} {path}\n")
            lines.append(f"{operation.get('summary', '')}. {operation.get('description', '')}\n".replace("..", "."))
            if parameters := operation.get("parameters"):
                rows = [(f"`{one['name']}`", one["in"], "yes" if one.get("required") else "") for one in parameters]
                lines.append(table(("parameter", "in", "required"), rows))
            if content := operation.get("requestBody", {}).get("content"):
                names = [reference(one["schema"], parts) for one in content.values()]
                lines += [f"Body: {', '.join(names)}.\n"] if any(names) else []
            rows = [(status, answer.get("description", "")) for status, answer in operation["responses"].items()]
            lines.append(table(("status", "answer"), rows))
    lines.append("## Schemas\n")
    for name, one in parts.items():
        rows = [
            (f"`{key}`", kind_of(value, {}) or reference(value, parts))
            for key, value in one.get("properties", {}).items()
        ]
        lines += [f"### {name}\n", table(("field", "value"), rows)] if rows else []
    return "\n".join(lines)


def reference(schema_: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    """Link to a schema of the page, or to each of several; schemas without fields are only named."""
    if "$ref" in schema_:
        name = schema_["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if parts[name].get("properties") else f"`{name}`"
    several = schema_.get("anyOf") or schema_.get("oneOf") or ()
    return " or ".join(filter(None, (reference(each, parts) for each in several)))


def configuration() -> str:
    """Return what can be configured: environment variables, pyproject.toml, the limits of a runtime and of a server."""
    command: Any = get_command(app)
    variables = {
        one.envvar: (one.help or "").replace("\\[", "[")
        for each in (command, *(leaf for _, leaf in leaves(command, ())))
        for one in each.params
        if one.envvar and isinstance(one.envvar, str)
    }
    project = (
        (
            "`app`",
            "the graphs: `module:attribute`, or `chart.yaml:module`; commas join several modules",
        ),
        ("`dialect`", "the language of chart files that do not say it themselves"),
        ("`services`", "what actions and invokes get as `services`: `module:attribute`"),
        ("`choosing`", "how whom work is handed to is chosen: `module:attribute`"),
        ("`packet_migrations`", "migrations of handoff packets: `module:attribute`"),
        ("`tool_policies`", "a file with policies of tool calls; also the variable `GATECHART_TOOL_POLICIES`"),
    )
    return "\n".join(
        [
            "# Configuration\n",
            "What is given to a call or a command goes before the environment, and that before `pyproject.toml`.\n",
            "## Environment\n",
            table(("variable", "meaning"), sorted((f"`{name}`", text) for name, text in variables.items())),
            "## pyproject.toml\n",
            "Keys of `[tool.gatechart]`, in the folder of the command or above it:\n",
            table(("key", "meaning"), project),
            "## Limits of a runtime\n",
            prose(Limits.__doc__ or ""),
            code(class_header(Limits)),
            "`Runtime.open(url, graphs=[…], limits=Limits(inbox=100))`\n",
            "## Limits of a server\n",
            prose(ServerLimits.__doc__ or ""),
            code(class_header(ServerLimits)),
        ]
    )
