"""Runs the measures and tells what came out. A target that is missed is marked, and fails nothing."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence

from benchmarks import (
    bytes_written,
    calls,
    compiling,
    conversations,
    durable,
    events,
    footprint,
    http,
    large,
    mail,
    multitude,
    on_server,
    past,
    pending,
    regions,
    restate,
    selection,
    signals,
    starts,
    startup,
    transfers,
)
from benchmarks.measure import FULL, QUICK
from benchmarks.rounds import Results, measured
from benchmarks.table import as_json, as_table

MEASURES = {
    measure.name: measure
    for measure in (
        events.measure,
        regions.measure,
        large.events,
        starts.measure,
        footprint.measure,
        compiling.measure,
        large.building,
        startup.imports,
        startup.commands,
        durable.alone,
        durable.together,
        on_server.measure,
        mail.posts,
        mail.recovery,
        transfers.measure,
        calls.measure,
        conversations.measure,
        selection.measure,
        signals.of_turn,
        signals.of_payload,
        signals.of_step,
        multitude.stored,
        multitude.resuming,
        past.measure,
        pending.in_memory,
        pending.opening,
        http.sends,
        http.answers,
        bytes_written.of_event,
        bytes_written.of_conversation,
        restate.crowd,
        restate.one,
    )
}


def main() -> int:
    """0, or 1 where something could not be measured, or 130 after Ctrl-C."""
    asked = _arguments()
    names = asked.measures or list(MEASURES)
    try:
        run = asyncio.run(_run(names, quick=asked.quick))
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return 130
    print(json.dumps(as_json(run, quick=asked.quick), indent=2) if asked.json else as_table(run, quick=asked.quick))
    return 0 if all(result.figures for results in run for result in results.results) else 1


async def _run(names: Sequence[str], *, quick: bool) -> Sequence[Results]:
    return [await measured(MEASURES[name], QUICK if quick else FULL) for name in names]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("measures", nargs="*", metavar="measure", help=f"those to run: {', '.join(MEASURES)}")
    parser.add_argument("--quick", action="store_true", help="few and short rounds, to see that all still work")
    parser.add_argument("--json", action="store_true", help="all figures as JSON on standard output")
    asked = parser.parse_args()
    unknown = [name for name in asked.measures if name not in MEASURES]
    if unknown:
        parser.error(f"there is no measure {unknown[0]!r}; there are {', '.join(MEASURES)}")
    return asked


if __name__ == "__main__":
    sys.exit(main())
