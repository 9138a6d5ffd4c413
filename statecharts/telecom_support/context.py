"""What the support knows of a case: what the ticket says, and whom it is about."""

from __future__ import annotations

from datetime import date
from typing import Final

from pydantic import BaseModel, ConfigDict

from gatechart import ConversationContext
from statecharts.telecom_support.ticket import Request

MOST_REFUEL_GB: Final = 2.0  # in a billing cycle


class Customer(BaseModel):
    """Whose case it is, and the line that the ticket names."""

    model_config = ConfigDict(frozen=True)

    customer_id: str
    line_id: str


class TelecomContext(ConversationContext):
    """A case of the technical support."""

    ticket: str = ""
    presumes_consent: bool = True
    request: Request = Request()
    customer: Customer | None = None
    transferred_because: str = ""

    @property
    def line(self) -> Customer:
        """The customer, once identified."""
        if self.customer is None:
            raise ValueError("the customer is not identified; enter at OPEN_TICKET")
        return self.customer

    @property
    def refuel_gb(self) -> float:
        """How much data may be refueled in this billing cycle, in GB; 0 if none."""
        agreed = self.request.may_refuel
        if agreed is False or (agreed is None and not self.presumes_consent):
            return 0.0
        wanted = self.request.refuel_gb
        return MOST_REFUEL_GB if wanted is None else min(wanted, MOST_REFUEL_GB)


class Seen(BaseModel):
    """What a step saw of the phone and of the line. None: it did not look."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    customer: Customer | None = None
    has_service: bool | None = None
    airplane_mode: bool | None = None
    sim: str | None = None  # active, missing, locked
    speed: str | None = None  # in lower case, "excellent"; "no connection"
    data_roaming: bool | None = None  # of the phone
    mobile_data: bool | None = None
    network: str | None = None  # "2G" to "5G", or "none"
    line_status: str | None = None  # "Active", "Suspended", …
    line_roaming: bool | None = None
    contract_end: date | None = None
    overdue_bills: int | None = None
    is_paid: bool | None = None
    usage_exceeded: bool | None = None
    refueled_gb: float | None = None  # in this billing cycle
    data_saver: bool | None = None
    network_mode: str | None = None  # that the phone prefers, "4g_5g_preferred"
    vpn: bool | None = None
    can_send_mms: bool | None = None
    wifi_calling: bool | None = None
    missing_permissions: tuple[str, ...] | None = None  # of the messaging app
    has_mmsc_url: bool | None = None
