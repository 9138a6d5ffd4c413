"""What the chart notes on its way, and what it hands to people."""

from __future__ import annotations

from typing import Final

from gatechart import Event, HandoffPacket, Turn
from gatechart.graph.definition import Action
from statecharts.telecom_support.context import TelecomContext
from statecharts.telecom_support.guards import seen
from statecharts.telecom_support.ticket import read

REASONS: Final = {
    "tools_keep_failing": "Tools that are needed keep failing.",
    "support_goes_in_circles": "The support does the same again and again, and gets nowhere.",
    "customer_is_unknown": "The customer and their line could not be identified.",
    "ticket_is_out_of_scope": "The ticket is about nothing that technical support repairs.",
    "sim_is_locked": "The SIM card is locked, or does not work.",
    "sim_does_not_work": "The SIM card does not work, even re-seated.",
    "service_is_down": "There is no service, and the line is not suspended.",
    "contract_is_over": "The line is suspended, and its contract has ended.",
    "payment_is_not_permitted": "The line is suspended for a bill that the ticket gives no permission to pay.",
    "bill_is_not_paid": "The overdue bill was not paid.",
    "service_is_down_after_all": "There is no service, though the line is no longer suspended.",
    "refueling_is_not_permitted": "The line has used up its data, and no more may be refueled.",
    "data_is_down_refueled": "There is no mobile data, though more was refueled.",
    "data_is_down": "There is no mobile data, though everything is turned on and the usage is not exceeded.",
    "data_is_slow": "Mobile data is slow, and there is no VPN.",
    "data_is_slow_without_vpn": "Mobile data is slow, even without the VPN.",
    "mms_fails": "Picture messages cannot be sent, though every setting is right.",
    "mms_fails_with_default_apn": "Picture messages cannot be sent, even with the default APN settings.",
}
"""Why a case is transferred, in the words for those who take it, by what a transition says of it."""

_DONE: Final = "done.invoke."
_FAILED: Final = "error.invoke."


def read_ticket(context: TelecomContext, _event: Event, turn: Turn) -> None:
    """Keep what the ticket says."""
    context.request = read(context.ticket)
    context.initial_query = context.current_problem = context.ticket
    context.say("user", context.ticket, turn.now)


def note_step(context: TelecomContext, event: Event) -> None:
    """Keep what a step saw, or why it failed, for whoever takes the case over."""
    if event.name.startswith(_DONE):
        saw = seen(event).model_dump_json(exclude_none=True)
        context.note(event.name.removeprefix(_DONE), outcome=saw)
    elif event.name.startswith(_FAILED):
        context.note(event.name.removeprefix(_FAILED), outcome=f"failed: {event.payload['message']}")


def keep_customer(context: TelecomContext, event: Event) -> None:
    """Keep whose case it is."""
    context.customer = seen(event).customer


def _because(name: str, text: str) -> Action[TelecomContext]:
    def because(context: TelecomContext, _event: Event) -> None:
        context.transferred_because = text

    because.__name__ = f"because_{name}"
    return because


because: Final = {f"because_{name}": _because(name, text) for name, text in REASONS.items()}
"""The actions that keep why a case is transferred, by name."""


def case_file(context: TelecomContext, _event: Event) -> HandoffPacket:
    """Return the packet for people: the ticket, what was tried, and why it comes to them."""
    return context.packet(current_problem=context.transferred_because)
