"""The options of every command, before or after its name, the options that several commands share, and their values."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial, wraps
from importlib.metadata import version as version_of
from inspect import Parameter, Signature, signature
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Concatenate, Final, ParamSpec, TypeAlias

import typer

from gatechart.cli.errors import ExitCode, UsageError
from gatechart.values.delays import DELAY_REMEDY, delay_text, seconds_of
from gatechart.values.names import DEFAULT_URL

P = ParamSpec("P")
Work: TypeAlias = Coroutine[Any, Any, ExitCode | None]  # None means done
APP_VARIABLE: Final = "GATECHART_APP"
CHOOSING_VARIABLE: Final = "GATECHART_CHOOSING"
DIALECT_VARIABLE: Final = "GATECHART_DIALECT"
ENTRY_VARIABLE: Final = "GATECHART_ENTRY"
STORE_VARIABLE: Final = "GATECHART_STORE"
JSON_VARIABLE: Final = "GATECHART_JSON"
SERVICES_VARIABLE: Final = "GATECHART_SERVICES"
PACKET_MIGRATIONS_VARIABLE: Final = "GATECHART_PACKET_MIGRATIONS"
TOKEN_VARIABLE: Final = "GATECHART_TOKEN"
TOOL_POLICIES_VARIABLE: Final = "GATECHART_TOOL_POLICIES"
VERBOSE_VARIABLE: Final = "GATECHART_VERBOSE"
DEBUG_VARIABLE: Final = "GATECHART_DEBUG"
COMMON_PANEL: Final = "Options of every command, before or after its name"


class ChartDialect(StrEnum):
    """The dialects of chart files."""

    SCXML = "scxml"
    XSTATE = "xstate"
    TRANSITIONS = "transitions"


@dataclass(frozen=True, slots=True)
class Settings:
    """The values of the common options."""

    app: str | None  # None: from the project's pyproject.toml
    dialect: ChartDialect | None  # None: from the project's pyproject.toml, else from the chart file
    entry: Sequence[str] | None  # None: from the chart file
    store: str
    services: str | None  # None: from the project's pyproject.toml
    choosing: str | None  # None: from the project's pyproject.toml
    json: bool
    verbose: bool
    debug: bool


@dataclass(frozen=True, slots=True)
class Job:
    """A parsed command, ready to run."""

    settings: Settings
    work: Callable[[], Work]


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"gatechart {version_of('gatechart')}")
        raise typer.Exit


_everywhere = partial(typer.Option, rich_help_panel=COMMON_PANEL)
AppOption = Annotated[
    str | None,
    _everywhere(
        "--app",
        envvar=APP_VARIABLE,
        metavar="APP",
        help="The graphs to use: MODULE:ATTRIBUTE for graphs in Python, or CHART.yaml:MODULE for a chart file (.yaml, "
        ".yml, .json, .scxml) and the module with the functions it names. Default: the app in the nearest "
        "pyproject.toml, under \\[tool.gatechart].",
    ),
]
DialectOption = Annotated[
    ChartDialect | None,
    _everywhere(
        "--dialect",
        envvar=DIALECT_VARIABLE,
        help="How to read a chart file, in place of its own dialect: with the semantics of SCXML or XState, or as the "
        "configuration of a machine of the package transitions. Default: the dialect in the nearest pyproject.toml, "
        "else the file's own dialect.",
        show_default=False,
    ),
]
ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="URL",
        help="Use this `gatechart serve` instead of the --store. If it needs a token, set GATECHART_TOKEN.",
        show_default=False,
    ),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="URL",
        help="Use the Restate engine at this address for calls, such as http://127.0.0.1:8080, not the --store.",
        show_default=False,
    ),
]
NamespaceOption = Annotated[
    str,
    typer.Option(
        "--namespace",
        envvar="GATECHART_RESTATE_NAMESPACE",
        metavar="NAME",
        help="A name that separates applications on one engine; all processes of an application share it.",
    ),
]
EntryOption = Annotated[
    list[str] | None,
    _everywhere(
        "--entry",
        envvar=ENTRY_VARIABLE,
        metavar="STATE",
        help="A state in which agents may start, in place of the entry points of a chart file; may be repeated.",
        show_default=False,
    ),
]
StoreOption = Annotated[
    str, _everywhere("--store", envvar=STORE_VARIABLE, metavar="URL", help="The database of the agents.")
]
ServicesOption = Annotated[
    str | None,
    _everywhere(
        "--services",
        envvar=SERVICES_VARIABLE,
        metavar="MODULE:ATTRIBUTE",
        help="The services that actions and invokes use; a function or class is called to create them. Default: the "
        "services in the nearest pyproject.toml, under \\[tool.gatechart].",
        show_default=False,
    ),
]
ChoosingOption = Annotated[
    str | None,
    _everywhere(
        "--choosing",
        envvar=CHOOSING_VARIABLE,
        metavar="MODULE:ATTRIBUTE",
        help="How the targets of handoffs are chosen: a Choosing(…), or a function that returns one. Default: the "
        "choosing in the nearest pyproject.toml, under \\[tool.gatechart], else the built-in rules.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool, _everywhere("--json", envvar=JSON_VARIABLE, help="Print one JSON document instead of tables.")
]
VerboseOption = Annotated[bool, _everywhere("--verbose", envvar=VERBOSE_VARIABLE, help="Show the log.")]
DebugOption = Annotated[
    bool, _everywhere("--debug", envvar=DEBUG_VARIABLE, help="Show the traceback if the command fails.")
]
VersionOption = Annotated[
    bool,
    typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit."),
]
LONGEST_S: Final = 86_400.0
"""A day: no command needs to wait longer, and event loops cannot handle every number of seconds."""


def duration_option(
    name: str,
    least_s: float,
    help: str,  # noqa: A002
    *,
    envvar: str | None = None,
    most_s: float = LONGEST_S,
) -> Any:
    """Define an option that takes a duration, where a bare number is seconds; at most a day by default."""

    def parse(given: str | float) -> float:
        seconds = _seconds(given)
        if seconds is None:
            raise typer.BadParameter(f"{given!r} is not a duration; {DELAY_REMEDY}")
        if not least_s <= seconds <= most_s:
            raise typer.BadParameter(f"{given} is not in the range {delay_text(least_s)} to {delay_text(most_s)}")
        return seconds

    return typer.Option(name, envvar=envvar, parser=parse, metavar="DURATION", help=help)


def _seconds(given: str | float) -> float | None:
    try:
        return seconds_of(float(given))
    except ValueError:
        return seconds_of(given)


TIMEOUT_VARIABLE: Final = "GATECHART_TIMEOUT"
TIMEOUT_S: Final = 30.0
SHORTEST_S: Final = 0.1
TimeoutOption = Annotated[
    float,
    duration_option(
        "--timeout",
        SHORTEST_S,
        "How long to wait for the owner of the database, such as `gatechart run`, if there is one.",
        envvar=TIMEOUT_VARIABLE,
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
PayloadOption = Annotated[
    str | None,
    typer.Option(
        "--payload",
        "-p",
        metavar="JSON|@FILE|-",
        help="The payload: a JSON object, @FILE to read it from a file, or - for standard input.",
        show_default=False,
    ),
]


def common_options(
    app: AppOption = None,
    dialect: DialectOption = None,
    entry: EntryOption = None,
    store: StoreOption = DEFAULT_URL,
    services: ServicesOption = None,
    choosing: ChoosingOption = None,
    json: JsonOption = False,
    verbose: VerboseOption = False,
    debug: DebugOption = False,
    version: VersionOption = False,
) -> None:
    """Take the common options before the name of a command; `with_settings` adds them after it."""


_COMMON: Final = tuple(
    parameter
    for parameter in signature(common_options, eval_str=True).parameters.values()
    if parameter.name != "version"
)


def with_settings(command: Callable[Concatenate[Settings, P], Work]) -> Callable[..., Job]:
    """Add the common options to a command and pass them as its settings."""

    @wraps(command)
    def parse(context: typer.Context, **given: Any) -> Job:
        settings = settings_of(context, {common.name: given.pop(common.name) for common in _COMMON})
        return Job(settings, partial(command, settings, **given))

    own = [*signature(command, eval_str=True).parameters.values()][1:]
    first = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    every = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*own, *_COMMON)]
    parse.__signature__ = Signature([first, *every])  # type: ignore[attr-defined]
    return parse


def settings_of(context: Any, given: Mapping[str, Any]) -> Settings:
    """Return the settings of a command line. given: values of the common options after the command's name."""
    return Settings(
        **{field_.name: chosen_option(context, field_.name, given.get(field_.name)) for field_ in fields(Settings)}
    )


def chosen_option(context: Any, name: str, value: Any) -> Any:
    """Choose the value of an option: after the command's name, before it, in the environment, the default."""
    while context is not None:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            return context.params[name]
        context = context.parent
    return value


def is_set(arguments: Sequence[str], flag: str, variable: str) -> bool:
    """Return whether a flag is among arguments that may not parse, or set in the environment."""
    return flag in arguments or os.environ.get(variable, "").lower() in {"1", "true", "t", "yes", "y", "on"}


def read_payload(given: str | None, option: str = "--payload") -> dict[str, Any] | None:
    """Read the JSON object in an option, or in the source that it names as `@FILE` or `-`. Raises UsageError.

    >>> read_payload('{"text": "help"}'), read_payload(None)
    ({'text': 'help'}, None)
    """
    payload = read_json(option, given)
    if payload is None and given is None:
        return None
    if not isinstance(payload, dict):
        problem = f"it is not a JSON object but {_KINDS[type(payload)]}; write it like '{{\"text\": ...}}'"
        raise _wrong(option, given or "", problem)
    return payload


def read_json(option: str, given: str | None) -> Any:
    """Return the JSON value in an option, or in the source that it names as `@FILE` or `-`; None without one.

    Raises UsageError.

    >>> read_json("--result", "[1, true]")
    [1, True]
    """
    if given is None:
        return None
    try:
        return json.loads(_text(given), parse_constant=_refuse_constant, parse_float=_number)
    except (ValueError, RecursionError) as error:  # invalid UTF-8 is a ValueError, too
        problem = f'it is not valid JSON ({error}); write it like \'{{"text": "help"}}\', in single quotes'
        raise _wrong(option, given, problem) from error
    except OSError as error:
        raise _wrong(option, given, f"it cannot be read ({error.strerror})") from error


_KINDS = {
    list: "an array",
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def _number(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(f"the number {digits} is too large")
    return number


def _text(given: str) -> str:
    if given == "-":
        return sys.stdin.read()
    return Path(given[1:]).read_text(encoding="utf-8") if given.startswith("@") else given


def _wrong(option: str, given: str, problem: str) -> UsageError:
    source = "stdin" if given == "-" else given[1:] if given.startswith("@") else option
    return UsageError(f"{source}: {problem}")


def read_age(option: str, given: str | None) -> datetime | timedelta | None:
    """Read an age or a moment. Raises UsageError.

    >>> read_age("--older-than", "90d"), read_age("--older-than", "2026-07-01")
    (datetime.timedelta(days=90), datetime.datetime(2026, 7, 1, 0, 0, tzinfo=datetime.timezone.utc))
    """
    if given is None:
        return None
    duration = _duration(given)
    return _moment(option, given) if duration is None else duration


def read_since(option: str, given: str | None, now: datetime) -> datetime | None:
    """Read a moment, or an age before now. Raises UsageError."""
    age = read_age(option, given)
    try:
        return now - age if isinstance(age, timedelta) else age
    except OverflowError:
        raise UsageError(f"{option}: {given!r} is out of range; leave it out to start with the oldest") from None


def read_due(option: str, given: str | None, now: datetime) -> datetime | None:
    """Read a moment, or a delay from now. Raises UsageError."""
    if given is None:
        return None
    delay = _duration(given)
    return _moment(option, given) if delay is None else now + delay


def read_deadline(option: str, given: str | None, now: datetime) -> datetime | None:
    """Read a moment in the future, or a delay from now. Raises UsageError."""
    due = read_due(option, given, now)
    if due is not None and due <= now:
        raise UsageError(f"{option}: {given!r} is in the past; write a moment in the future, or a delay like '10m'")
    return due


def read_duration(option: str, given: str) -> timedelta:
    """Read a duration. Raises UsageError."""
    duration = _duration(given)
    if duration is None:
        raise UsageError(f"{option}: {given!r} is not a duration; write it like '12h', '7d' or 'PT1H30M'")
    return duration


def _duration(given: str) -> timedelta | None:
    seconds = seconds_of(given)
    return None if seconds is None else timedelta(seconds=seconds)


def _moment(option: str, given: str) -> datetime:
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise UsageError(
            f"{option}: {given!r} is neither a duration, like '12h' or '90d', nor a moment, like '2026-07-01' or "
            "'2026-07-01T12:00+02:00'"
        ) from None
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"{option}: {given!r} is out of range; write a moment of the years 1 to 9999") from None
