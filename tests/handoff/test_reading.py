from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given

from gatechart import HandoffPacket
from gatechart.errors import PacketError
from gatechart.handoff import PacketMigration, read_packet, reading
from gatechart.handoff.packet import SCHEMA_VERSION
from gatechart.handoff.reading import UNREAD
from gatechart.values.handoffs import Reason

from .strategies import laws, packets


@laws
@given(packets)
def test_what_was_written_is_read(packet: HandoffPacket) -> None:
    assert read_packet(packet.model_dump(mode="json")) == packet


def test_a_packet_without_a_version_counts_as_one_of_today() -> None:
    assert read_packet({}).schema_version == SCHEMA_VERSION


def test_an_older_packet_is_upgraded_one_version_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SCHEMA_VERSION", 3)
    seen = []

    def step(number: int) -> PacketMigration:
        def upgrade(old: dict[str, Any]) -> dict[str, Any]:
            seen.append((number, old["schema_version"]))
            old["trail"] = [*old.get("trail", []), number]
            return old

        return PacketMigration(number, upgrade)

    payload = {"schema_version": 0, "mood": "cold", "nested": {"a": []}}
    before = deepcopy(payload)
    packet = read_packet(payload, [step(2), step(0), step(1), step(3)])
    assert payload == before
    assert seen == [(0, 0), (1, 1), (2, 2)]
    assert packet.schema_version == 3
    assert packet.model_extra == {"mood": "cold", "nested": {"a": []}, "trail": [0, 1, 2]}


def test_a_migration_cannot_change_what_was_handed_in() -> None:
    def spoil(old: dict[str, Any]) -> dict[str, Any]:
        old["entities"]["a"] = 2
        return old

    payload = {"schema_version": 0, "entities": {"a": 1}}
    assert read_packet(payload, [PacketMigration(0, spoil)]).entities == {"a": 2}
    assert payload["entities"] == {"a": 1}


def test_a_newer_packet_is_read_as_far_as_it_goes() -> None:
    payload = {"schema_version": 99, "reason": "sentiment", "current_problem": "loud", "tone": [1]}
    packet = read_packet(payload)
    assert (packet.schema_version, packet.reason, packet.current_problem) == (99, Reason.OTHER, "loud")
    assert packet.model_extra == {"tone": [1], UNREAD: {"reason": "sentiment"}}
    assert read_packet(packet.model_dump(mode="json")) == packet


def fail(old: dict[str, Any]) -> Any:
    raise KeyError("problem")


@pytest.mark.parametrize(
    ("payload", "migrations", "version", "problem", "remedy"),
    [
        ([], (), None, "it is a list, not a mapping", "packet_schema()"),
        (None, (), None, "it is a NoneType, not a mapping", "packet_schema()"),
        ({"schema_version": "1"}, (), None, "schema_version: '1' is not an integer", "packet_schema()"),
        ({"schema_version": True}, (), None, "schema_version: True is not an integer", "packet_schema()"),
        ({"schema_version": 0}, (), 0, "no migration from schema version 0", "PacketMigration(0, ...)"),
        ({"schema_version": -5}, (), -5, "no migration from schema version -5", "PacketMigration(-5, ...)"),
        ({"schema_version": 0}, (PacketMigration(0, fail),), 0, "raised KeyError: 'problem'", "Fix the migration"),
        ({"schema_version": 0}, (PacketMigration(0, list),), 0, "returned a list, not a dict", "Fix the migration"),
        ({"schema_version": 0}, (PacketMigration(0, dict),) * 2, 0, "two migrations from schema version 0", "Register"),
        ({"reason": "boredom"}, (), 1, "reason: Input should be", "packet_schema()"),
        (
            {"entities": {"a": float("nan")}},
            (),
            1,
            "entities.a.float: Input should be a finite number",
            "packet_schema()",
        ),
        ({"schema_version": 9, "tone": float("nan")}, (), 9, "tone", "packet_schema()"),
        ({"schema_version": 9, UNREAD: 1, "reason": "?"}, (), 9, "reason", "packet_schema()"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_facts(
    payload: Any, migrations: tuple[PacketMigration, ...], version: int | None, problem: str, remedy: str
) -> None:
    with pytest.raises(PacketError) as caught:
        read_packet(payload, migrations)
    assert caught.value.schema_version == version
    assert problem in str(caught.value)
    assert remedy in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_text_of_an_error_can_itself_be_kept() -> None:
    def odd(old: dict[str, Any]) -> Any:
        raise ValueError("\ud800")

    with pytest.raises(PacketError) as caught:
        read_packet({"schema_version": 0}, [PacketMigration(0, odd)])
    assert HandoffPacket(evidence=str(caught.value)).evidence.count("\\ud800")
