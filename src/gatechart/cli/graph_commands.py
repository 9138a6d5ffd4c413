"""Commands for graphs: they are checked, and drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from gatechart.checks import Severity, report
from gatechart.cli.chart_files import is_chart
from gatechart.cli.codes import ExitCode
from gatechart.cli.documents import check_document
from gatechart.cli.errors import UsageError
from gatechart.cli.loading import Graphs, load_graphs, newest
from gatechart.cli.options import Settings
from gatechart.cli.printing import print_document, print_line
from gatechart.cli.views import print_graphs, print_reports
from gatechart.drawing import draw, to_dot, to_mermaid
from gatechart.drawing.render import ENDINGS
from gatechart.errors import listing
from gatechart.graph import StateTransitionGraph
from gatechart.handoff import packet_schema
from gatechart.hosting.registry import Registry
from gatechart.stores import open_store
from gatechart.values import HistoryEntry, Snapshot


class Language(StrEnum):
    """In what a drawing can be printed."""

    DOT = "dot"
    MERMAID = "mermaid"


_WRITERS: Final[Mapping[Language, Callable[..., str]]] = {Language.DOT: to_dot, Language.MERMAID: to_mermaid}

CheckedGraphsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="GRAPH", help="The graphs' names; all if left out.", show_default=False),
]
StrictOption = Annotated[bool, typer.Option("--strict", metavar="", help="Fail on warnings, too.")]
AllowedOption = Annotated[
    bool, typer.Option("--allowed", metavar="", help="Tell what the graphs allow, too, and the reasons they give.")
]
DrawnArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[GRAPH]... [PATH]",
        help="The graphs' names; may be left out with --agent, with --map, or if there is but one. The file to write.",
        show_default=False,
    ),
]
PacketOption = Annotated[
    bool, typer.Option("--packet", metavar="", help="The schema of packets, which handoffs carry.")
]
MapOption = Annotated[
    bool, typer.Option("--map", metavar="", help="Draw the map of the graphs, all if none is named, and their doors.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="PATH", help="The file to write, too.", show_default=False)
]
FormatOption = Annotated[
    Language | None,
    typer.Option("--format", "-f", help="What to print where no file is named; dot if left out.", show_default=False),
]
DrawnAgentOption = Annotated[
    str | None,
    typer.Option("--agent", metavar="AGENT", help="Show where this agent is, and its way there.", show_default=False),
]


async def check_graphs(
    settings: Settings,
    graphs: CheckedGraphsArgument = None,
    strict: StrictOption = False,
    allowed: AllowedOption = False,
) -> ExitCode | None:
    """Check the app: find its graphs, name every fault, and tell what is most likely not meant.

    A graph with faults is told with all of them at once. In a sound one there may be findings: an error will fail when
    it is reached, a warning is most likely not what was meant, a note could be better. The exit code is 3 for faults
    and errors, with --strict for warnings, too, and never for notes. Handoffs must lead to graphs of the app.

    What is meant to be so a graph allows, with a reason: under `allow` in a chart file, with allow= in code. That is
    only counted; --allowed tells it, and --json always does.

    Examples:
      gatechart check
      gatechart check customer_service --strict
      gatechart check --allowed
      gatechart check --app charts/lamp.yaml:house.lamps
      gatechart check --app statecharts:graphs --json | jq '.findings[].code'
    """
    for name in filter(is_chart, graphs or ()):
        raise UsageError(f"{name!r} is a chart file, not the name of a graph; write --app {name}")
    found = newest(load_graphs(settings.app))
    chosen = tuple(map(Registry(found).graph, dict.fromkeys(graphs))) if graphs else found
    reports = {graph.name: report(graph, among=found) for graph in chosen}
    severities = {finding.severity for each in reports.values() for finding in each.findings}
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    has_failed = not severities.isdisjoint(failing)
    if settings.json:
        print_document(check_document(chosen, reports, has_failed=has_failed))
    else:
        print_graphs(chosen)
        print_reports(reports, with_allowed=allowed)
    return ExitCode.DEFINITION if has_failed else None


async def print_schema(_settings: Settings, packet: PacketOption = False) -> None:
    """Print the JSON Schema of chart files, with which editors complete and check them.

    The YAML language server uses it where a chart begins with `# yaml-language-server: $schema=chart.schema.json`.
    With --packet, print the schema of what a handoff carries instead.

    Examples:
      gatechart schema > chart.schema.json
      gatechart schema --packet > packet.schema.json
    """
    if packet:
        print_document(packet_schema())
        return
    from gatechart.charts import schema  # noqa: PLC0415  only this needs it, and it is slow to import

    print_document(schema())


async def draw_graph(
    settings: Settings,
    drawn: DrawnArgument = None,
    output: OutputOption = None,
    format: FormatOption = None,  # noqa: A002
    agent: DrawnAgentOption = None,
    is_map: MapOption = False,
) -> None:
    """Draw a graph, with its entry points as doors; or several as a map: their doors, and the handoffs between them.

    The file's ending says how: Graphviz draws .svg, .png and .pdf; .dot is its language, .mmd Mermaid's. Without a file
    the text is printed. With --agent, the states it is in and the way it took stand out.

    Examples:
      gatechart draw customer_service support.svg
      gatechart draw --agent case-1 --output case-1.svg
      gatechart draw customer_service --format mermaid
      gatechart draw orders refunds human_desk map.svg
      gatechart draw --map --output map.svg
    """
    graphs = load_graphs(settings.app)
    names, path = _parted(graphs, drawn or ())
    file = _only_file(path, output, format)
    if is_map or len(names) > 1:
        if agent is not None:
            raise UsageError("a map shows no agent; draw the agent's graph alone, or leave out --agent")
        several = tuple(map(Registry(graphs).graph, dict.fromkeys(names))) or newest(graphs)
        _draw(settings, several, file, format)
        return
    snapshot, trail = await _life_of(settings, agent)
    chosen = _chosen(graphs, names[0] if names else None, snapshot)
    _draw(settings, chosen, file, format, highlight=snapshot, trail=trail)


def _parted(graphs: Graphs, drawn: Sequence[str]) -> tuple[Sequence[str], Path | None]:
    """The names of graphs, and the file: what comes last, has an ending, and is the name of no graph."""
    known = {graph.name for graph in graphs}
    if drawn and drawn[-1] not in known and Path(drawn[-1]).suffix:
        return drawn[:-1], Path(drawn[-1])
    return drawn, None


def _draw(
    settings: Settings,
    drawn: StateTransitionGraph | Graphs,
    file: Path | None,
    language: Language | None,
    **stands_out: Any,
) -> None:
    """Writes the file, or prints the text where there is none."""
    if file is None:
        written = language or Language.DOT
        _print_text(settings, drawn, written, _WRITERS[written](drawn, **stands_out))
    else:
        _print_file(settings, drawn, draw(drawn, file, **stands_out))


def _only_file(path: Path | None, output: Path | None, language: Language | None) -> Path | None:
    if path is not None and output is not None:
        raise UsageError("PATH and --output both name the file to write; give one of them")
    file = path or output
    if file is not None and file.suffix.lower() not in ENDINGS:
        raise UsageError(f"{str(file)!r} ends in none of {listing(ENDINGS)}; name a file that does")
    if file is not None and language is not None:
        raise UsageError("--format says what to print where no file is named; a file's ending says what it holds")
    return file


async def _life_of(settings: Settings, agent: str | None) -> tuple[Snapshot | None, Sequence[HistoryEntry]]:
    if agent is None:
        return None, ()
    async with open_store(settings.store, read_only=True) as store:
        return await store.load(agent), await store.history(agent)


def _chosen(graphs: Graphs, name: str | None, snapshot: Snapshot | None) -> StateTransitionGraph:
    """The graph of this name, of the agent, or the only one; in the version of the agent, where that is there."""
    registry = Registry(graphs)
    if name is None and snapshot is None:
        if len(registry.graphs) > 1:
            raise UsageError(f"say which graph to draw: one of {', '.join(graph.name for graph in registry.graphs)}")
        return registry.graphs[0]
    graph = registry.graph(name or snapshot.graph if snapshot else name or "")
    if snapshot is not None and registry.has(graph.name, snapshot.graph_version):
        return registry.version(graph.name, snapshot.graph_version)
    return graph


def _print_text(settings: Settings, drawn: StateTransitionGraph | Graphs, language: Language, text: str) -> None:
    if settings.json:
        print_document({**_names(drawn), "format": language, "text": text})
    else:
        typer.echo(text.rstrip("\n"))


def _print_file(settings: Settings, drawn: StateTransitionGraph | Graphs, file: Path) -> None:
    if settings.json:
        print_document({**_names(drawn), "path": str(file)})
    elif isinstance(drawn, StateTransitionGraph):
        print_line(f"{drawn.name} was drawn to {file}")
    else:
        print_line(f"the map of {', '.join(graph.name for graph in drawn)} was drawn to {file}")


def _names(drawn: StateTransitionGraph | Graphs) -> dict[str, Any]:
    """What was drawn, for machines."""
    if isinstance(drawn, StateTransitionGraph):
        return {"graph": drawn.name}
    return {"graphs": [graph.name for graph in drawn]}
