"""The command that takes all agents of a store to another home."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gatechart.cli.documents import Document
from gatechart.cli.errors import ExtraMissingError, UsageError
from gatechart.cli.hosting import check_there
from gatechart.cli.options import Settings
from gatechart.cli.printing import print_document, print_facts, print_hint, print_line, working
from gatechart.cli.restate_commands import NamespaceOption

if TYPE_CHECKING:
    from gatechart.restate.migration import Moved

ToOption = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="URL",
        help="Where they go: the address at which an engine takes calls (http://127.0.0.1:8080).",
        show_default=False,
    ),
]
TurnsOption = Annotated[
    int | None,
    typer.Option(
        "--turns",
        min=1,
        metavar="NUMBER",
        help="Of each agent's history take only the newest turns along; the rest stays in the old database.",
        show_default=False,
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", metavar="", help="Only check and tell, and change nothing.")]


async def move_agents(
    settings: Settings,
    to: ToOption,
    namespace: NamespaceOption = "",
    turns: TurnsOption = None,
    dry_run: DryRunOption = False,
) -> None:
    """Take all agents of the --store to Restate, for good.

    End the host first (`gatechart run` and its like), and have `gatechart restate serve` run, registered with the
    engine. Agents go with all that they need: mail, timers, invokes with their recorded steps, handoffs as they stand,
    event ids; and with their history, where the service projects turns. All is checked before anything is moved,
    and compared, by count and digest, before anything begins there. Then the old database is sealed: it can be read,
    and nobody can run its agents any more.

    Interrupted, by Ctrl-C or a crash, run it again: it goes on. Until the database is sealed its agents live there.

    With --dry-run, tell what would be moved. That works while a host runs, too.

    Examples:
      gatechart move --to http://127.0.0.1:8080 --dry-run
      gatechart move --store sqlite+aiosqlite:///agents.db --to http://127.0.0.1:8080
      gatechart move --to http://restate:8080 --namespace shop --turns 1000 --json
    """
    if not to.startswith(("http://", "https://")):
        raise UsageError(
            f"--to {to!r} is no address of an engine, such as http://127.0.0.1:8080; there is no move to a database"
        )
    await check_there(settings)
    moved = await _moved(settings.store, to, namespace=namespace, turns=turns, dry_run=dry_run)
    if settings.json:
        print_document(moved_document(moved))
    else:
        _print_moved(moved)


async def _moved(store: str, to: str, **how: Any) -> Moved:
    """What was moved. Where it is interrupted, the KeyboardInterrupt says how to go on."""
    try:
        with working("looking") as tell:
            moved: Moved = await _mover().move_to_engine(
                store, to, tell=lambda doing, done, total: tell(f"{doing}: {done:,} of {total:,} agents"), **how
            )
    except asyncio.CancelledError:
        raise KeyboardInterrupt("the move is not finished: run it again, and it goes on") from None
    return moved


def _mover() -> Any:
    """The module, which needs what not everybody installs. Raises ExtraMissingError."""
    try:
        return import_module("gatechart.restate.migration.move")
    except ModuleNotFoundError as error:
        raise ExtraMissingError("move", "restate", error.name or "a package") from error


def moved_document(moved: Moved) -> Document:
    """A move as JSON values. One that was made before only tells when, and who goes on only now."""
    about = {"dry_run": moved.is_dry, "source": moved.source, "to": moved.to, "awakened": moved.awakened}
    if moved.before is not None:
        return {**about, "moved_before": moved.before}
    return {
        **about,
        "agents": moved.agents,
        "ended": moved.ended,
        "yet_to_begin": moved.unborn,
        "mail": moved.mail,
        "invokes": moved.invokes,
        "steps": moved.steps,
        "places": moved.places,
        "turns": moved.turns,
        "turns_left": moved.turns_left,
        "were_there": moved.were_there,
        "digest": moved.digest,
    }


def _print_moved(moved: Moved) -> None:
    if moved.before is not None:
        print_line(f"{moved.source} was moved to {moved.to} at {moved.before:%Y-%m-%d %H:%M:%S} UTC")
        if moved.awakened:
            print_line(f"{_count(moved.awakened, 'agent')} that still slept there go on now")
        return
    print_line(f"{'would be moved' if moved.is_dry else 'moved'} from {moved.source} to {moved.to}:")
    print_facts(_facts(moved))
    if moved.is_dry:
        print_hint("nothing was changed: this was a dry run")
    else:
        print_hint(f"{moved.source} is kept for reading, and can be thrown away when nobody needs it")


def _facts(moved: Moved) -> Iterator[tuple[str, str]]:
    more = [f"{moved.ended:,} of them ended"] * bool(moved.ended)
    more += [f"{moved.were_there:,} brought before"] * bool(moved.were_there)
    more += [f"{moved.unborn:,} more yet to begin"] * bool(moved.unborn)
    yield "agents", f"{moved.agents:,}" + (f" ({', '.join(more)})" if more else "")
    yield "mail", f"{moved.mail:,}, timers included"
    yield "invokes", f"{moved.invokes:,} open, with {_count(moved.steps, 'recorded step')}"
    yield "places", f"{moved.places:,} held"
    if not moved.is_dry:
        left = f"; {moved.turns_left:,} stay in the old database" if moved.turns_left else ""
        yield "history", f"{_count(moved.turns, 'turn')}{left}"
    yield "digest", f"{moved.digest[:16]}{'' if moved.is_dry else ', the same on both sides'}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
