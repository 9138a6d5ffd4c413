"""Commands for the whole store: migrate its agents, prune its history, upgrade its schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.text import Text

from gatechart.cli.errors import ExitCode, UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import Settings, YesOption, read_age, read_duration
from gatechart.cli.output import (
    Cell,
    Document,
    emit,
    is_confirmed,
    print_hint,
    print_line,
    print_table,
    working,
)
from gatechart.values.agents import Status
from gatechart.values.migrations import Fate, Migrated
from gatechart.values.queries import Forgotten

if TYPE_CHECKING:
    from gatechart import stores
    from gatechart.cli import connection, loading
else:
    connection, loading, stores = late("gatechart.cli.connection", "gatechart.cli.loading", "gatechart.stores")


def migrated_document(migrated: Migrated) -> Document:
    """Describe a stored agent's migration; `problem` is null unless the agent cannot be migrated."""
    document = {field.name: getattr(migrated, field.name) for field in fields(migrated)}
    return {**document, "fate": migrated.fate.value}


DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only print the planned changes.")]
OlderOption = Annotated[
    str | None,
    typer.Option(
        "--older-than",
        metavar="AGE|MOMENT",
        help="Set --ended-before, --turns-before and --mail-before to this.",
        show_default=False,
    ),
]
EndedOption = Annotated[
    str | None,
    typer.Option(
        "--ended-before",
        metavar="AGE|MOMENT",
        help="Delete agents that ended before this, with their history and mail.",
        show_default=False,
    ),
]
TurnsOption = Annotated[
    str | None,
    typer.Option(
        "--turns-before",
        metavar="AGE|MOMENT",
        help="Delete turns of active agents that are older than this.",
        show_default=False,
    ),
]
MailOption = Annotated[
    str | None,
    typer.Option(
        "--mail-before",
        metavar="AGE|MOMENT",
        help="Delete refused and dead mail that is older than this.",
        show_default=False,
    ),
]
KeepTurnsOption = Annotated[
    int | None,
    typer.Option(
        "--keep-turns", min=1, metavar="NUMBER", help="Keep only this many turns of each agent.", show_default=False
    ),
]
IdsOption = Annotated[
    str,
    typer.Option(
        "--ids-for", metavar="DURATION", help="Keep turns for this long, so that a repeated event id is recognised."
    ),
]


class EndedStatus(StrEnum):
    """The statuses of an ended agent."""

    DONE = Status.DONE.value
    FAILED = Status.FAILED.value
    STOPPED = Status.STOPPED.value


EndingOption = Annotated[
    EndedStatus | None, typer.Option("--status", help="Delete only ended agents with this status.", show_default=False)
]
_STYLES: Final = {Fate.STAYS: "dim", Fate.CHANGED: "yellow", Fate.MIGRATES: "green", Fate.STUCK: "bold red"}


async def migrate_agents(settings: Settings, dry_run: DryRunOption = False) -> ExitCode | None:
    """Migrate stored agents to the newest version of their graphs.

    An agent stays on its graph version while the app has that version. Any other agent is migrated to the newest
    version, by the migrations of that version, together with its timers, mail and invokes. An agent that cannot be
    migrated stays unchanged, and the exit code is 1. Agents also migrate when they are next used; this command migrates
    them ahead of time.

    --dry-run prints the fate of each agent. It works while a host is running.

    Examples:
      gatechart migrate --dry-run
      gatechart migrate
      gatechart migrate --dry-run --json | jq '.agents[] | select(.fate == "stuck")'
    """
    graphs = loading.load_graphs(settings)
    await connection.check_there(settings)
    if dry_run:
        async with connection.inspect(settings, graphs) as runtime:
            migrations = [each async for each in runtime.migrate(dry_run=True)]
    else:
        async with connection.visit(settings, graphs) as runtime:
            migrations = [each async for each in runtime.migrate()]
    counts = Counter(each.fate for each in migrations)
    numbers = {fate.value: counts[fate] for fate in Fate}
    document = {"dry_run": dry_run, "agents": list(map(migrated_document, migrations)), "counts": numbers}
    emit(settings, document, partial(_print_fates, migrations, counts, dry_run=dry_run))
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
    """Delete old data for good: agents that have ended, old turns, refused and dead mail.

    The options select the data. The newest turn of each agent is always kept, and so are turns that are younger than
    --ids-for, so that repeated event ids are recognised.

    Write an age like 12h or 90d, and a moment like 2026-07-01.

    --dry-run prints the amount to delete. It works while a host is running.

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
        raise UsageError("nothing to delete; add an option, such as --older-than 90d, or see --help")
    if status is not None and ended is None:
        raise UsageError("--status needs --ended-before or --older-than, because it selects among ended agents")
    kept = read_duration("--ids-for", ids_for)
    await connection.check_there(settings)
    bounds_by_kind = {
        f"agents that {'ended' if status is None else f'are {status.value} and ended'}": ended_before or older_than,
        "turns": turns_before or older_than,
        "turns beyond the newest": None if keep_turns is None else str(keep_turns),
        "refused and dead mail": mail_before or older_than,
    }
    if not (yes or dry_run or is_confirmed(settings, _question(settings, bounds_by_kind))):
        print_hint("nothing was deleted")
        return
    async with connection.inspect(settings) if dry_run else connection.visit(settings) as runtime:
        with working("deleting") as show_progress:
            done = await runtime.prune(
                ended_before=ended,
                status=None if status is None else status.value,
                turns_before=turns,
                keep_turns=keep_turns,
                mail_before=mail,
                ids_for=kept,
                on_progress=lambda so_far: show_progress(f"deleted: {_amount(so_far)}"),
                dry_run=dry_run,
            )
    _print_forgotten(settings, done, dry_run=dry_run)


def _print_forgotten(settings: Settings, done: Forgotten, *, dry_run: bool) -> None:
    document = {"dry_run": dry_run, "agents": done.agents, "turns": done.turns, "mail": done.mail}
    emit(settings, document, f"{'would delete' if dry_run else 'deleted'}: {_amount(done)}")
    if dry_run and not settings.json:
        print_hint("nothing was changed: this was a dry run")


def _question(settings: Settings, bounds_by_kind: Mapping[str, str | None]) -> str:
    """Return the question that confirms a deletion. goes: the bound of each kind of data."""
    bounds = [(what, bound) for what, bound in bounds_by_kind.items() if bound is not None]
    parts = "; ".join(f"{what} {'' if bound.isdigit() else 'before '}{bound}" for what, bound in bounds)
    return f"Delete for good from {settings.store}: {parts}?"


def _amount(forgotten: Forgotten) -> str:
    counts = ((forgotten.agents, "agent"), (forgotten.turns, "turn"))
    numbers = [f"{count:,} {what}{'s' * (count != 1)}" for count, what in counts]
    return ", ".join([*numbers, f"{forgotten.mail:,} mail"])


def _print_fates(migrations: Sequence[Migrated], counts: Mapping[Fate, int], *, dry_run: bool) -> None:
    if migrations:
        columns = ("AGENT", "FATE", "GRAPH", "STATE, OTHER CHANGES")
        print_table(columns, map(_fate_row, migrations), whole=("AGENT", "FATE"))
        print_line()
    parts = ", ".join(f"{counts[fate]:,} {_MEANINGS[fate]}" for fate in Fate if counts[fate])
    print_line(f"{len(migrations):,} agent{'s' * (len(migrations) != 1)}{f': {parts}' if parts else ''}")
    if dry_run and counts[Fate.MIGRATES]:
        print_hint("nothing was changed: this was a dry run")


_MEANINGS: Final = {
    Fate.STAYS: "on a version in the app",
    Fate.CHANGED: "on a version that was changed without a new number",
    Fate.MIGRATES: "to the newest version",
    Fate.STUCK: "stuck",
}


def _fate_row(migrated: Migrated) -> Sequence[Cell]:
    before, after = migrated.before, migrated.after
    versions = before if before == after else f"{before} → {after}"
    source, target = ", ".join(migrated.source), ", ".join(migrated.target)
    cell = Text(source if source == target else f"{source} → {target}")
    if migrated.problem is not None:
        cell.append(f"\n{migrated.problem}", "red")
    cell.append("".join(f"\n  {change}" for change in _changes(migrated)), "dim")
    fate = Text(migrated.fate.value, _STYLES[migrated.fate])
    return migrated.agent_id, fate, f"{migrated.graph} {versions}", cell


def _changes(migrated: Migrated) -> Iterator[str]:
    counts = (
        (migrated.mail_amended, "timers and mail amended"),
        (migrated.mail_ended, "timers and mail dropped"),
        (migrated.timers_begun, "timers set"),
        (migrated.invokes_kept, "invokes kept with their steps"),
        (migrated.invokes_ended, "invokes ended"),
        (migrated.invokes_begun, "invokes started"),
    )
    return (f"{what}: {count}" for count, what in counts if count)


async def upgrade_database(settings: Settings) -> None:
    """Upgrade the database to the schema of this release.

    Other commands report when an upgrade is needed. Stop the host first, and make a backup.

    Examples:
      gatechart upgrade --store sqlite+aiosqlite:///agents.db
    """
    before, after = await stores.upgrade_store(settings.store)
    emit(
        settings,
        {"store": settings.store, "before": before, "after": after},
        f"{settings.store} already has the newest schema, {after}"
        if before == after
        else f"upgraded {settings.store} from {before or 'an empty database'} to schema {after}",
    )
