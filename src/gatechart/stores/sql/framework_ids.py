"""Conditions on columns with ids and graphs of the framework."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, or_

from gatechart.values.framework import OWN_KINDS, OwnKind


def begins(column: ColumnElement[str], prefix: str) -> ColumnElement[bool]:
    """Whether a text has a prefix. LIKE would ignore case on SQLite, and bounds depend on the collation."""
    return func.substr(column, 1, len(prefix)) == prefix


def is_of(kind: OwnKind, agent_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a column has the id of a framework agent of this kind."""
    return begins(agent_id, kind.agent) if kind.agent.endswith(":") else agent_id == kind.agent


def is_framework(agent_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a column has the id of a framework agent, by the rule of `is_framework_id`."""
    return or_(*(is_of(kind, agent_id) for kind in OWN_KINDS))
