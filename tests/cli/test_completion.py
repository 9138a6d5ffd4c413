"""Completion at a shell of names that the app and the database hold."""

import pytest

from gatechart.cli import main


@pytest.fixture
def completed(folder, capfd, monkeypatch):
    """What the shell is offered for the last word of a command line."""

    def complete(line):
        monkeypatch.setenv("_GATECHART_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
        capfd.readouterr()
        with pytest.raises(SystemExit):  # which is how typer ends
            main([])
        monkeypatch.delenv("_GATECHART_COMPLETE")
        told = capfd.readouterr()
        assert told.err == ""
        return told.out.split()

    return complete


def test_agents_and_the_events_that_they_accept_are_offered(project, gatechart, completed):
    gatechart("start", "desk", "--at", "LISTENING", "--id", "case-1")
    gatechart("start", "strict", "--at", "OPEN", "--id", "case-2")
    assert completed("gatechart show ca") == ["case-1", "case-2"]
    assert completed("gatechart show x") == []
    assert completed("gatechart send case-2 ") == ["LEFT"]
    assert completed("gatechart post case-1 ASK") == ["ASKED"]


def test_schedules_are_offered(project, gatechart, completed):
    for name in ("nightly", "weekly"):
        gatechart("schedule", "set", name, "desk", "--at", "LISTENING", "--every", "1d")
    assert completed("gatechart schedule pause ") == ["nightly", "weekly"]
    assert completed("gatechart schedule run w") == ["weekly"]
    assert completed("gatechart schedule set x ") == ["desk", "strict"]


def test_graphs_and_their_states_are_offered(project, completed):
    assert completed("gatechart start ") == ["desk", "strict"]
    assert completed("gatechart list --graph s") == ["strict"]
    assert completed("gatechart list --graph strict --state ") == ["GONE", "OPEN"]
    assert "LISTENING" in completed("gatechart list --state ")
    assert completed("gatechart start --app desk:desk ") == ["desk"]


@pytest.mark.parametrize(
    "line", ["gatechart start ", "gatechart show ", "gatechart send a ", "gatechart schedule run "]
)
def test_what_cannot_be_read_is_not_offered_and_nothing_is_created(line, folder, completed):
    (folder / "pyproject.toml").write_text('[tool.gatechart]\napp = "broken:graphs"\n')
    (folder / "broken.py").write_text("print('hello')\n1 / 0")
    assert completed(line) == []
    assert not (folder / "agents.db").exists()
