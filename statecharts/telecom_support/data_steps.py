"""Paths 2.1 and 2.2, unavailable and slow mobile data: what each step of the policy does with its tools."""

from __future__ import annotations

from typing import Final

from statecharts.telecom_support import answers
from statecharts.telecom_support.calls import TelecomWork, call, look_up_line
from statecharts.telecom_support.context import Seen, TelecomContext

MODE_WITH_5G: Final = "4g_5g_preferred"


async def run_speed_test(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Measure the speed of mobile data."""
    return Seen(speed=answers.speed(await call(work, "run_speed_test")))


async def check_data_roaming(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.1.2: look whether the phone may use other networks for data."""
    status = answers.fields(await call(work, "check_network_status"))
    return Seen(data_roaming=answers.is_on(status["data roaming enabled"]))


async def turn_data_roaming_on(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.1.2: let the phone use other networks for data."""
    if (await check_data_roaming(context, work)).data_roaming is False:
        await call(work, "toggle_roaming")
    return await run_speed_test(context, work)


async def verify_line_roaming(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.1.2: look whether the line is enabled for roaming."""
    return Seen(line_roaming=(await look_up_line(context, work))["roaming_enabled"])


async def enable_line_roaming(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.1.2: enable the line for roaming, at no cost."""
    await call(work, "enable_roaming", customer_id=context.line.customer_id, line_id=context.line.line_id)
    return await run_speed_test(context, work)


async def check_mobile_data(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.1.3: look whether mobile data is turned on."""
    status = answers.fields(await call(work, "check_network_status"))
    return Seen(mobile_data=answers.is_on(status["mobile data enabled"]))


async def turn_mobile_data_on(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.1.3: turn mobile data on."""
    if (await check_mobile_data(context, work)).mobile_data is False:
        await call(work, "toggle_data")
    return await run_speed_test(context, work)


async def check_data_usage(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.1.4: look whether the line has used up its data."""
    line = context.line
    usage = await call(work, "get_data_usage", customer_id=line.customer_id, line_id=line.line_id)
    limit_gb = float(usage["data_limit_gb"]) + float(usage["data_refueling_gb"])
    is_exceeded = float(usage["data_used_gb"]) >= limit_gb
    return Seen(usage_exceeded=is_exceeded, refueled_gb=float(usage["data_refueling_gb"]))


async def refuel_data(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.1.4: refuel as much as is permitted and not refueled yet, so that a repeat adds nothing."""
    line = context.line
    already = (await check_data_usage(context, work)).refueled_gb or 0.0
    missing = context.refuel_gb - already
    if missing > 0:
        await call(work, "refuel_data", customer_id=line.customer_id, line_id=line.line_id, gb_amount=missing)
    return await run_speed_test(context, work)


async def check_data_saver(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.2.1: look whether the phone saves data."""
    return Seen(data_saver=answers.is_on(await call(work, "check_data_restriction_status")))


async def turn_data_saver_off(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.2.1: let the phone use all data that it wants."""
    if (await check_data_saver(context, work)).data_saver:
        await call(work, "toggle_data_saver_mode")
    return await run_speed_test(context, work)


async def check_network_mode(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.2.2: look which networks the phone prefers."""
    said = answers.fields(await call(work, "check_network_mode_preference"))
    return Seen(network_mode=said["network mode preference"])


async def prefer_5g(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.2.2: let the phone prefer networks with 5G."""
    await call(work, "set_network_mode_preference", mode=MODE_WITH_5G)
    return await run_speed_test(context, work)


async def check_vpn(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.2.3: look whether data goes through a VPN."""
    return Seen(vpn=answers.is_vpn_connected(await call(work, "check_vpn_status")))


async def disconnect_vpn(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 2.2.3: turn the VPN off."""
    await call(work, "disconnect_vpn")
    return await run_speed_test(context, work)
