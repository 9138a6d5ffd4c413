"""The charts of the shop, with the functions and types that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import gatechart
from gatechart import StateTransitionGraph
from gatechart.charts import load
from gatechart.contrib.human_desk import desk
from gatechart.handoff import Priority
from gatechart.selection import Profile
from statecharts.online_shop import actions, context, guards, shop


def _loaded(name: str) -> StateTransitionGraph[Any]:
    bound = [actions, context, guards, shop, {"HandoffPacket": gatechart.HandoffPacket}]
    return load(Path(__file__).with_name(f"{name}.yaml"), bind=bound)


general_enquiries: Final = _loaded("general_enquiries")
orders: Final = _loaded("orders")
advanced_orders: Final = _loaded("advanced_orders")
refunds: Final = _loaded("refunds")

human_desk: Final = desk(
    profiles={
        Priority.URGENT: Profile(capabilities=("do_by_hand",), tier=3, cost=20),
        Priority.HIGH: Profile(capabilities=("talk_in_person",), domains=("special orders",), tier=3, cost=20),
        Priority.NORMAL: Profile(domains=("anything",), tier=3, cost=20),
    }
)
"""The desk, where selections find people: each kind of work at the priority that it has."""

automatic: Final = (general_enquiries, orders, advanced_orders, refunds)
online_shop: Final = (*automatic, human_desk)
