"""The recorded scenarios."""

from __future__ import annotations

from statecharts.customer_service import scenarios as of_customer_service
from statecharts.leave_approval import scenarios as of_leave_approval
from statecharts.service_desk import scenarios as of_service_desk

SCENARIOS = (*of_customer_service, *of_leave_approval, *of_service_desk)
