"""The questions of the policy, asked of what the step before saw."""

from __future__ import annotations

from gatechart import Event
from statecharts.telecom_support.answers import NO_CONNECTION
from statecharts.telecom_support.context import Seen, TelecomContext
from statecharts.telecom_support.ticket import Topic


def seen(event: Event) -> Seen:
    """Return what the step saw that the event reports."""
    return Seen.model_validate(event.payload["result"])


def is_about_service(context: TelecomContext, _event: Event) -> bool:
    """Whether the user has no service."""
    return context.request.topic is Topic.SERVICE


def is_about_data(context: TelecomContext, _event: Event) -> bool:
    """Whether mobile data does not work, or is slow."""
    return context.request.topic is Topic.DATA


def is_about_mms(context: TelecomContext, _event: Event) -> bool:
    """Whether picture messages cannot be sent."""
    return context.request.topic is Topic.MMS


def is_unknown_customer(_context: TelecomContext, event: Event) -> bool:
    """Whether nobody has that number, or that name and date of birth."""
    return seen(event).customer is None


def has_service(_context: TelecomContext, event: Event) -> bool:
    """Whether the status bar shows a signal."""
    return seen(event).has_service is True


def is_airplane_mode_on(_context: TelecomContext, event: Event) -> bool:
    """Whether the phone is in airplane mode."""
    return seen(event).airplane_mode is True


def is_sim_missing(_context: TelecomContext, event: Event) -> bool:
    """Whether the phone has no SIM card."""
    return seen(event).sim == "missing"


def is_sim_active(_context: TelecomContext, event: Event) -> bool:
    """Whether the SIM card works."""
    return seen(event).sim == "active"


def is_not_suspended(_context: TelecomContext, event: Event) -> bool:
    """Whether the line is anything but suspended."""
    return seen(event).line_status != "Suspended"


def is_contract_over(_context: TelecomContext, event: Event) -> bool:
    """Whether the line's contract ended before today; who runs the support says what day it is."""
    end = seen(event).contract_end
    return end is not None and end < event.time.date()


def has_overdue_bill(_context: TelecomContext, event: Event) -> bool:
    """Whether the customer has overdue bills."""
    return bool(seen(event).overdue_bills)


def may_pay_overdue_bill(context: TelecomContext, event: Event) -> bool:
    """Whether there is an overdue bill, and the ticket permits payments."""
    return has_overdue_bill(context, event) and context.request.may_pay is True


def is_paid(_context: TelecomContext, event: Event) -> bool:
    """Whether the bill that was overdue is paid."""
    return seen(event).is_paid is True


def has_data(_context: TelecomContext, event: Event) -> bool:
    """Whether the speed test found a connection."""
    return seen(event).speed not in {None, NO_CONNECTION}


def is_excellent(_context: TelecomContext, event: Event) -> bool:
    """Whether the speed test found nothing to improve."""
    return seen(event).speed == "excellent"


def is_traveling(context: TelecomContext, _event: Event) -> bool:
    """Whether the user is outside their home network."""
    return context.request.is_traveling


def is_data_roaming_off(_context: TelecomContext, event: Event) -> bool:
    """Whether the phone does not use other networks for data."""
    return seen(event).data_roaming is False


def is_line_not_roaming(_context: TelecomContext, event: Event) -> bool:
    """Whether the line is not enabled for roaming."""
    return seen(event).line_roaming is False


def is_mobile_data_off(_context: TelecomContext, event: Event) -> bool:
    """Whether mobile data is turned off."""
    return seen(event).mobile_data is False


def is_usage_exceeded(_context: TelecomContext, event: Event) -> bool:
    """Whether the line has used up its data."""
    return seen(event).usage_exceeded is True


def may_refuel(context: TelecomContext, event: Event) -> bool:
    """Whether the line has used up its data, and more can be refueled in this billing cycle, as far as permitted."""
    return is_usage_exceeded(context, event) and context.refuel_gb > (seen(event).refueled_gb or 0)


def is_data_saver_on(_context: TelecomContext, event: Event) -> bool:
    """Whether the phone saves data."""
    return seen(event).data_saver is True


def is_mode_without_5g(_context: TelecomContext, event: Event) -> bool:
    """Whether the phone prefers a network mode that does not include 5G."""
    return "5g" not in (seen(event).network_mode or "5g")


def is_vpn_active(_context: TelecomContext, event: Event) -> bool:
    """Whether data goes through a VPN."""
    return seen(event).vpn is True


def can_send_mms(_context: TelecomContext, event: Event) -> bool:
    """Whether the messaging app can send picture messages."""
    return seen(event).can_send_mms is True


def is_on_2g(_context: TelecomContext, event: Event) -> bool:
    """Whether the phone is connected by 2G only."""
    return seen(event).network == "2G"


def is_wifi_calling_on(_context: TelecomContext, event: Event) -> bool:
    """Whether calls go over Wi-Fi."""
    return seen(event).wifi_calling is True


def is_permission_missing(_context: TelecomContext, event: Event) -> bool:
    """Whether the messaging app lacks a permission that it needs."""
    return bool(seen(event).missing_permissions)


def is_mmsc_url_missing(_context: TelecomContext, event: Event) -> bool:
    """Whether the APN settings name no server of picture messages."""
    return seen(event).has_mmsc_url is False
