"""The command that plays recorded histories through another version of their graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from gatechart.cli.completion import complete_agents, complete_graphs
from gatechart.cli.errors import ExitCode
from gatechart.cli.late_imports import late
from gatechart.cli.options import Settings, read_since
from gatechart.cli.output import Document, emit, in_zone, moment_text, print_hint, print_line, print_table, working
from gatechart.values.homes import Role
from gatechart.values.replays import Fidelity, ReplayedTurn

if TYPE_CHECKING:
    import pydantic_core

    from gatechart import stores
    from gatechart.cli import deployment, loading
    from gatechart.graph.graph import AnyGraph
    from gatechart.hosting import replay as replaying
else:
    pydantic_core, stores, deployment, loading, replaying = late(
        "pydantic_core",
        "gatechart.stores",
        "gatechart.cli.deployment",
        "gatechart.cli.loading",
        "gatechart.hosting.replay",
    )

_LISTED: Final = (Fidelity.DIFFERS, Fidelity.UNCLEAR)
_LONGEST: Final = 60  # characters of one side of a difference in a table; JSON has all of it
NewGraphOption = Annotated[
    str,
    typer.Option(
        "--graph",
        metavar="GRAPH",
        autocompletion=complete_graphs,
        help="The new version: a graph of the app, MODULE:ATTRIBUTE or CHART.yaml:MODULE. Earlier versions must be in "
        "the app.",
        show_default=False,
    ),
]
SinceOption = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="AGE|MOMENT",
        help="Only turns since this moment, or of this age or younger, such as 7d or 2026-07-01.",
    ),
]
AgentsOption = Annotated[
    list[str] | None,
    typer.Option("--agent", metavar="AGENT", autocompletion=complete_agents, help="Only this agent; may be repeated."),
]
MostAgentsOption = Annotated[
    int | None, typer.Option("--limit", min=1, metavar="NUMBER", help="At most this many agents, in the order started.")
]
StandInsOption = Annotated[
    str | None,
    typer.Option(
        "--stand-ins",
        metavar="MODULE:ATTRIBUTE",
        help="Services without outside effects, which actions use. The --services are never used.",
        show_default=False,
    ),
]


@dataclass(slots=True)
class _Tally:
    """The results of replaying one agent's turns."""

    agent_id: str
    counts: Counter[Fidelity] = field(default_factory=Counter)
    turns: list[ReplayedTurn] = field(default_factory=list)  # turns that differ or are unclear
    effects_unknown: int = 0
    own: int = 0  # turns with unknown effects that the replayed version recorded itself

    def add(self, turn: ReplayedTurn) -> None:
        """Count a turn."""
        self.counts[turn.fidelity] += 1
        is_unknown = turn.fidelity is not Fidelity.SKIPPED and not turn.effects_known
        self.effects_unknown += is_unknown
        self.own += is_unknown and turn.is_own_record
        if turn.fidelity in _LISTED:
            self.turns.append(turn)


async def replay_histories(
    settings: Settings,
    graph: NewGraphOption,
    since: SinceOption = None,
    agent: AgentsOption = None,
    limit: MostAgentsOption = None,
    stand_ins: StandInsOption = None,
) -> ExitCode | None:
    """Play recorded histories through a new version of a graph, and list the turns that differ.

    Each turn starts from its recorded state, migrated if the new version has migrations, and gets the recorded event,
    time and ids. Results of invokes come from the record, too. States, status, context and effects are compared. To
    compare effects, the app must have the version that recorded the turns.

    Nothing is written, sent or invoked, and the command works while a host is running. Actions run, but without their
    services: --stand-ins gives them others.

    The exit code is 1 if a turn differs, or is unclear because the version that recorded it does not reproduce it.

    Examples:
      gatechart replay --graph customer_service --since 7d
      gatechart replay --graph shop_next:orders --app shop:orders --limit 500
      gatechart replay --graph orders --json | jq '.agents[].turns[] | [.agent_id, .version, .differences]'
    """
    new, earlier = _versions(settings, graph)
    moment = read_since("--since", since, datetime.now(UTC))
    tallies: list[_Tally] = []
    async with (
        _opened_stand_ins(settings, stand_ins) as services,
        stores.open_store(settings.store, role=Role.READER) as store,
    ):
        migrations = deployment.load_packet_migrations()
        replay = replaying.Replay(store, new, earlier, services=services, packet_migrations=migrations)
        with working("playing") as show_progress:
            async for snapshot in replay.agents(tuple(agent or ()), limit):
                tallies.append(_Tally(snapshot.agent_id))
                async for turn in replay.turns(snapshot, moment):
                    tallies[-1].add(turn)
                    show_progress(_so_far(tallies))
    emit(settings, _document(new, tallies), partial(_print, new, tallies))
    return ExitCode.REFUSED if any(tally.turns for tally in tallies) else None


def _versions(settings: Settings, name: str) -> tuple[AnyGraph, tuple[AnyGraph, ...]]:
    """Load the new version and the earlier ones. Raises UnknownGraphError, and the errors of `loading.load_graphs`."""
    is_app = ":" in name or loading.is_chart(name)
    app = loading.load_graphs(settings) if not is_app or loading.find_app(settings.app) is not None else ()
    if not is_app:
        new = loading.newest_named(app, name)
        return new, replaying.earlier(new, app)
    loaded = loading.load_graphs(replace(settings, app=name))
    new = loading.only_newest(name, loaded)
    return new, replaying.earlier(new, tuple(dict.fromkeys((*app, *loaded))))


@asynccontextmanager
async def _opened_stand_ins(settings: Settings, stand_ins: str | None) -> AsyncIterator[Any]:
    if stand_ins is None:
        yield None
        return
    async with deployment.opened_services(replace(settings, services=stand_ins)) as services:
        yield services


def _totals(tallies: Sequence[_Tally]) -> Counter[Fidelity]:
    return sum((tally.counts for tally in tallies), Counter())


def _so_far(tallies: Sequence[_Tally]) -> str:
    counts = tallies[-1].counts
    return f"agent {len(tallies):,}, turn {counts.total():,}; agents that differ: {sum(bool(x.turns) for x in tallies)}"


def _document(graph: AnyGraph, tallies: Sequence[_Tally]) -> Document:
    """Describe the results; `turns` lists the turns that differ or are unclear."""
    counts = _totals(tallies)
    return {
        "graph": graph.name,
        "graph_version": graph.version,
        "agents": [
            {"agent_id": each.agent_id, **_named(each.counts), "turns": list(map(_turn_document, each.turns))}
            for each in tallies
        ],
        "counts": _named(counts),
        "effects_unknown": sum(tally.effects_unknown for tally in tallies),
    }


def _named(counts: Counter[Fidelity]) -> dict[str, int]:
    return {fidelity.value: counts[fidelity] for fidelity in Fidelity}


def _turn_document(turn: ReplayedTurn) -> Document:
    return {
        "agent_id": turn.agent_id,
        "version": turn.version,
        "event": turn.event,
        "time": turn.time,
        "fidelity": turn.fidelity.value,
        "differences": [
            {"aspect": each.aspect, "recorded": each.recorded, "replayed": each.replayed} for each in turn.differences
        ],
    }


def _print(graph: AnyGraph, tallies: Sequence[_Tally]) -> None:
    rows = [row for tally in tallies for turn in tally.turns for row in _rows(turn)]
    if rows:
        columns = ("AGENT", "VERSION", in_zone("TIME"), "EVENT", "ASPECT", "RECORDED", "NOW")
        print_table(columns, rows, whole=columns[:3])
        print_line()
    counts, differing = _totals(tallies), sum(bool(each.turns) for each in tallies)
    parts = [f"{counts[each]:,} {_WORDS[each]}" for each in Fidelity if counts[each]]
    agents = f"{len(tallies):,} agent{'' if len(tallies) == 1 else 's'}"
    among = f" ({differing:,} with turns that are not the same)" if differing else ""
    turns = f"{counts.total():,} turn{'' if counts.total() == 1 else 's'}"
    print_line(f"{agents}{among}, {turns}: {', '.join(parts) or 'none'}")
    _hint_at_unknown_effects(graph, tallies)


def _hint_at_unknown_effects(graph: AnyGraph, tallies: Sequence[_Tally]) -> None:
    own = sum(tally.own for tally in tallies)
    if own:
        print_hint(
            f"{graph.name!r} version {graph.version!r} recorded {own:,} of the turns itself, so there is no other "
            "version to compare effects with; if its functions have changed since, name the old graph with --app"
        )
    unknown = sum(each.effects_unknown for each in tallies) - own
    if unknown:
        print_hint(
            f"effects of {unknown:,} turn{'' if unknown == 1 else 's'} were not compared: the app has no version of "
            f"{graph.name!r} that recorded and reproduces them"
        )


_WORDS: Final = {
    Fidelity.SAME: "the same",
    Fidelity.DIFFERS: "differ",
    Fidelity.UNCLEAR: "unclear, because their own version does not reproduce them",
    Fidelity.SKIPPED: "skipped",
}


def _rows(turn: ReplayedTurn) -> list[tuple[str, ...]]:
    """Return one row per difference; the first row names the turn."""
    name = (turn.agent_id, str(turn.version), moment_text(turn.time), turn.event)
    unclear = " (unclear)" if turn.fidelity is Fidelity.UNCLEAR else ""
    return [
        (*(name if number == 0 else ("",) * 4), each.aspect + unclear, _short(each.recorded), _short(each.replayed))
        for number, each in enumerate(turn.differences)
    ]


def _short(plain: Any) -> str:
    text = plain if isinstance(plain, str) else pydantic_core.to_json(plain).decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
