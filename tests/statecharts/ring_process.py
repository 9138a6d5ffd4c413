"""Plays the ring in a process that may be killed: `python -m tests.statecharts.ring_process URL AGENTS LIFE RESULT`.

LIFE counts the processes before this one. RESULT is a file that is written once all agents have ended.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
from datetime import timedelta
from pathlib import Path

from statecharts.tool_ring.play import BEGINNING, Situation, play
from statecharts.tool_ring.tools import Chances

SITUATION = Situation("random failures", Chances(seed=7))


def main() -> None:
    url, agents, life, result = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    gc.set_threshold(200_000, 20, 100)  # thousands of agents that live are no garbage to look for
    began = BEGINNING + timedelta(hours=int(life))  # by then whatever an earlier process waited for is due
    played = asyncio.run(play(SITUATION, int(agents), url, beginning=began))
    Path(result).write_text(
        json.dumps({"ends": dict(played.ends), "most": played.steps[-1], "ways": dict(played.ways)})
    )


if __name__ == "__main__":
    main()
