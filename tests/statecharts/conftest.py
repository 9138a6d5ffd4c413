from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gatechart import Runtime
from gatechart.testing import VirtualClock
from statecharts import examples
from statecharts.service_desk.catalogue import Catalogue
from statecharts.service_desk.conversations import Conversation
from statecharts.service_desk.replay import load
from statecharts.services import Services
from tests.skipped import LOUD

SHARED = Path(__file__).parents[3] / "shared" / "data" / "sgd" / "dialogues.jsonl.gz"


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory:" if request.param == "memory" else f"sqlite+aiosqlite:///{tmp_path}/agents.db"


@pytest.fixture
def clock() -> VirtualClock:
    """What `runtime` and `in_memory` take for the time."""
    return VirtualClock()


@pytest.fixture
async def runtime(url: str, clock: VirtualClock) -> AsyncIterator[Runtime]:
    async with Runtime.open(url, graphs=examples, services=Services(), clock=clock) as runtime:
        yield runtime


@pytest.fixture
async def in_memory(clock: VirtualClock) -> AsyncIterator[Runtime]:
    async with Runtime.open("memory:", graphs=examples, services=Services(), clock=clock) as runtime:
        yield runtime


@pytest.fixture(scope="session")
def dialogues() -> Path:
    file = Path(os.environ.get("GATECHART_CONVERSATIONS") or SHARED)
    if not file.exists():
        pytest.skip(f"{LOUD}real conversations: none at {file}; name a file with GATECHART_CONVERSATIONS")
    return file


@pytest.fixture(scope="session")
def recorded(dialogues: Path) -> tuple[tuple[Conversation, ...], Catalogue]:
    return load(dialogues)
