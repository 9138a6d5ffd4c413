"""Commands for all agents of a store: they are brought to other versions of their graphs, the past is forgotten."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import Annotated, Final

import typer
from rich.text import Text

from gatechart.cli.apps import load_graphs
from gatechart.cli.errors import ExitCode, UsageError
from gatechart.cli.hosting import check_there, visit
from gatechart.cli.inputs import read_age, read_duration
from gatechart.cli.options import Settings
from gatechart.cli.output import (
    Cell,
    Document,
    is_confirmed,
    print_document,
    print_hint,
    print_line,
    print_table,
    working,
)
from gatechart.runtime import Runtime
from gatechart.stores import upgrade_store
from gatechart.values import (
    Fate,
    Forgotten,
    Migrated,
    Role,
    Status,
)


def migrated_document(migrated: Migrated) -> Document:
    """What becomes of a stored agent; its `problem` is null unless it is stuck."""
    document = {field.name: getattr(migrated, field.name) for field in fields(migrated)}
    return {**document, "fate": migrated.fate.value}


DryRunOption = Annotated[bool, typer.Option("--dry-run", metavar="", help="Only tell, and change nothing.")]
OlderOption = Annotated[
    str | None,
    typer.Option(
        "--older-than",
        metavar="AGE|MOMENT",
        help="All that can go: as if it were given with each of the next three.",
        show_default=False,
    ),
]
EndedOption = Annotated[
    str | None,
    typer.Option(
        "--ended-before", metavar="AGE|MOMENT", help="Agents that have ended, with all they had.", show_default=False
    ),
]
TurnsOption = Annotated[
    str | None,
    typer.Option("--turns-before", metavar="AGE|MOMENT", help="Turns of the other agents.", show_default=False),
]
MailOption = Annotated[
    str | None, typer.Option("--mail-before", metavar="AGE|MOMENT", help="Refused and dead mail.", show_default=False)
]
KeepTurnsOption = Annotated[
    int | None,
    typer.Option("--keep-turns", min=1, metavar="NUMBER", help="Turns beyond so many newest.", show_default=False),
]
IdsOption = Annotated[
    str, typer.Option("--ids-for", metavar="DURATION", help="How long a repeated event id is to be recognised.")
]


class Ended(StrEnum):
    """How an agent has ended."""

    DONE = Status.DONE.value
    FAILED = Status.FAILED.value
    STOPPED = Status.STOPPED.value


EndingOption = Annotated[
    Ended | None, typer.Option("--status", help="Of the agents that have ended, only these.", show_default=False)
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", metavar="", help="Do not ask.")]
_STYLES: Final = {Fate.STAYS: "dim", Fate.CHANGED: "yellow", Fate.MIGRATES: "green", Fate.STUCK: "bold red"}


async def migrate_agents(settings: Settings, dry_run: DryRunOption = False) -> ExitCode | None:
    """Bring stored agents to the newest version of their graphs.

    An agent whose version the app still has stays on it. Any other goes to the newest version, as that one's migrations
    lead; all that it has, its timers, mail and invokes, goes with it. Agents that fit nowhere stay as they are, the
    others go on, and the exit code is 1. Agents migrate by themselves when they are needed; this does it ahead.

    With --dry-run, tell what would become of every agent. That works while another process hosts them, too.

    Examples:
      gatechart migrate --dry-run
      gatechart migrate
      gatechart migrate --dry-run --json | jq '.agents[] | select(.fate == "stuck")'
    """
    graphs = load_graphs(settings.app)
    await check_there(settings)
    if dry_run:
        async with Runtime.open(settings.store, graphs=graphs, role=Role.READER) as runtime:
            found = [each async for each in runtime.migrate(dry_run=True)]
    else:
        async with visit(settings, graphs) as runtime:
            found = [each async for each in runtime.migrate()]
    counts = Counter(each.fate for each in found)
    if settings.json:
        numbers = {fate.value: counts[fate] for fate in Fate}
        print_document({"dry_run": dry_run, "agents": list(map(migrated_document, found)), "counts": numbers})
    else:
        _print_fates(found, counts, dry_run=dry_run)
    return ExitCode.REFUSED if counts[Fate.STUCK] else None


async def prune_store(
    settings: Settings,
    older_than: OlderOption = None,
    ended_before: EndedOption = None,
    status: EndingOption = None,
    turns_before: TurnsOption = None,
    mail_before: MailOption = None,
    keep_turns: KeepTurnsOption = None,
    ids_for: IdsOption = "7d",
    yes: YesOption = False,
    dry_run: DryRunOption = False,
) -> None:
    """Forget the past: agents that have ended, old turns, refused and dead mail.

    Say what may go. The newest turn of every agent stays, and all turns from the oldest on whose event id is still to
    be recognised when it repeats. What is forgotten cannot be brought back.

    Ages are written like 12h or 90d, moments like 2026-07-01.

    With --dry-run, tell how much would go. That works while another process hosts the agents, too.

    Examples:
      gatechart prune --older-than 90d
      gatechart prune --older-than 90d --dry-run
      gatechart prune --ended-before 30d --status done --keep-turns 1000 --yes
    """
    ended, turns, mail = (
        read_age(option, given) if given is not None else read_age("--older-than", older_than)
        for option, given in (
            ("--ended-before", ended_before),
            ("--turns-before", turns_before),
            ("--mail-before", mail_before),
        )
    )
    if keep_turns is None and ended is None and turns is None and mail is None:
        raise UsageError("say what may go: --older-than 90d for all that is older, or more exactly; see --help")
    if status is not None and ended is None:
        raise UsageError("--status says which of the agents that ended go: add --ended-before or --older-than")
    kept = read_duration("--ids-for", ids_for)
    await check_there(settings)
    goes = {
        f"agents that {'ended' if status is None else f'are {status.value} and ended'}": ended_before or older_than,
        "turns": turns_before or older_than,
        "turns beyond the newest": None if keep_turns is None else str(keep_turns),
        "refused and dead mail": mail_before or older_than,
    }
    if not (yes or dry_run or _is_meant(settings, goes)):
        print_hint("nothing was forgotten")
        return
    opened = Runtime.open(settings.store, graphs=(), role=Role.READER) if dry_run else visit(settings)
    async with opened as runtime:
        with working("forgetting") as tell:
            done = await runtime.prune(
                ended_before=ended,
                status=None if status is None else status.value,
                turns_before=turns,
                keep_turns=keep_turns,
                mail_before=mail,
                ids_for=kept,
                on_progress=lambda so_far: tell(f"forgotten: {_amount(so_far)}"),
                dry_run=dry_run,
            )
    _print_forgotten(settings, done, dry_run=dry_run)


def _print_forgotten(settings: Settings, done: Forgotten, *, dry_run: bool) -> None:
    if settings.json:
        print_document({"dry_run": dry_run, "agents": done.agents, "turns": done.turns, "mail": done.mail})
    elif dry_run:
        print_line(f"would be forgotten: {_amount(done)}")
        print_hint("nothing was changed: this was a dry run")
    else:
        print_line(f"forgotten: {_amount(done)}")


def _is_meant(settings: Settings, goes: Mapping[str, str | None]) -> bool:
    """Whether whoever sits at the terminal says so. goes: what, with its bound. Raises UsageError where nobody sits."""
    if settings.json or not sys.stdin.isatty():
        raise UsageError("nobody can be asked whether this is meant; add --yes")
    bounds = [(what, bound) for what, bound in goes.items() if bound is not None]
    told = "; ".join(f"{what} {'' if bound.isdigit() else 'before '}{bound}" for what, bound in bounds)
    return is_confirmed(f"Forget for good in {settings.store}: {told}?")


def _amount(forgotten: Forgotten) -> str:
    counts = ((forgotten.agents, "agent"), (forgotten.turns, "turn"), (forgotten.mail, "mail"))
    return ", ".join(f"{count:,} {what}{'s' * (count != 1)}" for count, what in counts)


def _print_fates(found: Sequence[Migrated], counts: Mapping[Fate, int], *, dry_run: bool) -> None:
    if found:
        columns = ("AGENT", "FATE", "GRAPH", "STATE, WHAT ELSE CHANGES")
        print_table(columns, map(_fate_row, found), whole=("AGENT", "FATE"))
        print_line()
    told = ", ".join(f"{counts[fate]:,} {_MEANINGS[fate]}" for fate in Fate if counts[fate])
    print_line(f"{len(found):,} agent{'s' * (len(found) != 1)}{f': {told}' if told else ''}")
    if dry_run and counts[Fate.MIGRATES]:
        print_hint("nothing was changed: this was a dry run")


_MEANINGS: Final = {
    Fate.STAYS: "on a version that the app has",
    Fate.CHANGED: "on one that was changed without a new version",
    Fate.MIGRATES: "to the newest",
    Fate.STUCK: "stuck",
}


def _fate_row(migrated: Migrated) -> Sequence[Cell]:
    before, after = migrated.before, migrated.after
    versions = before if before == after else f"{before} → {after}"
    source, target = ", ".join(migrated.source), ", ".join(migrated.target)
    told = Text(source if source == target else f"{source} → {target}")
    if migrated.problem is not None:
        told.append(f"\n{migrated.problem}", "red")
    told.append("".join(f"\n  {change}" for change in _changes(migrated)), "dim")
    fate = Text(migrated.fate.value, _STYLES[migrated.fate])
    return migrated.agent_id, fate, f"{migrated.graph} {versions}", told


def _changes(migrated: Migrated) -> Iterator[str]:
    counts = (
        (migrated.mail_amended, "timers and mail amended"),
        (migrated.mail_ended, "timers and mail dropped"),
        (migrated.timers_begun, "timers set"),
        (migrated.invokes_kept, "invokes go on with their steps"),
        (migrated.invokes_ended, "invokes end"),
        (migrated.invokes_begun, "invokes begin"),
    )
    return (f"{what}: {count}" for count, what in counts if count)


async def upgrade_database(settings: Settings) -> None:
    """Bring the database to the schema of this gatechart.

    Any other command that needs it asks for it. End the runtime that owns the database first, and keep a backup.

    Examples:
      gatechart upgrade --store sqlite+aiosqlite:///agents.db
    """
    before, after = await upgrade_store(settings.store)
    if settings.json:
        print_document({"store": settings.store, "before": before, "after": after})
    elif before == after:
        print_line(f"{settings.store} has the newest schema already, {after}")
    else:
        print_line(f"{settings.store} was brought from {before or 'an empty database'} to the schema {after}")
