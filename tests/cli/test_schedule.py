"""`gatechart schedule`."""

import pytest

NIGHTLY = ("schedule", "set", "nightly", "desk", "--at", "LISTENING")


@pytest.fixture(autouse=True)
def there(project, prepare):
    prepare(("start", "desk", "--at", "LISTENING", "--id", "a"))


def test_a_schedule_is_set_listed_and_changed(gatechart):
    made = gatechart(*NIGHTLY, "--cron", "0 3 * * *", "--zone", "Europe/Berlin")
    assert made.code == 0
    assert made.out.splitlines()[1].split()[:8] == ["nightly", "desk", "at", "LISTENING", "0", "3", "*", "*"]
    assert "a host starts the agents" in made.err
    assert gatechart("schedule").out == made.out
    changed = gatechart(*NIGHTLY, "--every", "1d", "--overlap", "queue_one", "--missed", "none", "--json").document
    assert changed["every"] == {"period": "1d", "cron": "", "zone": "UTC", "missed": "none"}
    assert changed["overlap"] == "queue_one"
    assert gatechart("schedule", "--json").document == {"schedules": [changed], "next": None}


def test_agents_are_started_by_a_host(gatechart):
    gatechart(*NIGHTLY, "--every", "1d")
    assert gatechart("schedule", "run", "nightly", "--id", "1").code == 0
    assert gatechart("run", "--once").code == 0
    [told] = gatechart("schedule", "--json").document["schedules"]
    [agent] = told["started"]
    assert agent.startswith("nightly@")
    assert gatechart("show", agent, "--json").document["configuration"] == ["LISTENING"]


def test_a_host_that_runs_once_does_not_wait_for_the_agent_before(gatechart):
    gatechart(*NIGHTLY, "--every", "1d", "--overlap", "queue_one")
    for _ in range(2):
        gatechart("schedule", "run", "nightly")
        assert gatechart("run", "--once").code == 0
    assert gatechart("show", "schedule:nightly", "--json").document["configuration"] == ["BEHIND"]
    [told] = gatechart("schedule", "--json").document["schedules"]
    gatechart("send", told["started"][0], "LEFT")
    gatechart("run", "--once")
    assert len(gatechart("schedule", "--json").document["schedules"][0]["started"]) == 2


def test_a_schedule_is_paused_resumed_and_deleted(gatechart):
    gatechart(*NIGHTLY, "--every", "1d")
    assert "(paused)" in gatechart("schedule", "pause", "nightly").out
    assert "(paused)" not in gatechart("schedule", "resume", "nightly").out
    assert gatechart("schedule", "delete", "nightly").code == 2  # nobody can be asked
    assert gatechart("schedule", "delete", "nightly", "--yes", "--json").document == {
        "name": "nightly",
        "deleted": True,
    }
    listed = gatechart("schedule")
    assert (listed.out, listed.err) == ("", "no schedules found\n")


def test_schedules_are_listed_a_page_at_a_time(gatechart):
    for name in "ba":
        gatechart("schedule", "set", name, "desk", "--at", "LISTENING", "--every", "1d")
    first = gatechart("schedule", "--limit", "1")
    assert (first.out.splitlines()[1].split()[0], first.err) == ("b", "there are more; add --after b\n")
    assert gatechart("schedule", "--after", "b").out.splitlines()[1].split()[0] == "a"


@pytest.mark.parametrize(
    ("wrong", "code", "text"),
    [
        (("schedule", "pause", "daily"), 4, "there is no schedule 'daily'"),
        ((*NIGHTLY, "--every", "often"), 2, "--every: 'often' is not a duration"),
        ((*NIGHTLY, "--cron", "often"), 2, "'often' is not a cron expression: it needs 5 fields"),
        ((*NIGHTLY, "--cron", "0 3 * * *", "--zone", "Mars"), 2, "unknown time zone 'Mars'; write a name of the IANA"),
        ((*NIGHTLY, "--every", "1d", "--zone", "Europe/Berlin"), 2, "--zone needs --cron"),
        ((*NIGHTLY,), 2, "give either --every, such as --every 1d, or --cron"),
        ((*NIGHTLY, "--every", "1d", "--cron", "0 3 * * *"), 2, "give either --every, such as --every 1d, or --cron"),
        ((*NIGHTLY, "--every", "1d", "--overlap", "stop"), 2, "'skip', 'queue_one', 'start'"),
        (("schedule", "set", "nightly", "bank", "--at", "OPEN", "--every", "1d"), 4, "there are 'desk'"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_scheduled(gatechart, wrong, code, text):
    failed = gatechart(*wrong)
    assert (failed.code, text in failed.err) == (code, True), failed.err
    assert gatechart("schedule").out == ""


def test_the_agent_of_a_schedule_is_shown_like_any_other(gatechart):
    gatechart(*NIGHTLY, "--every", "1d")
    shown = gatechart("show", "schedule:nightly")
    assert (shown.code, shown.err) == (0, "")
    assert "WAITING" in shown.out
    assert gatechart("history", "schedule:nightly").code == 0


def test_only_the_verbs_of_schedules_change_a_schedule_and_it_is_listed_on_request(gatechart):
    gatechart(*NIGHTLY, "--every", "1d")
    before = gatechart("show", "schedule:nightly", "--json").document
    for words in (
        ("erase", "schedule:nightly", "--yes"),
        ("stop", "schedule:nightly"),
        ("rollback", "schedule:nightly", "1", "--reason", "again"),
        ("fork", "schedule:nightly", "1"),
        ("send", "schedule:nightly", "RUN"),
        ("retry", "schedule:nightly", "--reason", "again"),
        ("handoff", "schedule:nightly", "--to", "desk", "--at", "LISTENING"),
        ("end-invoke", "schedule:nightly", "start", "--reason", "again"),
        ("post", "schedule:nightly", "RUN"),
        ("post", "alerts:ops", "ALERT"),
        ("start", "desk", "--at", "LISTENING", "--id", "watchdog"),
    ):
        refused = gatechart(*words)
        assert (refused.code, "only gatechart itself uses the agent" in refused.err) == (4, True), (words, refused.err)
    assert gatechart("show", "schedule:nightly", "--json").document == before
    listed = [each["agent_id"] for each in gatechart("list", "--json").document["agents"]]
    assert listed == ["a"]
    every = [each["agent_id"] for each in gatechart("list", "--framework", "--json").document["agents"]]
    assert every == ["a", "schedule:nightly"]
    counted = gatechart("list", "--count", "--framework", "--json").document
    assert [each["graph"] for each in counted["counts"]] == ["desk", "gatechart.schedule"]


def test_lessons_are_deleted(gatechart):
    assert gatechart("forget-lessons", "desk", "--json").document == {"graph": "desk", "forgotten": True}
