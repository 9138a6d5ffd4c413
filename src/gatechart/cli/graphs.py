"""Commands for graphs: check, schema, draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.text import Text

from gatechart.cli.errors import ExitCode, UsageError
from gatechart.cli.late_imports import late
from gatechart.cli.options import Settings, duration_option
from gatechart.cli.output import (
    Cell,
    Document,
    emit,
    print_document,
    print_line,
    print_table,
    print_warning,
)
from gatechart.errors.root import listing
from gatechart.values.agents import Snapshot
from gatechart.values.directory import DirectoryEntry
from gatechart.values.homes import Role
from gatechart.values.queries import HistoryEntry

if TYPE_CHECKING:
    from gatechart import charts, checks, drawing, stores
    from gatechart import handoff as handoff_package
    from gatechart.cli import connection, loading, stand_ins
    from gatechart.cli.loading import Graphs
    from gatechart.cli.stand_ins import StandIns
    from gatechart.drawing import render
    from gatechart.drawing import text as drawing_text
    from gatechart.graph import callables
    from gatechart.graph.definition import EntryPoint
    from gatechart.graph.graph import AnyGraph
    from gatechart.hosting import registry
    from gatechart.rules.finding import Allowed, Finding, Report
else:
    charts, checks, drawing, render, drawing_text, callables, handoff_package, registry, stores = late(
        "gatechart.charts",
        "gatechart.checks",
        "gatechart.drawing",
        "gatechart.drawing.render",
        "gatechart.drawing.text",
        "gatechart.graph.callables",
        "gatechart.handoff",
        "gatechart.hosting.registry",
        "gatechart.stores",
    )
    connection, loading, stand_ins = late(
        "gatechart.cli.connection", "gatechart.cli.loading", "gatechart.cli.stand_ins"
    )


def check_document(
    graphs: Sequence[AnyGraph], reports: Mapping[str, Report], unbound: Sequence[str], *, has_failed: bool
) -> Document:
    """Describe graphs and their findings; `failed` agrees with the exit code.

    unbound: names of a chart file without a module.
    """
    return {
        "graphs": [_graph_document(graph) for graph in graphs],
        "findings": [
            _finding_document(name, finding) for name, report in reports.items() for finding in report.findings
        ],
        "allowed": [
            _allowed_document(name, allowance) for name, report in reports.items() for allowance in report.allowed
        ],
        "not_bound": unbound,
        "failed": has_failed,
    }


def _graph_document(graph: AnyGraph) -> Document:
    """Describe a graph by its declared names."""
    reached = checks.reach(graph)
    return {
        "graph": graph.name,
        "graph_version": graph.version,
        "fingerprint": graph.fingerprint,
        "states": graph.states,
        "events": graph.events,
        "transitions": [transition.label for transition in graph.transitions],
        "entry_points": [
            {**_entry_point_document(entry), "reaches": reached[entry.name]} for entry in graph.entry_points.values()
        ],
    }


def _finding_document(graph: str, finding: Finding) -> Document:
    return {
        "graph": graph,
        "code": finding.code,
        "severity": finding.severity,
        "place": finding.place,
        "problem": finding.problem,
        "remedy": finding.remedy,
    }


def _allowed_document(graph: str, allowed: Allowed) -> Document:
    return {**_finding_document(graph, allowed.finding), "reason": allowed.reason}


def _entry_point_document(entry: EntryPoint) -> Document:
    return {
        "name": entry.name,
        "state": entry.state,
        "opens_on": entry.opens_on,
        "takes": entry.takes.__name__ if entry.takes else None,
        "entities": entry.entities,
        "guard": callables.callable_name(entry.guard) if entry.guard else None,
    }


_SEVERITY_STYLES: Final = {"error": "bold red", "warning": "bold yellow", "note": "cyan"}


def print_graphs(graphs: Sequence[AnyGraph]) -> None:
    """Print graphs, one per row."""
    columns = ("GRAPH", "VERSION", "STATES", "TRANSITIONS", "ENTRY POINTS")
    print_table(columns, map(_graph_row, graphs), whole=("VERSION", "STATES", "TRANSITIONS"))
    print_line()


def print_reports(reports: Mapping[str, Report], *, with_allowed: bool) -> None:
    """Print the findings of graphs, and their number.

    with_allowed: also print allowed findings, with the reason in place of the remedy; they are counted in any case.
    """
    allowed = [(name, allowance) for name, report in reports.items() for allowance in report.allowed]
    findings = [(name, each) for name, report in reports.items() for each in report.findings]
    _print_rows("PLACE, PROBLEM → REMEDY", [_finding_row(name, each, each.remedy) for name, each in findings])
    if with_allowed:
        rows = [_finding_row(name, each.finding, f"allowed: {each.reason}") for name, each in allowed]
        _print_rows("PLACE, PROBLEM → REASON", rows)
    by_severity = Counter(finding.severity for _, finding in findings)
    counts = [_count(by_severity[severity], severity) for severity in checks.Severity if by_severity[severity]]
    text = f": {', '.join(counts)}" if counts else ": no findings"
    print_line(f"{_count(len(reports), 'graph')}{text}{f'; {len(allowed)} allowed' if allowed else ''}")


def _print_rows(heading: str, rows: Sequence[Sequence[Cell]]) -> None:
    if rows:
        print_table(("CODE", "SEVERITY", heading), rows, whole=("CODE", "SEVERITY"))
        print_line()


def _graph_row(graph: AnyGraph) -> Sequence[Cell]:
    entries = Text("\n").join(map(_entry_cell, graph.entry_points.values()))
    return graph.name, graph.version, str(len(graph.states)), str(len(graph.transitions)), entries


def _finding_row(graph: str, finding: Finding, then: str) -> Sequence[Cell]:
    text = Text(drawing_text.visible(f"{graph}: {finding.place}"), "bold")
    text.append(f"\n{drawing_text.visible(finding.problem)}", "not bold").append(
        f"\n→ {drawing_text.visible(then)}", "not bold dim"
    )
    return finding.code, Text(finding.severity, _SEVERITY_STYLES[finding.severity]), text


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _entry_cell(entry: EntryPoint) -> Text:
    return Text(entry.name).append("".join(f"\n  on {trigger}" for trigger in entry.opens_on), "dim")


class Language(StrEnum):
    """The languages of printed drawings."""

    DOT = "dot"
    MERMAID = "mermaid"


class ThemeName(StrEnum):
    """The themes of drawings."""

    LIGHT = "light"
    DARK = "dark"


CheckedGraphsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[GRAPH]...",
        help="The names of the graphs, or CHART.yaml, or CHART.yaml:MODULE. Default: all graphs of the app.",
        show_default=False,
    ),
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Fail on warnings as well as on errors.")]
AllowedOption = Annotated[
    bool, typer.Option("--allowed", help="Also print findings that the graphs allow, with the reasons.")
]
DirectoryOption = Annotated[
    bool,
    typer.Option(
        "--directory", help="Also accept the registered entries of the database's directory as targets of handoffs."
    ),
]
DrawnArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[GRAPH]... [PATH]",
        help="The graphs or the CHART.yaml to draw, then the file to write. The graphs may be left out with --agent, "
        "with --map, or if the app has only one.",
        show_default=False,
    ),
]
PacketOption = Annotated[bool, typer.Option("--packet", help="Print the schema of handoff packets.")]
MapOption = Annotated[
    bool, typer.Option("--map", help="Draw a map of the named graphs, or of all graphs, with their entry points.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="PATH", help="The file to write.", show_default=False)
]
FormatOption = Annotated[
    Language | None,
    typer.Option("--format", "-f", help="The language to print if no file is named. Default: dot.", show_default=False),
]
ThemeOption = Annotated[ThemeName, typer.Option("--theme", help="The colours of the drawing.")]
LegendOption = Annotated[bool, typer.Option("--legend", help="Explain the symbols in the drawing.")]
PayloadsOption = Annotated[bool, typer.Option("--payloads", help="Show the payloads of declared events.")]
LoadsOption = Annotated[
    bool, typer.Option("--loads", help="With --map, show the current work of each entry point, from the database.")
]
LimitOption = Annotated[
    float,
    duration_option("--limit", 0.1, "How long Graphviz may take. After that, the chart gets a plainer layout."),
]
DrawnAgentOption = Annotated[
    str | None,
    typer.Option(
        "--agent", metavar="AGENT", help="Highlight the states of this agent and the path it took.", show_default=False
    ),
]


async def check_graphs(
    settings: Settings,
    graphs: CheckedGraphsArgument = None,
    strict: StrictOption = False,
    allowed: AllowedOption = False,
    has_directory: DirectoryOption = False,
) -> ExitCode | None:
    """Check the graphs of the app for faults and likely mistakes.

    If a graph is invalid, all its faults are listed at once. A valid graph may still have findings: an error is a part
    that fails when an agent reaches it, a warning is probably a mistake, and a note is a suggestion. The exit code is 3
    if there are faults or errors, or, with --strict, warnings. Handoffs must lead to graphs of the app, and the needs
    of a selection must match a profile of those graphs or, with --directory, the profile of a registered entry. A chart
    file that is named as an argument, and not as the app, is checked without other graphs.

    The functions that a chart file names need not exist yet, unless the app names a module for them: CHART.yaml alone
    is checked without them, with a warning that lists their names.

    A graph can allow a finding and give a reason: under `allow` in a chart file, or with allow= in Python. Allowed
    findings are only counted; --allowed prints them, and --json always includes them.

    Examples:
      gatechart check
      gatechart check customer_service --strict
      gatechart check --allowed
      gatechart check --directory --store sqlite+aiosqlite:///agents.db
      gatechart check charts/lamp.yaml
      gatechart check charts/lamp.yaml:house.lamps
      gatechart check --app statecharts:graphs --json | jq '.findings[].code'
    """
    named = graphs or ()
    settings, graphs = loading.with_chart(settings, named)
    is_alone = len(graphs) < len(named)  # a chart file without the other graphs of its application
    unbound = _stand_ins()
    known_graphs = loading.newest(loading.load_as_written(settings, unbound))
    chosen = tuple(map(registry.Registry(known_graphs).graph, dict.fromkeys(graphs))) if graphs else known_graphs
    entries = await _entries(settings, known_graphs) if has_directory else []
    registered = [entry.candidate for entry in entries if not entry.candidate.is_local]
    among = None if is_alone else known_graphs
    reports = {graph.name: checks.report(graph, among=among, registered=registered) for graph in chosen}
    severities = {finding.severity for report in reports.values() for finding in report.findings}
    failing = {checks.Severity.ERROR, checks.Severity.WARNING} if strict else {checks.Severity.ERROR}
    has_failed = not severities.isdisjoint(failing) or (strict and bool(unbound.names))

    def show() -> None:
        print_graphs(chosen)
        print_reports(reports, with_allowed=allowed)

    emit(settings, check_document(chosen, reports, (*unbound.names,), has_failed=has_failed), show)
    if unbound.names:
        _warn_of_unbound(settings, unbound.names)
    return ExitCode.DEFINITION if has_failed else None


def _warn_of_unbound(settings: Settings, names: Iterable[str]) -> None:
    app = loading.find_app(settings.app)
    file = "" if app is None else app.name
    text = f"checked without the functions and types that {file} names: {', '.join(names)}"
    print_warning(f"{text}; to check them, too, name their module: {file}:package.module")


def _stand_ins() -> StandIns:
    """Return stand-ins for the functions of a chart that is only inspected, so that none is called."""
    return stand_ins.StandIns(lambda _question: False)


async def print_schema(_settings: Settings, packet: PacketOption = False) -> None:
    """Print the JSON Schema of chart files, so that editors can complete and check them.

    The YAML language server uses it in charts that start with `# yaml-language-server: $schema=chart.schema.json`.
    With --packet, print the schema of handoff packets instead.

    Examples:
      gatechart schema > chart.schema.json
      gatechart schema --packet > packet.schema.json
    """
    if packet:
        print_document(handoff_package.packet_schema())
        return
    print_document(charts.schema())


async def draw_graph(
    settings: Settings,
    drawn: DrawnArgument = None,
    output: OutputOption = None,
    format: FormatOption = None,  # noqa: A002
    agent: DrawnAgentOption = None,
    is_map: MapOption = False,
    theme: ThemeOption = ThemeName.LIGHT,
    legend: LegendOption = False,
    payloads: PayloadsOption = False,
    has_loads: LoadsOption = False,
    limit: LimitOption = 20.0,
) -> None:
    """Draw a graph, or a map of several graphs with their entry points and the handoffs between them.

    The file's extension selects the format: .svg, .png and .pdf are drawn by Graphviz, .dot is Graphviz source, and
    .mmd is Mermaid. Without a file, the source is printed. With --agent, the agent's states and its path are
    highlighted. A chart or map that takes Graphviz longer than --limit gets a plainer layout. The functions of a chart
    file need not exist, unless the app names a module for them.

    Examples:
      gatechart draw customer_service support.svg
      gatechart draw customer_service support.png --theme dark --legend
      gatechart draw --agent case-1 --output case-1.svg
      gatechart draw customer_service --format mermaid
      gatechart draw charts/lamp.yaml lamp.svg
      gatechart draw orders refunds human_desk map.svg
      gatechart draw --map --output map.svg --limit 2m
      gatechart draw --map --loads --output now.svg
    """
    settings, drawn = loading.with_chart(settings, drawn or ())
    graphs = loading.load_as_written(settings, _stand_ins())
    names, path = _split_file(graphs, drawn)
    file = only_file(path, output, format)
    look = {"theme": theme.value, "legend": legend, "payloads": payloads}
    if is_map or len(names) > 1:
        if agent is not None:
            raise UsageError("a map cannot show an agent; draw the agent's graph alone, or leave out --agent")
        several = tuple(map(registry.Registry(graphs).graph, dict.fromkeys(names))) or loading.newest(graphs)
        loads = await _loads_of(settings, several) if has_loads else {}
        await draw_or_print(settings, several, file, format, limit, loads=loads, **look)
        return
    if has_loads:
        raise UsageError("loads are shown on maps; add --map, or leave out --loads")
    snapshot, trail = await _load_with_history(settings, agent)
    chosen = _chosen(graphs, names[0] if names else None, snapshot)
    await draw_or_print(settings, chosen, file, format, limit, highlight=snapshot, trail=trail, **look)


def _split_file(graphs: Graphs, drawn: Sequence[str]) -> tuple[Sequence[str], Path | None]:
    """Split the file from the names of graphs: the last argument, if it has an extension and is not a graph."""
    known = {graph.name for graph in graphs}
    if drawn and drawn[-1] not in known and Path(drawn[-1]).suffix:
        return drawn[:-1], Path(drawn[-1])
    return drawn, None


async def draw_or_print(
    settings: Settings,
    drawn: AnyGraph | Graphs,
    file: Path | None,
    language: Language | None,
    limit_s: float,
    **options: Any,
) -> None:
    """Write the file, or print the source if there is none."""
    if file is None:
        written = language or Language.DOT
        write = drawing.to_dot if written is Language.DOT else drawing.to_mermaid
        text = write(drawn, **options)
        emit(settings, {**_names(drawn), "format": written, "text": text}, lambda: typer.echo(text.rstrip("\n")))
    else:
        path = await drawing.draw_async(drawn, file, limit_s=limit_s, **options)
        emit(settings, {**_names(drawn), "path": str(path)}, f"drew {_title(drawn)} to {path}")


def only_file(path: Path | None, output: Path | None, language: Language | None) -> Path | None:
    """Return the named file, if any. Raises UsageError if the options contradict each other."""
    if path is not None and output is not None:
        raise UsageError("PATH and --output both name a file; give one of them")
    file = path or output
    if file is not None and file.suffix.lower() not in render.ENDINGS:
        raise UsageError(f"unknown extension of {str(file)!r}; use one of {listing(render.ENDINGS)}")
    if file is not None and language is not None:
        raise UsageError(
            "--format is for printing; the format of a file follows from its extension, so leave out --format"
        )
    return file


async def _load_with_history(settings: Settings, agent: str | None) -> tuple[Snapshot | None, Sequence[HistoryEntry]]:
    if agent is None:
        return None, ()
    async with stores.open_store(settings.store, role=Role.READER) as store:
        return await store.load(agent), await store.history(agent)


async def _loads_of(settings: Settings, graphs: Graphs) -> dict[str, str]:
    """Return the current work at entry points of the graphs as text, by "graph.ENTRY_POINT".

    It includes the work of entries registered there, such as people.
    """
    at: dict[str, list[DirectoryEntry]] = {}
    for each in await _entries(settings, graphs):
        at.setdefault(f"{each.candidate.graph}.{each.candidate.entry_point}", []).append(each)
    return {door: _loads_text(door, entries) for door, entries in at.items()}


def _loads_text(door: str, entries: Sequence[DirectoryEntry]) -> str:
    own = [_load_text(entry) for entry in entries if entry.id == door]
    registered = [each for each in entries if each.id != door]
    if registered:
        work = sum(each.candidate.held for each in registered)
        free = sum(not each.unavailable for each in registered)
        own.append(f"registered {len(registered)}: {work} open, {free} available")
    return "; ".join(own)


async def _entries(settings: Settings, graphs: Graphs) -> list[DirectoryEntry]:
    """Return all entries of the directory, ordered by id."""
    entries: list[DirectoryEntry] = []
    async with connection.inspect(settings, graphs) as home:
        while page := await home.directory(after=entries[-1].id if entries else None):
            entries += page
    return entries


def _load_text(entry: DirectoryEntry) -> str:
    candidate = entry.candidate
    places = "open" if candidate.capacity is None else f"of {candidate.capacity} places"
    work = f"{candidate.held} {places}"
    return f"{work}, {entry.unavailable}" if entry.unavailable else work


def _chosen(graphs: Graphs, name: str | None, snapshot: Snapshot | None) -> AnyGraph:
    """Choose the graph: by name, of the agent, or the only one; in the agent's version if the app has it."""
    known = registry.Registry(graphs)
    if name is None and snapshot is None:
        if len(known.graphs) > 1:
            raise UsageError(f"no graph; name one to draw: {', '.join(graph.name for graph in known.graphs)}")
        return known.graphs[0]
    graph = known.graph(name or snapshot.graph if snapshot else name or "")
    if snapshot is not None and known.has(graph.name, snapshot.graph_version):
        return known.version(graph.name, snapshot.graph_version)
    return graph


def _title(drawn: AnyGraph | Graphs) -> str:
    if not isinstance(drawn, tuple):
        return drawn.name
    return f"a map of {', '.join(graph.name for graph in drawn)}"


def _names(drawn: AnyGraph | Graphs) -> dict[str, Any]:
    """Return the names of the drawn graphs for JSON."""
    if not isinstance(drawn, tuple):
        return {"graph": drawn.name}
    return {"graphs": [graph.name for graph in drawn]}
