"""Where the time of one contestant goes, by cProfile, which makes small functions look dearer than they are."""

from __future__ import annotations

import asyncio
import sys
from cProfile import Profile
from pstats import SortKey, Stats

from benchmarks import durable, events, starts

CONTESTANTS = {
    "kernel": (events.kernel, 100_000),
    "memory": (events.memory_agent, 50_000),
    "starts": (starts.runtime_start, 20_000),
    "durable": (durable.one_agent, 500),
    "crowd": (durable.crowd, 20_000),
}


def main() -> int:
    """0, or 2 where there is no such contestant."""
    asked = sys.argv[1:]
    if len(asked) != 1 or asked[0] not in CONTESTANTS:
        print(f"usage: python -m benchmarks.profiled {{{'|'.join(CONTESTANTS)}}}", file=sys.stderr)
        return 2
    repeat, count = CONTESTANTS[asked[0]]
    asyncio.run(repeat(count // 10))  # imports and first times
    profile = Profile()
    profile.runcall(asyncio.run, repeat(count))
    Stats(profile).strip_dirs().sort_stats(SortKey.TIME).print_stats(30)
    return 0


if __name__ == "__main__":
    sys.exit(main())
