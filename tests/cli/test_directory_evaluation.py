"""`gatechart directory evaluate`."""

import pytest


@pytest.fixture(autouse=True)
def there(project, prepare):
    prepare(("start", "desk", "--at", "LISTENING", "--id", "a"))


def test_without_recorded_choices_nothing_can_be_told(gatechart):
    found = gatechart("directory", "evaluate")
    assert found.code == 0
    assert "cannot be told" in found.out
    assert "0 recorded choices" in found.out
    document = gatechart("directory", "evaluate", "--json").document
    assert (document["learning"]["verdict"], document["timeliness"]) == ("cannot be told", [])
    assert document["learning"]["doubly_robust"] == {"estimate": 0.0, "low": -1.0, "high": 1.0}
