"""`make demo` says that its agents ended as they should, and fails if they did not."""

import pytest

from statecharts import demo

pytestmark = pytest.mark.processes


def test_a_fleet_that_was_killed_ends_as_an_uninterrupted_one(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(demo, "FLEET", 12)
    assert demo.survive_a_kill(f"sqlite+aiosqlite:///{tmp_path}/fleet.db")
