"""`gatechart breakers`."""

import pytest

ISOLATE = ("breakers", "isolate", "crm", "--reason", "the CRM moves")


@pytest.fixture(autouse=True)
def there(project, prepare):
    prepare(("start", "desk", "--at", "LISTENING", "--id", "a"))


def test_a_breaker_is_isolated_listed_and_closed(gatechart):
    isolated = gatechart(*ISOLATE)
    assert isolated.code == 0
    assert isolated.out.splitlines()[1].split()[:2] == ["crm", "ISOLATED"]
    assert gatechart("breakers").out == isolated.out
    [told] = gatechart("breakers", "--json").document["breakers"]
    assert (told["name"], told["state"], told["reason"]) == ("crm", "ISOLATED", "the CRM moves")
    assert gatechart("breakers", "close", "crm", "--json").document["state"] == "CLOSED"
    listed = gatechart("breakers")
    assert (listed.out, listed.err) == ("", "no breakers found\n")


def test_breakers_are_listed_a_page_at_a_time(gatechart):
    for name in "ba":
        gatechart("breakers", "isolate", name, "--reason", "a test")
    first = gatechart("breakers", "--limit", "1")
    assert (first.out.splitlines()[1].split()[0], first.err) == ("a", "there are more; add --after a\n")
    assert gatechart("breakers", "--after", "a").out.splitlines()[1].split()[0] == "b"


def test_a_breaker_is_drawn_with_its_state_highlighted(gatechart, tmp_path):
    closed = gatechart("breakers", "draw", "crm")
    gatechart(*ISOLATE)
    isolated = gatechart("breakers", "draw", "crm")
    assert (closed.code, isolated.code) == (0, 0)
    assert "CALL_FAILED" in closed.out
    assert closed.out != isolated.out
    assert gatechart("breakers", "draw", "crm", str(tmp_path / "crm.mmd")).code == 0
    assert "HALF_OPEN" in (tmp_path / "crm.mmd").read_text()


@pytest.mark.parametrize("wrong", [("isolate", "crm"), ("close",), ("isolate", "crm", "--reason", "")])
def test_what_cannot_be_done_is_told(gatechart, wrong):
    assert gatechart("breakers", *wrong).code in (2, 4)
