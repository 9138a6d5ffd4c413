"""Commands for the directory: list, show, choose, register, deregister, pin, exclude, close, open, rate, forget."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from gatechart.cli.completion import complete_entries, complete_graphs
from gatechart.cli.errors import UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import TIMEOUT_S, ServerOption, Settings, TimeoutOption, duration_option, read_json
from gatechart.cli.output import Cell, emit, in_zone, moment_text, print_facts, print_hint, print_page, print_table
from gatechart.cli.reading import LimitOption
from gatechart.errors.event import UnknownEntryError
from gatechart.values.delays import LONGEST_S
from gatechart.values.directory import DirectoryEntry, Mark, WorkOutcome
from gatechart.values.handoffs import Reason
from gatechart.values.profiles import HIGHEST_CAPACITY, HIGHEST_TIER, Choice, Needs

if TYPE_CHECKING:
    from gatechart import handoff
    from gatechart.api import arguments, codec, descriptions
    from gatechart.api import directory as verbs
    from gatechart.api.home import AgentHome
    from gatechart.cli import connection, dry_runs, handoff_views, loading
    from gatechart.graph.graph import AnyGraph
    from gatechart.hosting import registry
else:
    arguments, codec, connection, descriptions, dry_runs, handoff, handoff_views, loading, registry, verbs = late(
        "gatechart.api.arguments",
        "gatechart.api.codec",
        "gatechart.cli.connection",
        "gatechart.api.descriptions",
        "gatechart.cli.dry_runs",
        "gatechart.handoff",
        "gatechart.cli.handoff_views",
        "gatechart.cli.loading",
        "gatechart.hosting.registry",
        "gatechart.api.directory",
    )

_MOST_OUTCOMES: Final = 10  # outcomes shown of an entry

EntryArgument = Annotated[
    str,
    typer.Argument(metavar="ENTRY", help="The id of the entry.", show_default=False, autocompletion=complete_entries),
]
NewEntryArgument = Annotated[
    str, typer.Argument(metavar="ENTRY", help="An id for the entry, such as a person's name.", show_default=False)
]
HandoffArgument = Annotated[str, typer.Argument(metavar="HANDOFF", help="The id of the handoff.", show_default=False)]
GraphArgument = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH",
        autocompletion=complete_graphs,
        help="The graph whose agents take the work.",
        show_default=False,
    ),
]
AtOption = Annotated[
    str, typer.Option("--at", metavar="ENTRY_POINT", help="The entry point at which work starts.", show_default=False)
]
AgentOption = Annotated[
    str, typer.Option("--agent", metavar="AGENT", help="An existing agent that takes the work. Default: a new one.")
]
CanOption = Annotated[
    list[str] | None, typer.Option("--can", metavar="CAPABILITY", help="A capability; may be repeated.")
]
DomainOption = Annotated[
    list[str] | None, typer.Option("--domain", metavar="DOMAIN", help="A domain, such as refunds; may be repeated.")
]
TierOption = Annotated[int | None, typer.Option("--tier", min=1, max=HIGHEST_TIER, metavar="NUMBER", help="A tier.")]
LanguageOption = Annotated[
    list[str] | None, typer.Option("--language", metavar="CODE", help="A language, such as de; may be repeated.")
]
ProfileOption = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="JSON|@FILE|-",
        help="The whole profile as a JSON object, including samples and hours. Other options override its fields.",
        show_default=False,
    ),
]
TextOption = Annotated[str, typer.Option("--text", metavar="TEXT", help="The purpose of the entry, in words.")]
CapacityOption = Annotated[
    int | None,
    typer.Option(
        "--capacity",
        min=0,
        max=HIGHEST_CAPACITY,
        metavar="NUMBER",
        help="How many pieces of work the entry takes at once.",
    ),
]
PersonOption = Annotated[bool, typer.Option("--person", help="The entry is a person.")]
LastsOption = Annotated[
    float | None,
    duration_option(
        "--lasts", 0.001, "How long the entry stays registered unless renewed, such as 5m.", most_s=LONGEST_S
    ),
]
RegistrantOption = Annotated[str, typer.Option("--registrant", metavar="NAME", help="Who registers the entry.")]
ProblemOption = Annotated[str, typer.Option("--problem", metavar="TEXT", help="The task, in words.")]
OfOption = Annotated[
    str | None,
    typer.Option(
        "--of",
        metavar="GRAPH",
        autocompletion=complete_graphs,
        help="Choose like the handoffs of this graph: by their rules and order, then by their fallbacks.",
        show_default=False,
    ),
]
WorkReasonOption = Annotated[
    Reason | None,
    typer.Option("--reason", metavar="REASON", help="Why work is handed on, such as 'knowledge gap'; needs --of."),
]
UserArgument = Annotated[str, typer.Argument(metavar="USER", help="The id of the user.", show_default=False)]
ReasonOption = Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason, shown in the directory.")]
AfterOption = Annotated[
    str | None, typer.Option("--after", metavar="ENTRY", help="Only entries after this one.", show_default=False)
]
NeededOption = Annotated[
    bool | None, typer.Option("--needed/--needless", help="Whether it was right to hand the work on.")
]
InTimeOption = Annotated[
    bool | None, typer.Option("--in-time/--late", help="Whether the work was handed on soon enough.")
]
QualityOption = Annotated[
    float | None,
    typer.Option("--quality", min=0, max=1, metavar="NUMBER", help="The quality of the work, from 0 to 1."),
]


async def list_directory(
    settings: Settings, after: AfterOption = None, limit: LimitOption = 100, server: ServerOption = None
) -> None:
    """List the targets for handoffs: entry points with profiles, people, and agents of other programs.

    Each target is listed with its open work, its availability, and its performance. Without an app, only stored entries
    are known.

    Examples:
      gatechart directory
      gatechart directory show refunds.REVIEWING
      gatechart directory register anna human_desk --at NORMAL --person --tier 3 --can talk --capacity 4
      gatechart directory close refunds.REVIEWING --reason stocktaking
      gatechart directory open refunds.REVIEWING
      gatechart directory --server http://127.0.0.1:8700
    """
    async with looked_at(settings, server) as home:
        entries = await home.directory(after=after, limit=limit + 1)
    print_page(settings, "entries", entries, limit, _document, _print, key="id")


async def show_entry(settings: Settings, who: EntryArgument, server: ServerOption = None) -> None:
    """Show an entry of the directory: its profile, its current work, and the outcomes of its latest work.

    Examples:
      gatechart directory show refunds.REVIEWING
      gatechart directory show anna --json
    """
    async with looked_at(settings, server) as home:
        entries = await home.directory(who)
    if not entries:
        raise UnknownEntryError(who)
    emit(settings, _document(entries[0]), lambda: _show(entries[0]))


async def register_entry(
    settings: Settings,
    who: NewEntryArgument,
    graph: GraphArgument,
    at: AtOption,
    agent: AgentOption = "",
    can: CanOption = None,
    domain: DomainOption = None,
    tier: TierOption = None,
    language: LanguageOption = None,
    profile: ProfileOption = None,
    text: TextOption = "",
    capacity: CapacityOption = None,
    person: PersonOption = False,
    lasts: LastsOption = None,
    registrant: RegistrantOption = "",
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
    server: ServerOption = None,
) -> None:
    """Register a person or an agent as a target for handoffs, or renew and change the entry.

    Work for the entry starts at an entry point of a graph of the app. That entry point supplies the defaults of the
    profile.

    Examples:
      gatechart directory register anna human_desk --at NORMAL --person --tier 3 --can talk --capacity 4
      gatechart directory register crm-bot bridge --at ASKED --domain invoices --lasts 5m --registrant crm
      gatechart directory register bert human_desk --at NORMAL --person --profile @bert.json
    """
    given = read_json("--profile", profile) if profile is not None else {}
    if not isinstance(given, dict):
        raise UsageError('--profile takes a JSON object, such as \'{"capabilities": ["talk"]}\'')
    own = {"capabilities": can, "domains": domain, "tier": tier, "languages": language}
    whole = given | {name: option for name, option in own.items() if option}
    fields: dict[str, Any] = {
        "id": who,
        "graph": graph,
        "at": at,
        "agent": agent,
        "profile": whole,
        "text": text,
        "capacity": capacity,
        "is_person": person,
        "lasts": lasts,
        "registrant": registrant,
    }

    async def register(home: AgentHome) -> DirectoryEntry:
        entry: DirectoryEntry = await home.execute(arguments.made(verbs.RegisterEntryCommand, **fields))
        return entry

    await _do(settings, register, timeout, server)


async def deregister_entry(
    settings: Settings,
    who: EntryArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
    server: ServerOption = None,
) -> None:
    """Remove a registered entry from the directory. Its current work continues.

    Examples:
      gatechart directory deregister anna
    """
    await _execute(settings, lambda home: home.deregister_entry(who), timeout, server)
    emit(settings, {"id": who, "deregistered": True}, f"{who} was deregistered")


async def pin_entry(
    settings: Settings,
    who: EntryArgument,
    reason: ReasonOption = "",
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
    server: ServerOption = None,
) -> None:
    """Pin an entry, so that it is chosen before all others that fit the work.

    Examples:
      gatechart directory pin anna --reason 'she knows the new tariff'
    """
    await _do(settings, lambda home: home.mark_entry(who, Mark.PINNED, reason=reason), timeout, server)


async def exclude_entry(
    settings: Settings,
    who: EntryArgument,
    reason: ReasonOption = "",
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
    server: ServerOption = None,
) -> None:
    """Exclude an entry from being chosen. Handoffs that name the entry still reach it.

    Examples:
      gatechart directory exclude crm-bot --reason 'it guesses'
    """
    await _do(settings, lambda home: home.mark_entry(who, Mark.EXCLUDED, reason=reason), timeout, server)


async def close_entry(
    settings: Settings,
    who: EntryArgument,
    reason: ReasonOption = "",
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
    server: ServerOption = None,
) -> None:
    """Close an entry to new work. Its current work continues.

    Examples:
      gatechart directory close refunds.REVIEWING --reason stocktaking
    """
    await _do(settings, lambda home: home.mark_entry(who, Mark.CLOSED, reason=reason), timeout, server)


async def open_entry(
    settings: Settings,
    who: EntryArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
    server: ServerOption = None,
) -> None:
    """Undo `pin`, `exclude` or `close` of an entry.

    Examples:
      gatechart directory open refunds.REVIEWING
    """
    await _do(settings, lambda home: home.mark_entry(who, Mark.NONE), timeout, server)


async def choose_entry(
    settings: Settings,
    problem: ProblemOption = "",
    can: CanOption = None,
    domain: DomainOption = None,
    tier: TierOption = None,
    language: LanguageOption = None,
    of: OfOption = None,
    reason: WorkReasonOption = None,
    server: ServerOption = None,
) -> None:
    """Show the target that work would be handed to now, and why. Nothing is offered, and nothing is stored.

    The target is chosen as a host with the same --choosing would choose it; with --server, the server uses its own
    rules. The exit code is 0 even if there is no suitable target.

    Examples:
      gatechart directory choose --problem "I want my money back"
      gatechart directory choose --domain refunds --tier 2
      gatechart directory choose --can process_refund --json
      gatechart directory choose --of reception --problem "I want my money back" --reason 'knowledge gap'
      gatechart directory choose --problem "I want my money back" --choosing myapp:choosing
    """
    needs = needs_given(can, domain, tier, language)
    packet = handoff.HandoffPacket(current_problem=problem, reason=reason or Reason.OTHER)
    if of is not None:
        graph = registry.Registry(known_graphs(settings)).graph(of)
        async with looked_at(settings, server) as home:
            runs = await dry_runs.dry_runs(home, graph, packet, needs)
        dry_run_document: dict[str, object] = {"graph": graph.name, "handoffs": [run.document for run in runs]}
        emit(settings, dry_run_document, lambda: dry_runs.show(runs))
        return
    if reason is not None:
        raise UsageError("--reason is for the rules of a graph; add --of GRAPH")
    async with looked_at(settings, server) as home:
        choice = await home.choose(packet, needs=needs)
    document: dict[str, object] = codec.CHOICE.plain(choice)
    emit(settings, document, lambda: _explain(choice))


async def forget_user(
    settings: Settings,
    user: UserArgument,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
    server: ServerOption = None,
) -> None:
    """Delete the directory's data about a user. Counters keep their values.

    Examples:
      gatechart directory forget ada
    """
    await _execute(settings, lambda home: home.forget_user(user), timeout, server)
    emit(settings, {"user": user, "forgotten": True}, f"the data about {user} was deleted")


async def rate_handoff(
    settings: Settings,
    rated: HandoffArgument,
    needed: NeededOption = None,
    in_time: InTimeOption = None,
    quality: QualityOption = None,
    timeout: TimeoutOption = TIMEOUT_S,  # noqa: ASYNC109
    server: ServerOption = None,
) -> None:
    """Rate a handoff, and the work that followed it.

    Examples:
      gatechart directory rate HANDOFF --needed --in-time --quality 0.9
      gatechart directory rate HANDOFF --needless
    """
    given = {"needed": needed, "in_time": in_time, "quality": quality}
    if all(value is None for value in given.values()):
        raise UsageError("give a rating: --needed or --needless, --in-time or --late, --quality NUMBER")
    await _execute(settings, lambda home: home.rate_handoff(rated, **given), timeout, server)  # type: ignore[arg-type]
    emit(settings, {"handoff": rated} | given, f"the handoff {rated} was rated")


@asynccontextmanager
async def looked_at(settings: Settings, server: str | None) -> AsyncIterator[AgentHome]:
    """Open a server, which chooses by its own Choosing, or else the database, for reading only."""
    if server is not None:
        async with connection.elsewhere(server, None, "") as home:
            yield home
        return
    async with connection.inspect_directory(settings, known_graphs(settings)) as runtime:
        yield runtime


def needs_given(can: list[str] | None, domain: list[str] | None, tier: int | None, language: list[str] | None) -> Needs:
    """Return the needs of work that the options declare."""
    return Needs(tuple(can or ()), tuple(domain or ()), tier or 0, tuple(language or ()))


def known_graphs(settings: Settings) -> tuple[AnyGraph, ...]:
    """Load the graphs of the app; without an app, print a hint and return none."""
    if loading.find_app(settings.app) is not None:
        return loading.load_graphs(settings)
    print_hint("without an app, the entry points of its graphs are unknown; name it with --app")
    return ()


async def _do(
    settings: Settings,
    verb: Callable[[AgentHome], Awaitable[DirectoryEntry]],
    timeout_s: float,
    server: str | None,
) -> None:
    """Change an entry, and print its new state."""

    async def change(home: AgentHome) -> None:
        entry = await verb(home)
        emit(settings, _document(entry), lambda: _print([entry]))

    await _execute(settings, change, timeout_s, server)


async def _execute(
    settings: Settings, verb: Callable[[AgentHome], Awaitable[object]], timeout_s: float, server: str | None
) -> None:
    if server is not None:
        async with asyncio.timeout(timeout_s), connection.elsewhere(server, None, "") as home:
            await verb(home)
        return
    graphs = loading.load_graphs(settings)
    await connection.execute(settings, graphs, lambda reached: verb(reached.home), timeout_s=timeout_s)


def _document(entry: DirectoryEntry) -> dict[str, object]:
    document: dict[str, object] = codec.ENTRY.plain(entry)
    return document


def _print(entries: Sequence[DirectoryEntry]) -> None:
    headings = ("ENTRY", "WORK STARTS", "CAN", "TIER", "WORK", "PERFORMANCE", "AVAILABLE")
    print_table(headings, map(_row, entries))


def _row(entry: DirectoryEntry) -> Sequence[Cell]:
    candidate = entry.candidate
    profile = candidate.profile
    return (
        entry.id,
        f"{candidate.graph} at {candidate.entry_point}",
        ", ".join((*profile.capabilities, *profile.domains)),
        str(profile.level),
        descriptions.load_text(entry),
        f"{candidate.performance:.2f}",
        descriptions.availability_text(entry),
    )


def _show(entry: DirectoryEntry) -> None:
    print_facts(handoff_views.fact_cells(descriptions.entry_facts(entry)))
    if entry.outcomes:
        headings = (in_zone("ENDED"), "HANDOFF", "HOW", "USER", "FROM", "NEEDED", "IN TIME", "QUALITY")
        print_table(headings, map(_outcome, entry.outcomes[-_MOST_OUTCOMES:]), whole=("HANDOFF",))


def _outcome(outcome: WorkOutcome) -> Sequence[Cell]:
    ended, *answers = descriptions.outcome_texts(outcome)
    return (moment_text(outcome.at), outcome.handoff, ended, outcome.user, outcome.source, *answers)


def _explain(choice: Choice) -> None:
    chosen = "nobody" if choice.candidate is None else choice.candidate.id
    handoff_views.print_choice(choice.explanation, [("chosen", chosen)])
