"""Conditions on columns that hold ids and graphs of the framework."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, or_

from gatechart.values.framework import OWN_KINDS, OwnKind


def begins(column: ColumnElement[str], prefix: str) -> ColumnElement[bool]:
    """Whether a text has a prefix. LIKE would ignore case on SQLite, and bounds depend on the collation."""
    return func.substr(column, 1, len(prefix)) == prefix


def is_of(kind: OwnKind, agent_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a column has the id of an agent of a kind."""
    return begins(agent_id, kind.agent) if kind.agent.endswith(":") else agent_id == kind.agent


def is_framework(agent_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether a column has the id of an agent of the framework, as `is_framework_id` says."""
    return or_(*(is_of(each, agent_id) for each in OWN_KINDS))
