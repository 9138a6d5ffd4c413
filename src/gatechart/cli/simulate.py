"""The command `gatechart simulate`: play a chart in memory, event by event, on a clock that the player moves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from gatechart.cli.completion import complete_graphs
from gatechart.cli.errors import ExitCode, UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import PayloadOption, Settings, read_payload
from gatechart.cli.output import (
    Cell,
    Document,
    age_text,
    print_document,
    print_error,
    print_facts,
    print_hint,
    print_json_line,
    print_line,
    print_table,
    status_text,
    zoned_text,
)
from gatechart.cli.remedies import in_commands
from gatechart.errors.definition import InvalidChartError
from gatechart.errors.root import GatechartError
from gatechart.values.agents import Outcome, Status

if TYPE_CHECKING:
    from gatechart import drawing, runtime, testing
    from gatechart.cli import agent_views, deployment, loading, simulation, stand_ins
    from gatechart.cli.simulation import Game, Lines, PlayerChoice
    from gatechart.cli.stand_ins import StandIns
    from gatechart.graph.graph import AnyGraph
    from gatechart.testing.rehearsal import Rehearsal
else:
    drawing, runtime, testing, agent_views, deployment, loading, simulation, stand_ins = late(
        "gatechart.drawing",
        "gatechart.runtime",
        "gatechart.testing",
        "gatechart.cli.agent_views",
        "gatechart.cli.deployment",
        "gatechart.cli.loading",
        "gatechart.cli.simulation",
        "gatechart.cli.stand_ins",
    )

ChartArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="CHART",
        autocompletion=complete_graphs,
        help="A graph of the app, MODULE:ATTRIBUTE or CHART.yaml:MODULE. The module of a chart may be left out. "
        "Default: the only graph of the app.",
        show_default=False,
    ),
]
ContextOption = Annotated[
    str | None,
    typer.Option(
        "--context",
        metavar="JSON|@FILE",
        help="Start with these context fields. The state of --entry then need not be an entry point.",
        show_default=False,
    ),
]
HELP: Final = """\
NUMBER [JSON]   trigger the item with this number: an event with its payload, a timer, or the end of an
                invoke, done with {"result": ...} or failed with {"message": ...}
EVENT [JSON]    send an event by its name
+DELAY          move the clock: +2d, +1h30m; everything that falls due happens in order
draw [FILE]     draw the chart with its active states and the path so far; without a file, open the picture
context         show the context
back            undo the last step
help, quit      print this help; quit, like Ctrl-D"""
_UNHURRIED_S: Final = 86_400.0  # a turn may wait for the player's answers


async def simulate_chart(
    settings: Settings, chart: ChartArgument = None, fields: ContextOption = None, payload: PayloadOption = None
) -> ExitCode | None:
    r"""Play a chart without a database: choose events, move the clock, undo steps.

    The possible next steps are listed with numbers: events, timers, and the ends of invokes. Type a number or the name
    of an event, followed by a payload in JSON; +2d to move the clock; draw, context, back, help or quit.

    Functions that a chart file names but that are not bound are simulated: you answer for a guard, and an action is
    only listed. Bound guards and actions run; invokes never run, and services are opened only if --services names them.

    The simulation starts at --entry, which is an entry point (with a --payload if it takes one) or any state, or else
    at the only entry point. If stdin is not a terminal, it is a script: one line for each step and answer. The first
    line that fails ends the simulation with the exit code of the error; 1 if an event is refused. With --json, each
    position is printed as a line of JSON.

    Examples:
      gatechart simulate customer_service --entry GREETING_CUSTOMER
      gatechart simulate charts/lamp.yaml
      gatechart simulate machine.json --dialect xstate
      gatechart simulate orders --entry PAID --context '{"total": 70}'
      printf 'PRESSED\n+2d\n' | gatechart simulate charts/lamp.yaml --json
    """
    context, given = read_payload(fields, "--context"), read_payload(payload)
    lines = simulation.Lines(lambda line: None if settings.json else print_line(line))
    answers = simulation.Answers(lines)
    unbound = stand_ins.StandIns(answers.ask)
    graph = _graph(settings, chart, unbound)
    entry = _entry(graph, settings.entry, is_anywhere=context is not None)
    if context is None and entry not in (None, *graph.entry_points):
        context = {}
    started_at = datetime.now(UTC).replace(microsecond=0)
    async with _services(settings) as services:

        def opening() -> AbstractAsyncContextManager[Rehearsal[Any]]:
            return testing.rehearse(
                graph,
                entry,
                given,
                context=context,
                services=services,
                clock=testing.VirtualClock(started_at),
                as_framework=True,
                holds_invokes=True,
                limits=runtime.Limits(turn_s=_UNHURRIED_S),
            )

        async with simulation.Game(opening, answers) as game:
            try:
                return await _Player(settings, graph, game, lines, unbound, started_at).play()
            except asyncio.CancelledError:  # Ctrl-C during a step
                raise KeyboardInterrupt("a simulation keeps nothing") from None


def _graph(settings: Settings, chart: str | None, unbound: StandIns) -> AnyGraph:
    """Load the graph: by its name in the app, from a module or file, or the only one of the app."""
    is_app = chart is not None and (":" in chart or loading.is_chart(chart))
    named = replace(settings, app=chart if is_app else settings.app)
    try:
        # Without the entry points of the command line, so that the file's entry points keep their payload types.
        graphs = loading.load_graphs(replace(named, entry=None), unbound)
    except InvalidChartError:
        if not settings.entry:
            raise
        graphs = loading.load_graphs(named, unbound)
    if chart is not None and not is_app:
        return loading.newest_named(graphs, chart)
    loaded = loading.newest(graphs)
    if len(loaded) > 1:
        raise UsageError(f"several graphs; name the one to play: {', '.join(graph.name for graph in loaded)}")
    return loaded[0]


def _entry(graph: AnyGraph, given: Sequence[str] | None, *, is_anywhere: bool) -> str | None:
    """Choose the start: the given state, else the only entry point, or with a context the initial state."""
    if given:
        if len(given) > 1:
            raise UsageError("--entry is given several times; a simulation starts in one state")
        return given[0]
    if is_anywhere:
        return None
    if len(graph.entry_points) > 1:
        raise UsageError(
            f"several entry points; add --entry with one of {', '.join(graph.entry_points)}, or another state"
        )
    return next(iter(graph.entry_points))


@asynccontextmanager
async def _services(settings: Settings) -> AsyncIterator[Any]:
    if settings.services is None:
        yield None
        return
    async with deployment.opened_services(settings) as services:
        yield services


class _Player:
    """The conversation with the player."""

    def __init__(
        self, settings: Settings, graph: AnyGraph, game: Game, lines: Lines, unbound: StandIns, started_at: datetime
    ) -> None:
        self._settings = settings
        self._graph = graph
        self._game = game
        self._lines = lines
        self._unbound = unbound
        self._begun = started_at
        self._seen = 0  # the last version that was shown
        self._choices: tuple[PlayerChoice, ...] = ()

    async def play(self) -> ExitCode | None:
        """Show the agent's position and execute the player's lines until the end."""
        await self._show()
        while (line := self._lines.next("> ")) is not None:
            if line in ("quit", "exit") and self._chosen(line) is None:
                break
            try:
                is_done = await self._execute(line)
            except (GatechartError, typer.TyperException) as error:
                if self._lines.is_script:
                    raise
                print_error(
                    error.format_message() if isinstance(error, typer.TyperException) else in_commands(str(error))
                )
            else:
                if self._lines.is_script and not is_done:
                    return ExitCode.REFUSED
        return None

    async def _execute(self, line: str) -> bool:
        """Execute a line; return whether it succeeded."""
        word, _, rest = line.partition(" ")
        commands: Mapping[str, Callable[[str], Awaitable[None]]] = {
            "": self._show_again,
            "draw": self._draw,
            "context": self._show_context,
            "back": self._back,
            "help": self._help,
        }
        choice = self._chosen(word)
        if choice is None and word in commands:
            await commands[word](rest.strip())
            return True
        if choice is None and word.startswith("+"):
            return await self._move(_advance(line[1:]))
        payload = read_payload(rest.strip() or None, "the payload")
        if choice is not None:
            return await self._move(lambda now: choice.play(now, payload))
        return await self._move(lambda now: now.send(word, payload))

    def _chosen(self, word: str) -> PlayerChoice | None:
        """Find the choice for a number or a name; names of the chart precede commands. Raises UsageError."""
        if not word.isdecimal():
            return next((each for each in self._choices if each.name == word), None)
        if not 0 < int(word) <= len(self._choices):
            numbers = f"type 1 to {len(self._choices)}" if self._choices else "nothing can happen any more; type back"
            raise UsageError(f"there is no {word}; {numbers}")
        return self._choices[int(word) - 1]

    async def _move(self, move: simulation.Move) -> bool:
        outcome = await self._game.play(move)
        if outcome is not None and outcome.refusal is not None:
            self._unbound.acted.clear()
            print_error(agent_views.refusal_text(outcome.event, outcome.refusal))
            return False
        await self._show()
        return True

    async def _back(self, _rest: str) -> None:
        await self._game.back()
        self._unbound.acted.clear()
        self._seen = self._game.now.snapshot.version
        await self._show()

    async def _show_again(self, _rest: str) -> None:
        await self._show()

    async def _show_context(self, _rest: str) -> None:
        (print_json_line if self._settings.json else print_document)(self._game.now.context.model_dump(mode="json"))

    async def _help(self, _rest: str) -> None:
        self._print_text(HELP)

    async def _draw(self, rest: str) -> None:
        now = self._game.now
        file = Path(rest) if rest else Path(mkdtemp(prefix="gatechart-")) / "chart.svg"
        trail = await now.agent.history()
        path = await drawing.draw_async(now.runtime.graph_of(now.snapshot), file, highlight=now.snapshot, trail=trail)
        self._print_text(f"drew {self._graph.name} to {path}")
        if not rest and not self._lines.is_script:
            typer.launch(str(path))

    def _print_text(self, text: str) -> None:
        """Print a text; with --json on stderr, because stdout has lines of JSON."""
        (print_hint if self._settings.json else print_line)(text)

    async def _show(self) -> None:
        """Show the turns since the last call, and the possible next steps."""
        now = self._game.now
        entries = await now.agent.history(after=self._seen)
        acted = tuple(self._unbound.acted)
        self._unbound.acted.clear()
        self._seen = now.snapshot.version
        self._choices = await simulation.choices_of(now, self._graph)
        if self._settings.json:
            print_json_line({"turns": list(map(agent_views.entry_document, entries)), **self._document(acted)})
            return
        print_line()
        for entry in entries:
            print_line(agent_views.turn_text(entry))
        if acted:
            print_line(Text(f"  not bound, so not run: {', '.join(acted)}", "dim"))
        print_facts(await self._facts())
        if self._choices:
            print_table(("", "EVENT", "AGREES", "LEADS TO", "IF", "WHY NOT"), self._rows(), whole=("",))

    async def _facts(self) -> list[tuple[str, Cell]]:
        now = self._game.now
        state = Text(", ".join(now.leaves), "bold")
        passed = now.clock.at - self._begun
        clock = zoned_text(now.clock.at) + (f", {age_text(passed)} after the start" if passed else "")
        deferred = await simulation.deferred_in(now)
        ended = now.snapshot.status is not Status.ACTIVE
        return [
            ("state", state),
            *([("status", status_text(now.snapshot.status))] if ended else []),
            ("time", clock),
            *([("deferred", ", ".join(deferred))] if deferred else []),
        ]

    def _rows(self) -> Iterator[Sequence[Cell]]:
        for number, choice in enumerate(self._choices, 1):
            for place, (event, *others) in enumerate(agent_views.accepted_rows(choice.asked)):
                yield (str(number), _label(choice), *others) if place == 0 else ("", event, *others)

    def _document(self, acted: Sequence[str]) -> Document:
        now = self._game.now
        return {
            "state": now.leaves,
            "status": now.snapshot.status,
            "elapsed_s": (now.clock.at - self._begun).total_seconds(),
            "context": now.context.model_dump(mode="json"),
            "not_bound": acted,
            "choices": [
                {
                    "number": number,
                    "event": each.name,
                    "agrees": each.asked.agrees,
                    "deferred": each.asked.deferred,
                    "due_s": each.due_s,
                }
                for number, each in enumerate(self._choices, 1)
            ],
        }


def _advance(delay: str) -> simulation.Move:
    async def advance(now: Rehearsal[Any]) -> Outcome | None:
        try:
            await now.advance(delay)
        except ValueError as error:
            raise UsageError(str(error)) from None
        return None

    return advance


def _label(choice: PlayerChoice) -> str:
    if choice.due_s is None:
        return choice.name
    return f"{choice.name}, in {age_text(timedelta(seconds=choice.due_s)) if choice.due_s >= 1 else 'a moment'}"
