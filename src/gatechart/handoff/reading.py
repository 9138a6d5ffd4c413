"""Read packets: upgrade older ones, and read the known fields of newer ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, Final

from pydantic import ValidationError

from gatechart.context import problems_of
from gatechart.errors.event import PacketError
from gatechart.errors.failures import is_failure
from gatechart.handoff.packet import FALLBACK_FIELDS, SCHEMA_VERSION, HandoffPacket, readable
from gatechart.values.frozen import value

UNREAD: Final = "unread"
"""Unknown field that keeps the fields of a newer packet that this release cannot read."""

_AS_PUBLISHED: Final = "Send a packet that matches the schema from gatechart.handoff.packet_schema()"


@value
class PacketMigration:
    """A conversion of packets from one schema version to the next.

    function: receives a copy of the packet as JSON values, and returns the JSON values of the next version; it need not
        set `schema_version`.
    """

    from_version: int
    function: Callable[[dict[str, Any]], dict[str, Any]]


def read_packet(payload: object, migrations: Iterable[PacketMigration] = ()) -> HandoffPacket:
    """Read a packet from JSON values. Raises PacketError if it cannot be read.

    payload: a mapping, which is not changed. Without a `schema_version` it counts as the current one. An older
        packet is upgraded, one version after another. A newer one keeps its version and its unknown fields; known
        fields with invalid values get their defaults, and their values are kept in the unknown field `unread`.

    >>> greet = PacketMigration(0, lambda old: {"current_problem": old["problem"]})
    >>> read_packet({"schema_version": 0, "problem": "no light"}, [greet]).current_problem
    'no light'
    """
    if not isinstance(payload, Mapping):
        raise PacketError((f"it is a {type(payload).__name__}, not a mapping",), None, _AS_PUBLISHED)
    version = payload.get("schema_version", SCHEMA_VERSION)
    if not isinstance(version, int) or isinstance(version, bool):
        raise PacketError((f"schema_version: {version!r} is not an integer",), None, _AS_PUBLISHED)
    if version < SCHEMA_VERSION:
        return _validated(_upgraded(payload, version, migrations), version)
    return _validated(payload, version)


def _upgraded(payload: Mapping[str, Any], version: int, migrations: Iterable[PacketMigration]) -> dict[str, Any]:
    steps = _by_version(migrations, version)
    packet: dict[str, Any] = deepcopy(dict(payload))
    for step in range(version, SCHEMA_VERSION):
        if step not in steps:
            problem = f"no migration from schema version {step} is registered"
            raise PacketError((problem,), version, f"Register PacketMigration({step}, ...), up to {SCHEMA_VERSION}")
        packet = _migrated(packet, steps[step], version) | {"schema_version": step + 1}
    return packet


def _by_version(migrations: Iterable[PacketMigration], version: int) -> dict[int, PacketMigration]:
    steps: dict[int, PacketMigration] = {}
    for migration in migrations:
        if migration.from_version in steps:
            problem = f"two migrations from schema version {migration.from_version} are registered"
            raise PacketError((problem,), version, "Register one")
        steps[migration.from_version] = migration
    return steps


def _migrated(packet: dict[str, Any], step: PacketMigration, version: int) -> dict[str, Any]:
    name = f"the migration from schema version {step.from_version}"
    remedy = "Fix the migration"
    try:
        upgraded = step.function(packet)
    except BaseException as error:
        if not is_failure(error):
            raise
        raised = readable(f"{type(error).__name__}: {error}")
        raise PacketError((name,), version, remedy, raised) from error
    if not isinstance(upgraded, dict):
        raise PacketError((f"{name} returned a {type(upgraded).__name__}, not a dict",), version, remedy)
    return upgraded


def _validated(packet: Mapping[str, Any], version: int) -> HandoffPacket:
    """Validate a packet. version: its version before upgrades."""
    try:
        return HandoffPacket.model_validate(packet)
    except ValidationError as error:
        misfits = _misfits(error) & packet.keys() if version > SCHEMA_VERSION and UNREAD not in packet else ()
        if misfits:
            readable_fields = {name: field for name, field in packet.items() if name not in misfits}
            return _validated(readable_fields | {UNREAD: {name: packet[name] for name in sorted(misfits)}}, version)
        raise PacketError(problems_of(error), version, _AS_PUBLISHED) from error


def _misfits(error: ValidationError) -> set[str]:
    """Return the fields of a packet that are invalid."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    return {str(fault["loc"][0]) for fault in faults if fault["loc"]}


RAW: Final = "raw"
"""Unknown field that keeps the packet as it arrived."""

_ROUTE_FIELDS: Final = (
    "handoff_id",
    "request",
    "session_id",
    "user_id",
    "source_agent",
    "source_graph",
    "source_state",
    "target_agent",
    "target_graph",
    "entry_point",
    "is_new",
    "mode",
    "reason",
    "deadline",
    "path",
    *FALLBACK_FIELDS,
    "attempts",
    "selection",
    "recipient",
)


def unreadable(payload: Mapping[str, Any], error: str) -> HandoffPacket:
    """Wrap an unreadable packet: keep it raw, with the reason and the fields that show its route."""
    route = {name: payload[name] for name in _ROUTE_FIELDS if name in payload and _is_readable(name, payload[name])}
    return HandoffPacket.model_validate({**route, "evidence": readable(error), RAW: dict(payload)})


def _is_readable(name: str, value: object) -> bool:
    try:
        HandoffPacket.model_validate({name: value})
    except ValidationError:
        return False
    return True
