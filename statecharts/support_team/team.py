"""The five agents: what each can do, and a small graph for each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gatechart import ConversationContext, EntryPoint, HandoffPacket, State, StateTransitionGraph, Transition
from gatechart.results import Candidate
from gatechart.selection import Profile

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        "OrderAgent": Profile(("query_order", "track_shipping"), ("订单管理",), 1),
        "RefundAgent": Profile(("process_refund", "query_policy"), ("退款管理", "政策咨询"), 2),
        "TechSupportAgent": Profile(("troubleshoot_tech", "reset_account"), ("技术支持", "账户管理"), 2),
        "AdvancedOrderAgent": Profile(("query_special_order", "cancel_order"), ("高级订单管理",), 2),
        "HumanAgent_Tier3": Profile(("all_human_interaction",), ("通用客服",), 3),
    }
)


def _agent(name: str, profile: Profile) -> StateTransitionGraph[ConversationContext]:
    return StateTransitionGraph(
        name,
        context=ConversationContext,
        states=[State("SERVING", description="The customer is served."), State("SERVED", final=True)],
        transitions=[Transition("SERVING", "CUSTOMER_LEFT", "SERVED")],
        entry_points=[
            EntryPoint("SERVING", takes=HandoffPacket, profile=profile, description="Another agent could not go on.")
        ],
        description=f"Knows about {'、'.join(profile.domains)}.",
    )


team: Final = tuple(_agent(name, profile) for name, profile in PROFILES.items())


def candidates() -> tuple[Candidate, ...]:
    """Return the entry points of the team, as a choice sees them while none of the agents is busy."""
    return tuple(
        Candidate(f"{graph.name}.{door.name}", graph.name, door.name, profile=graph.profile_at(door.name) or Profile())
        for graph in team
        for door in graph.entry_points.values()
    )
