"""The tools of the technical support, of the phone and of the company's systems, and which of them may be repeated.

A tool that only looks is safe to call again after a call of which no answer came; so is one that sets what is set
already. One that toggles, charges or pays is not: the step that needs it looks first what became of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from gatechart import ToolBox, tool
from gatechart.tools import ToolContext, ToolError
from statecharts.telecom_support.world import Worlds


async def _use(context: ToolContext, **arguments: Any) -> Any:
    """Use the tool in the agent's world. What it refuses is not worth another attempt."""
    try:
        return context.services.worlds[context.agent_id].use(context.tool, arguments)
    except ValueError as error:
        raise ToolError(str(error), retry=False) from error


async def _found(context: ToolContext, **arguments: Any) -> Any:
    """Use the tool, which refuses to find nobody; null is an answer like others."""
    try:
        return await _use(context, **arguments)
    except ToolError:
        return None


# The company's systems.


@tool(repeat="safe")
async def get_customer_by_phone(context: ToolContext, phone_number: str) -> Any:
    """Find a customer by the phone number of their contact or of one of their lines; null if nobody has it."""
    return await _found(context, phone_number=phone_number)


@tool(repeat="safe")
async def get_customer_by_id(context: ToolContext, customer_id: str) -> Any:
    """Find a customer by their id; null if nobody has it."""
    return await _found(context, customer_id=customer_id)


@tool(repeat="safe")
async def get_customer_by_name(context: ToolContext, full_name: str, dob: str) -> Any:
    """Find customers by their full name and date of birth."""
    return await _use(context, full_name=full_name, dob=dob)


@tool(repeat="safe")
async def get_details_by_id(context: ToolContext, id: str) -> Any:  # noqa: A002
    """Look up a customer, line, device, bill or plan by its id."""
    return await _use(context, id=id)


@tool(repeat="safe")
async def get_bills_for_customer(context: ToolContext, customer_id: str) -> Any:
    """List a customer's bills, newest first."""
    return await _use(context, customer_id=customer_id)


@tool
async def send_payment_request(context: ToolContext, customer_id: str, bill_id: str) -> Any:
    """Ask the customer to pay a bill."""
    return await _use(context, customer_id=customer_id, bill_id=bill_id)


@tool
async def resume_line(context: ToolContext, customer_id: str, line_id: str) -> Any:
    """Lift the suspension of a line."""
    return await _use(context, customer_id=customer_id, line_id=line_id)


@tool(repeat="safe")
async def get_data_usage(context: ToolContext, customer_id: str, line_id: str) -> Any:
    """Tell how much data a line has used in this billing cycle, and how much it may."""
    return await _use(context, customer_id=customer_id, line_id=line_id)


@tool(repeat="safe")
async def enable_roaming(context: ToolContext, customer_id: str, line_id: str) -> Any:
    """Enable a line for roaming."""
    return await _use(context, customer_id=customer_id, line_id=line_id)


@tool
async def refuel_data(context: ToolContext, customer_id: str, line_id: str, gb_amount: float) -> Any:
    """Add data to a line, at a price."""
    return await _use(context, customer_id=customer_id, line_id=line_id, gb_amount=gb_amount)


# The phone.


@tool(repeat="safe")
async def check_status_bar(context: ToolContext) -> Any:
    """Show the icons of the phone's status bar."""
    return await _use(context)


@tool(repeat="safe")
async def check_network_status(context: ToolContext) -> Any:
    """Show airplane mode, signal, kind of network, mobile data and data roaming."""
    return await _use(context)


@tool
async def toggle_airplane_mode(context: ToolContext) -> Any:
    """Turn airplane mode on or off."""
    return await _use(context)


@tool(repeat="safe")
async def check_sim_status(context: ToolContext) -> Any:
    """Show whether the SIM card is active, missing or locked."""
    return await _use(context)


@tool(repeat="safe")
async def reseat_sim_card(context: ToolContext) -> Any:
    """Take the SIM card out and put it back."""
    return await _use(context)


@tool(repeat="safe")
async def check_apn_settings(context: ToolContext) -> Any:
    """Show the APN settings, by which the phone connects to the carrier's data network."""
    return await _use(context)


@tool(repeat="safe")
async def reset_apn_settings(context: ToolContext) -> Any:
    """Have the APN settings reset at the next restart."""
    return await _use(context)


@tool(repeat="safe")
async def reboot_device(context: ToolContext) -> Any:
    """Restart the phone."""
    return await _use(context)


@tool(repeat="safe")
async def run_speed_test(context: ToolContext) -> Any:
    """Measure the speed of mobile data."""
    return await _use(context)


@tool
async def toggle_roaming(context: ToolContext) -> Any:
    """Turn data roaming on or off."""
    return await _use(context)


@tool
async def toggle_data(context: ToolContext) -> Any:
    """Turn mobile data on or off."""
    return await _use(context)


@tool(repeat="safe")
async def check_data_restriction_status(context: ToolContext) -> Any:
    """Show whether the phone saves data."""
    return await _use(context)


@tool
async def toggle_data_saver_mode(context: ToolContext) -> Any:
    """Turn the saving of data on or off."""
    return await _use(context)


@tool(repeat="safe")
async def check_network_mode_preference(context: ToolContext) -> Any:
    """Show which networks the phone prefers."""
    return await _use(context)


@tool(repeat="safe")
async def set_network_mode_preference(context: ToolContext, mode: str) -> Any:
    """Choose which networks the phone prefers."""
    return await _use(context, mode=mode)


@tool(repeat="safe")
async def check_vpn_status(context: ToolContext) -> Any:
    """Show whether data goes through a VPN."""
    return await _use(context)


@tool(repeat="safe")
async def disconnect_vpn(context: ToolContext) -> Any:
    """Disconnect the VPN."""
    return await _use(context)


@tool(repeat="safe")
async def can_send_mms(context: ToolContext) -> Any:
    """Tell whether the messaging app can send picture messages."""
    return await _use(context)


@tool(repeat="safe")
async def check_wifi_calling_status(context: ToolContext) -> Any:
    """Show whether calls go over Wi-Fi."""
    return await _use(context)


@tool
async def toggle_wifi_calling(context: ToolContext) -> Any:
    """Turn calls over Wi-Fi on or off."""
    return await _use(context)


@tool(repeat="safe")
async def check_app_permissions(context: ToolContext, app_name: str) -> Any:
    """Show what an app may do."""
    return await _use(context, app_name=app_name)


@tool(repeat="safe")
async def grant_app_permission(context: ToolContext, app_name: str, permission: str) -> Any:
    """Give an app a permission."""
    return await _use(context, app_name=app_name, permission=permission)


@tool(repeat="safe")
async def check_payment_request(context: ToolContext) -> Any:
    """Show which bill the user is asked to pay."""
    return await _use(context)


@tool
async def make_payment(context: ToolContext) -> Any:
    """Pay the bill that the user is asked to pay."""
    return await _use(context)


TOOLS: Final = ToolBox(
    [
        get_customer_by_phone,
        get_customer_by_id,
        get_customer_by_name,
        get_details_by_id,
        get_bills_for_customer,
        send_payment_request,
        resume_line,
        get_data_usage,
        enable_roaming,
        refuel_data,
        check_status_bar,
        check_network_status,
        toggle_airplane_mode,
        check_sim_status,
        reseat_sim_card,
        check_apn_settings,
        reset_apn_settings,
        reboot_device,
        run_speed_test,
        toggle_roaming,
        toggle_data,
        check_data_restriction_status,
        toggle_data_saver_mode,
        check_network_mode_preference,
        set_network_mode_preference,
        check_vpn_status,
        disconnect_vpn,
        can_send_mms,
        check_wifi_calling_status,
        toggle_wifi_calling,
        check_app_permissions,
        grant_app_permission,
        check_payment_request,
        make_payment,
    ]
)


@dataclass(frozen=True, slots=True)
class Services:
    """What the support needs from outside."""

    tools: ToolBox = TOOLS
    worlds: Worlds = field(default_factory=Worlds)
