"""Searchable fields of agents: declared as graphs are registered, and filled in the background."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Final

from gatechart.errors.operation import RuntimeClosedError
from gatechart.errors.outside import OwnershipLostError
from gatechart.hosting.registry import Registry
from gatechart.hosting.search import declared_in
from gatechart.runtime.core import Core

BATCH: Final = 500
"""Agents whose values are added in one commit, so that turns wait only briefly."""


async def declare(core: Core, registry: Registry) -> None:
    """Declare the searchable fields of the graphs. The owner starts to add the values of existing agents."""
    if await core.store.declare(declared_in(registry)) and core.attends:
        core.attend(_fill(core), "fill searchable fields")


async def _fill(core: Core) -> None:
    with suppress(OwnershipLostError, RuntimeClosedError):
        while await core.ask(partial(core.store.fill, limit=BATCH)):
            pass
