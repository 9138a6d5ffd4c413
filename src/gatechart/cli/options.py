"""The options that every command has, before its name or behind it, and those that several share."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from importlib.metadata import version as version_of
from inspect import Parameter, Signature, signature
from math import isnan
from typing import Annotated, Any, Concatenate, Final, ParamSpec, TypeAlias

import typer

from gatechart.cli.errors import ExitCode
from gatechart.stores import DEFAULT_URL

P = ParamSpec("P")
Work: TypeAlias = Coroutine[Any, Any, ExitCode | None]  # None where all is done
APP_VARIABLE: Final = "GATECHART_APP"
STORE_VARIABLE: Final = "GATECHART_STORE"
JSON_VARIABLE: Final = "GATECHART_JSON"
SERVICES_VARIABLE: Final = "GATECHART_SERVICES"
PACKET_MIGRATIONS_VARIABLE: Final = "GATECHART_PACKET_MIGRATIONS"
VERBOSE_VARIABLE: Final = "GATECHART_VERBOSE"
DEBUG_VARIABLE: Final = "GATECHART_DEBUG"
_PANEL: Final = "Options of every command, before its name or behind it"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the common options say."""

    app: str | None  # None leaves it to the project's pyproject.toml
    store: str
    services: str | None  # None leaves it to the project's pyproject.toml
    json: bool
    verbose: bool
    debug: bool


@dataclass(frozen=True, slots=True)
class Job:
    """A command that was asked for, ready to be run."""

    settings: Settings
    work: Callable[[], Work]


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"gatechart {version_of('gatechart')}")
        raise typer.Exit


_everywhere = partial(typer.Option, rich_help_panel=_PANEL)
AppOption = Annotated[
    str | None,
    _everywhere(
        "--app",
        envvar=APP_VARIABLE,
        metavar="APP",
        help="Where the graphs are. MODULE:ATTRIBUTE: one, a sequence or a mapping of them. CHART.yaml:MODULE: a chart "
        "file (.yaml, .yml, .json) with the module, or its :ATTRIBUTE, or several by commas, that has what it names. "
        "If left out, as the nearest pyproject.toml says under \\[tool.gatechart].",
    ),
]
StoreOption = Annotated[
    str, _everywhere("--store", envvar=STORE_VARIABLE, metavar="URL", help="Where the agents are kept.")
]
ServicesOption = Annotated[
    str | None,
    _everywhere(
        "--services",
        envvar=SERVICES_VARIABLE,
        metavar="MODULE:ATTRIBUTE",
        help="What actions and invokes need from outside; a function or a class is called for it. If left out, as the "
        "nearest pyproject.toml says under \\[tool.gatechart].",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool, _everywhere("--json", envvar=JSON_VARIABLE, metavar="", help="One JSON document instead of tables.")
]
VerboseOption = Annotated[
    bool, _everywhere("--verbose", envvar=VERBOSE_VARIABLE, metavar="", help="Show what is logged on the way.")
]
DebugOption = Annotated[
    bool, _everywhere("--debug", envvar=DEBUG_VARIABLE, metavar="", help="Show the traceback of an error.")
]
VersionOption = Annotated[
    bool,
    typer.Option("--version", callback=_print_version, is_eager=True, metavar="", help="Show the version and exit."),
]
LONGEST_S: Final = 86_400.0
"""A day: what takes longer is no wait, and clocks cannot be told of any number of seconds."""


def seconds_option(name: str, least: float, help: str, *, envvar: str | None = None) -> Any:  # noqa: A002
    """An option that takes seconds, of which nobody waits for more than a day."""
    return typer.Option(name, envvar=envvar, min=least, max=LONGEST_S, callback=_number, metavar="SECONDS", help=help)


def _number(given: float) -> float:
    if isnan(given):  # which is neither too little nor too much
        raise typer.BadParameter("it is no number")
    return given


AgentArgument = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.", show_default=False)]
PayloadOption = Annotated[
    str | None,
    typer.Option(
        "--payload",
        "-p",
        metavar="JSON|@FILE|-",
        help="What comes with it, a JSON object: as it is, from a file, or from stdin.",
        show_default=False,
    ),
]


def common_options(
    app: AppOption = None,
    store: StoreOption = DEFAULT_URL,
    services: ServicesOption = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,
    version: VersionOption = False,
) -> None:
    """Stands before the name of a command, and is the pattern of what stands behind it."""


_COMMON: Final = tuple(
    parameter
    for parameter in signature(common_options, eval_str=True).parameters.values()
    if parameter.name != "version"
)


def with_settings(command: Callable[Concatenate[Settings, P], Work]) -> Callable[..., Job]:
    """The command as typer parses it: the common options are added, and reach the command as its settings."""

    @wraps(command)
    def parse(context: typer.Context, **given: Any) -> Job:
        settings = Settings(
            **{common.name: _chosen(context, common.name, given.pop(common.name)) for common in _COMMON}
        )
        return Job(settings, partial(command, settings, **given))

    own = [*signature(command, eval_str=True).parameters.values()][1:]
    first = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    every = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*own, *_COMMON)]
    parse.__signature__ = Signature([first, *every])  # type: ignore[attr-defined]
    return parse


def _chosen(context: Any, name: str, value: Any) -> Any:
    """What the option says behind the command's name, else before it, else in the environment, else by default."""
    while context is not None:
        if _is_given(context, name):
            return context.params[name]
        context = context.parent
    return value


def _is_given(context: Any, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def is_set(arguments: Sequence[str], flag: str, variable: str) -> bool:
    """Whether a flag is among arguments that may be too wrong to be parsed, or set in the environment."""
    return flag in arguments or os.environ.get(variable, "").lower() in {"1", "true", "t", "yes", "y", "on"}
