"""The example charts: a customer service, a leave approval, the desk of a service that searches and sells, a shop.

The technical support of `telecom_support` is apart: it needs tools of a phone company, and plays a benchmark's tasks.
"""

from __future__ import annotations

from typing import Any

from gatechart import StateTransitionGraph
from statecharts.customer_service import customer_service
from statecharts.leave_approval import leave_approval
from statecharts.online_shop import online_shop
from statecharts.service_desk import service_desk
from statecharts.services import Services

examples: tuple[StateTransitionGraph[Any], ...] = (customer_service, leave_approval, service_desk)  # each for itself
graphs: tuple[StateTransitionGraph[Any], ...] = (*examples, *online_shop)  # and those of the shop, which hand work on

__all__ = ["Services", "customer_service", "examples", "graphs", "leave_approval", "online_shop", "service_desk"]
