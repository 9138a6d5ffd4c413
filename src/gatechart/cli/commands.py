"""The table of commands and its parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from inspect import cleandoc
from typing import Any, Final, TypedDict

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from gatechart.cli.agents import (
    cut_transcript,
    erase_agent,
    fork_agent,
    retry_agent,
    roll_back_agent,
    send_event,
    start_agent,
    stop_agent,
)
from gatechart.cli.alarms import raise_alarm
from gatechart.cli.breakers import close_breaker, draw_breaker, isolate_breaker, list_breakers
from gatechart.cli.desk import answer_case, list_cases, release_case, resolve_case, return_case, show_case, take_case
from gatechart.cli.directory import (
    choose_entry,
    close_entry,
    deregister_entry,
    exclude_entry,
    forget_user,
    list_directory,
    open_entry,
    pin_entry,
    rate_handoff,
    register_entry,
    show_entry,
)
from gatechart.cli.directory_evaluation import evaluate_directory
from gatechart.cli.doctor import examine_home
from gatechart.cli.graphs import check_graphs, draw_graph, print_schema
from gatechart.cli.handoffs import cancel_handoff, hand_on, list_handoffs, show_handoff
from gatechart.cli.lessons import forget_lessons
from gatechart.cli.mail import discard_mail, end_invoke, fire_timer, list_mail, post_event, retry_mail, show_mail
from gatechart.cli.new import begin_project
from gatechart.cli.options import COMMON_PANEL, Job, Work, common_options, with_settings
from gatechart.cli.reading import list_agents, show_accepted, show_agent, show_history, show_trail
from gatechart.cli.replay import replay_histories
from gatechart.cli.restate import move_agents, register_service, serve_engine
from gatechart.cli.run import follow_agents, run_agents
from gatechart.cli.schedules import (
    delete_schedule,
    list_schedules,
    pause_schedule,
    resume_schedule,
    run_schedule,
    set_schedule,
)
from gatechart.cli.serve import serve_agents
from gatechart.cli.simulate import simulate_chart
from gatechart.cli.store import migrate_agents, prune_store, upgrade_database
from gatechart.cli.transcripts import show_transcript

HELP: Final = """Run durable agents driven by statecharts.

A graph is a statechart that declares the states in which an agent may start.
An agent is a running instance of a graph, kept in a database."""
EPILOG: Final = """[bold]Examples[/]

  gatechart check
  gatechart check --app charts/lamp.yaml:house.lamps
  gatechart start customer_service --at GREETING_CUSTOMER --id case-1
  gatechart send case-1 CUSTOMER_PROVIDED_INPUT --payload '{"text": "Help!"}'
  gatechart show case-1
  gatechart draw customer_service case-1.svg --agent case-1
  gatechart run --watch
  gatechart serve --port 8700

[bold]Exit codes[/]

    0  done
    1  not done: the event was refused and nothing changed; `migrate` found agents that it cannot migrate;
       `replay` found turns that differ;
       `handoff` was not accepted; or `show` or `run` found dead mail that an agent may be waiting for
    2  wrong command line
    3  wrong definition: a graph, the --app, or an error that `check` found
    4  wrong at this moment: an unknown agent, an action that raised, and the like
    5  failure outside: the database, a file, Graphviz, a full disk
    6  `doctor` found something that is worth a look
    7  `doctor` found something critical
    8  the agent could not escape a loop and ended as failed (`show`, `send`)
   70  a bug in gatechart
  130  interrupted with Ctrl-C
  141  the reader of the output closed the pipe"""


FOLDED: Final = (
    "[bold]Options of every command[/], before or after its name\n\n"
    "  --app, --dialect, --entry, --store, --services, --choosing, --json, --verbose, --debug: see `gatechart -h`"
)


class _Help(TypedDict):
    help: str
    epilog: str


COMMANDS: Final[Mapping[str, Callable[..., Work]]] = {
    "new": begin_project,
    "check": check_graphs,
    "schema": print_schema,
    "draw": draw_graph,
    "simulate": simulate_chart,
    "start": start_agent,
    "send": send_event,
    "show": show_agent,
    "accepts": show_accepted,
    "list": list_agents,
    "history": show_history,
    "transcript": show_transcript,
    "cut": cut_transcript,
    "trail": show_trail,
    "tail": follow_agents,
    "stop": stop_agent,
    "erase": erase_agent,
    "rollback": roll_back_agent,
    "retry": retry_agent,
    "fork": fork_agent,
    "run": run_agents,
    "serve": serve_agents,
    "post": post_event,
    "alarm": raise_alarm,
    "forget-lessons": forget_lessons,
    "handoff": hand_on,
    "end-invoke": end_invoke,
    "migrate": migrate_agents,
    "replay": replay_histories,
    "doctor": examine_home,
    "prune": prune_store,
    "move": move_agents,
    "upgrade": upgrade_database,
}
MAIL_COMMANDS: Final[Mapping[str, Callable[..., Work]]] = {
    "show": show_mail,
    "retry": retry_mail,
    "discard": discard_mail,
    "fire": fire_timer,
}
HANDOFF_COMMANDS: Final[Mapping[str, Callable[..., Work]]] = {
    "list": list_handoffs,
    "show": show_handoff,
    "cancel": cancel_handoff,
}
SCHEDULE_COMMANDS: Final[Mapping[str, Callable[..., Work]]] = {
    "set": set_schedule,
    "pause": pause_schedule,
    "resume": resume_schedule,
    "run": run_schedule,
    "delete": delete_schedule,
}
DIRECTORY_COMMANDS: Final[Mapping[str, Callable[..., Work]]] = {
    "list": list_directory,
    "show": show_entry,
    "choose": choose_entry,
    "register": register_entry,
    "deregister": deregister_entry,
    "pin": pin_entry,
    "exclude": exclude_entry,
    "close": close_entry,
    "open": open_entry,
    "rate": rate_handoff,
    "forget": forget_user,
    "evaluate": evaluate_directory,
}
BREAKER_COMMANDS: Final[Mapping[str, Callable[..., Work]]] = {
    "isolate": isolate_breaker,
    "close": close_breaker,
    "draw": draw_breaker,
}
DESK_COMMANDS: Final[Mapping[str, Callable[..., Work]]] = {
    "list": list_cases,
    "show": show_case,
    "take": take_case,
    "release": release_case,
    "answer": answer_case,
    "return": return_case,
    "resolve": resolve_case,
}
RESTATE: Final = """Run agents on Restate, a distributed engine."""
RESTATE_COMMANDS: Final[Mapping[str, Callable[..., Work]]] = {
    "serve": serve_engine,
    "register": register_service,
}


class _FoldsCommonOptions:
    """Hides the common options in the help of a command; completion still offers them."""

    params: list[Any]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        for parameter in self.params:
            if getattr(parameter, "rich_help_panel", None) == COMMON_PANEL:
                parameter.hidden = True  # each command has its own copies
        super().format_help(ctx, formatter)  # type: ignore[misc]


class _Command(_FoldsCommonOptions, TyperCommand):
    pass


class _Group(_FoldsCommonOptions, TyperGroup):
    pass


def _help_of(command: Callable[..., object]) -> _Help:
    """Build the help of a command from its docstring, with the examples as the epilog."""
    text = escape(cleandoc(command.__doc__ or ""))  # brackets, such as those around an extra, are not markup
    prose, _, examples = text.partition("\n\nExamples:\n")
    paragraphs = (" ".join(paragraph.split()) for paragraph in prose.split("\n\n"))
    return {"help": "\n\n".join(paragraphs), "epilog": f"[bold]Examples[/]\n\n{examples}\n\n{FOLDED}"}


def _add_commands(to: typer.Typer, commands: Mapping[str, Callable[..., Work]]) -> None:
    for name, command in commands.items():
        to.command(name, cls=_Command, **_help_of(command))(with_settings(command))


app = typer.Typer(
    name="gatechart",
    help=HELP,
    epilog=EPILOG,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.callback()(common_options)
_add_commands(app, COMMANDS)
for _group, _first, _commands in (
    ("mail", list_mail, MAIL_COMMANDS),
    ("handoffs", list_handoffs, HANDOFF_COMMANDS),
    ("schedule", list_schedules, SCHEDULE_COMMANDS),
    ("directory", list_directory, DIRECTORY_COMMANDS),
    ("breakers", list_breakers, BREAKER_COMMANDS),
    ("desk", list_cases, DESK_COMMANDS),
):
    _typer = typer.Typer(cls=_Group, invoke_without_command=True, rich_markup_mode="rich", **_help_of(_first))
    _typer.callback()(with_settings(_first))
    _add_commands(_typer, _commands)
    app.add_typer(_typer, name=_group)
_restate = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", help=RESTATE)
_add_commands(_restate, RESTATE_COMMANDS)
app.add_typer(_restate, name="restate")


def parse(arguments: Sequence[str]) -> Job | int:
    """Parse the command line: return a command, ready to run, or an exit code if typer handled it, such as `--help`.

    Raises typer.TyperException if the arguments are wrong.
    """
    parsed: Job | int = _parser()(list(arguments), prog_name="gatechart", standalone_mode=False)
    return parsed


@cache
def _parser() -> Any:
    """Return the parser of all commands. A process builds it once, because that takes longer than most commands."""
    command: Any = get_command(app)
    _adapt(command, typer.Context(command, **command.context_settings))
    return command


def _adapt(command: Any, context: typer.Context) -> None:
    """Keep typer from showing Python types, such as `--help <bool>`, and from needless checks.

    Typer checks with pydantic: the options of a group before it sees the `--help` of a subcommand, and all words before
    the one to complete.
    """
    is_group = hasattr(command, "commands")
    for parameter in (*command.params, command.get_help_option(context)):
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None  # noqa: ARG005  typer calls it by this name
        elif parameter.is_flag and parameter.metavar is None:
            parameter.metavar = ""
        parameter.process_value = partial(_processed, parameter, parameter.process_value, is_group=is_group)
    for subcommand in getattr(command, "commands", {}).values():
        _adapt(subcommand, typer.Context(subcommand, parent=context))


def _processed(option: Any, check: Callable[[Any, Any], Any], context: Any, value: Any, *, is_group: bool) -> Any:
    is_default = value is None or value == option.default
    return value if context.resilient_parsing or (is_group and is_default) else check(context, value)
