"""Commands for graphs: they are checked, and drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

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
from gatechart.graph import StateTransitionGraph
from gatechart.runtime.registry import Registry
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
DrawnGraphArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="GRAPH",
        help="The graph's name; may be left out with --agent, or if there is but one.",
        show_default=False,
    ),
]
PathArgument = Annotated[Path | None, typer.Argument(metavar="PATH", help="The file to write.", show_default=False)]
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
    and errors, with --strict for warnings, too, and never for notes.

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
    reports = {graph.name: report(graph) for graph in chosen}
    severities = {finding.severity for each in reports.values() for finding in each.findings}
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    has_failed = not severities.isdisjoint(failing)
    if settings.json:
        print_document(check_document(chosen, reports, has_failed=has_failed))
    else:
        print_graphs(chosen)
        print_reports(reports, with_allowed=allowed)
    return ExitCode.DEFINITION if has_failed else None


async def print_schema(_settings: Settings) -> None:
    """Print the JSON Schema of chart files, with which editors complete and check them.

    The YAML language server uses it where a chart begins with `# yaml-language-server: $schema=chart.schema.json`.

    Examples:
      gatechart schema > chart.schema.json
    """
    from gatechart.charts import schema  # noqa: PLC0415  only this needs it, and it is slow to import

    print_document(schema())


async def draw_graph(
    settings: Settings,
    graph: DrawnGraphArgument = None,
    path: PathArgument = None,
    output: OutputOption = None,
    format: FormatOption = None,  # noqa: A002
    agent: DrawnAgentOption = None,
) -> None:
    """Draw a graph, with its entry points as doors.

    The file's ending says how: Graphviz draws .svg, .png and .pdf; .dot is its language, .mmd Mermaid's. Without a file
    the text is printed. With --agent, the states it is in and the way it took stand out.

    Examples:
      gatechart draw customer_service support.svg
      gatechart draw --agent case-1 --output case-1.svg
      gatechart draw customer_service --format mermaid
    """
    file = _only_file(path, output, format)
    graphs = load_graphs(settings.app)
    snapshot, trail = await _life_of(settings, agent)
    chosen = _chosen(graphs, graph, snapshot)
    if file is None:
        language = format or Language.DOT
        _print_text(settings, chosen, language, _WRITERS[language](chosen, highlight=snapshot, trail=trail))
    else:
        written = draw(chosen, file, highlight=snapshot, trail=trail)
        _print_file(settings, chosen, written)


def _only_file(path: Path | None, output: Path | None, language: Language | None) -> Path | None:
    if path is not None and output is not None:
        raise UsageError("PATH and --output both name the file to write; give one of them")
    file = path or output
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


def _print_text(settings: Settings, graph: StateTransitionGraph, language: Language, text: str) -> None:
    if settings.json:
        print_document({"graph": graph.name, "format": language, "text": text})
    else:
        typer.echo(text.rstrip("\n"))


def _print_file(settings: Settings, graph: StateTransitionGraph, file: Path) -> None:
    if settings.json:
        print_document({"graph": graph.name, "path": str(file)})
    else:
        print_line(f"{graph.name} was drawn to {file}")
