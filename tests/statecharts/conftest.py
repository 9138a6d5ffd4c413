from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gatechart import Runtime
from statecharts import graphs
from statecharts.service_desk.conversations import Catalogue, Conversation
from statecharts.service_desk.replay import load

SHARED = Path(__file__).parents[3] / "shared" / "data" / "sgd" / "dialogues.jsonl.gz"


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory:" if request.param == "memory" else f"sqlite+aiosqlite:///{tmp_path}/agents.db"


@pytest.fixture
async def runtime(url: str) -> AsyncIterator[Runtime]:
    async with Runtime.open(url, graphs=graphs) as runtime:
        yield runtime


@pytest.fixture
async def in_memory() -> AsyncIterator[Runtime]:
    async with Runtime.open("memory:", graphs=graphs) as runtime:
        yield runtime


@pytest.fixture(scope="session")
def dialogues() -> Path:
    file = Path(os.environ.get("GATECHART_CONVERSATIONS") or SHARED)
    if not file.exists():
        pytest.skip(f"no conversations at {file}; name a file with GATECHART_CONVERSATIONS")
    return file


@pytest.fixture(scope="session")
def recorded(dialogues: Path) -> tuple[tuple[Conversation, ...], Catalogue]:
    return load(dialogues)
