"""The command that follows the turns of agents, beside the process that hosts them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gatechart.cli.completion import complete_agents
from gatechart.cli.late import late
from gatechart.cli.options import Settings
from gatechart.cli.output import print_hint
from gatechart.cli.run import print_turn
from gatechart.values import HistoryEntry, Query, Role, Snapshot

if TYPE_CHECKING:
    from gatechart import stores
    from gatechart.ports import Store
else:
    stores = late("gatechart.stores")

_LOOKS_S: Final = 0.3  # between two looks at the database
_SHARE: Final = 5  # it looks at most this part of the time, however many agents there are
FollowedArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[AGENT]",
        help="The id of the agent. Default: all agents.",
        show_default=False,
        autocompletion=complete_agents,
    ),
]


async def follow_agents(settings: Settings, agent: FollowedArgument = None) -> None:
    """Follow the turns of all agents, or of one, one line each, until Ctrl-C.

    It only reads, and works beside a host. It looks at the database about three times a second, less often if there are
    many agents. With --json, each line is a JSON document. Works without an app.

    Examples:
      gatechart tail
      gatechart tail case-1
      gatechart tail --json | jq -c '[.agent_id, .event.name, .target]'
    """
    try:
        async with stores.open_store(settings.store, role=Role.READER) as store:
            known = {each.agent_id: each.version for each in await _agents(store, agent)}
            print_hint(f"following {agent or 'all agents'} in {settings.store}; stop with Ctrl-C")
            while True:
                began = monotonic()
                for entry in await _news(store, agent, known):
                    print_turn(settings, entry)
                await asyncio.sleep(max(_LOOKS_S, _SHARE * (monotonic() - began)))
    except asyncio.CancelledError:
        raise KeyboardInterrupt("nothing was changed") from None


async def _news(store: Store, agent: str | None, known: dict[str, int]) -> list[HistoryEntry]:
    """Read the turns since the versions that are known, and note the new ones."""
    entries: list[HistoryEntry] = []
    for each in await _agents(store, agent):
        if each.version > (seen := known.get(each.agent_id, 0)):
            turns = await store.history(each.agent_id, after=seen)
            known[each.agent_id] = max((turn.version for turn in turns), default=each.version)
            entries += turns
    return sorted(entries, key=lambda entry: entry.event.time)


async def _agents(store: Store, agent: str | None) -> list[Snapshot]:
    """Read an agent, or all of them. Raises UnknownAgentError."""
    if agent is not None:
        return [await store.load(agent)]
    query, found = Query(limit=1_000), list[Snapshot]()
    while True:
        page = await store.find(query)
        found += page.agents
        if page.next is None:
            return found
        query = replace(query, after=page.next)
