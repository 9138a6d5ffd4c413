"""The example charts: a customer service, a leave approval, and the desk of a service that searches and sells."""

from __future__ import annotations

from gatechart import StateTransitionGraph
from statecharts.customer_service import customer_service
from statecharts.leave_approval import leave_approval
from statecharts.service_desk import service_desk
from statecharts.services import Services

graphs: tuple[StateTransitionGraph, ...] = (customer_service, leave_approval, service_desk)

__all__ = ["Services", "customer_service", "graphs", "leave_approval", "service_desk"]
