"""Where the time of one contestant goes, by cProfile, which makes small functions look dearer than they are.

Each thread has a table of its own: the event loop's, and that of the one that writes. Then come the processor's
seconds of a run without cProfile, which say how much of the time is work, and how much waiting for the disk.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from cProfile import Profile
from pstats import SortKey, Stats
from time import process_time
from types import FrameType

from benchmarks import durable, events, mail, starts, transfers

CONTESTANTS = {
    "kernel": (events.kernel, 100_000),
    "memory": (events.memory_agent, 50_000),
    "starts": (starts.runtime_start, 20_000),
    "durable": (durable.one_agent, 500),
    "crowd": (durable.crowd, 20_000),
    "posts": (mail.post_until_applied, 10_000),
    "transfers": (transfers.transfers, 1_000),
    "delegations": (transfers.delegations, 1_000),
}
WRITER = "gatechart-writer"


def main() -> int:
    """0, or 2 where there is no such contestant."""
    asked = sys.argv[1:]
    if len(asked) != 1 or asked[0] not in CONTESTANTS:
        print(f"usage: python -m benchmarks.profiled {{{'|'.join(CONTESTANTS)}}}", file=sys.stderr)
        return 2
    repeat, count = CONTESTANTS[asked[0]]
    asyncio.run(repeat(count // 10))  # imports and first times
    for thread, profile in _profiled(repeat, count).items():
        print(f"\n{thread}\n")
        Stats(profile).strip_dirs().sort_stats(SortKey.TIME).print_stats(30)
    began = process_time()
    seconds = asyncio.run(repeat(count))
    print(f"without cProfile: {count / seconds:,.0f} a second", end=", ")
    print(f"{1e6 * (process_time() - began) / count:,.0f} µs of the processor each, preparations included")
    return 0


def _profiled(repeat: Callable[[int], Awaitable[float]], count: int) -> dict[str, Profile]:
    """What the event loop and the thread that writes do meanwhile."""
    profiles = {"the event loop": Profile()}

    def watch(_frame: FrameType, _event: str, _argument: object) -> None:
        sys.setprofile(None)
        name = threading.current_thread().name
        if name.startswith(WRITER):
            profiles[name] = Profile()
            profiles[name].enable()

    threading.setprofile(watch)
    try:
        profiles["the event loop"].runcall(asyncio.run, repeat(count))
    finally:
        threading.setprofile(None)
    return profiles


if __name__ == "__main__":
    sys.exit(main())
