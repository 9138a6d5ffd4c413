"""Path 3, picture messages: what each step of the policy does with its tools."""

from __future__ import annotations

from typing import Final

from statecharts.telecom_support import answers
from statecharts.telecom_support.calls import TelecomWork, call
from statecharts.telecom_support.context import Seen, TelecomContext
from statecharts.telecom_support.data_steps import MODE_WITH_5G

APP: Final = "messaging"  # the default app for messages


async def try_mms(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Look whether the messaging app can send a picture message."""
    return Seen(can_send_mms=answers.can_send_mms(await call(work, "can_send_mms")))


async def check_network_technology(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 3.3: look by what kind of network the phone is connected."""
    status = answers.fields(await call(work, "check_network_status"))
    return Seen(network=status["cellular network type"])


async def leave_2g(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 3.3: let the phone prefer faster networks."""
    await call(work, "set_network_mode_preference", mode=MODE_WITH_5G)
    return await try_mms(context, work)


async def check_wifi_calling(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 3.4: look whether calls go over Wi-Fi."""
    return Seen(wifi_calling=answers.is_on(await call(work, "check_wifi_calling_status")))


async def turn_wifi_calling_off(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 3.4: let calls go over the mobile network."""
    if (await check_wifi_calling(context, work)).wifi_calling:
        await call(work, "toggle_wifi_calling")
    return await try_mms(context, work)


async def verify_permissions(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 3.5: look what the messaging app may do."""
    said = await call(work, "check_app_permissions", app_name=APP)
    return Seen(missing_permissions=answers.missing_permissions(said))


async def grant_permissions(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 3.5: grant the messaging app what it needs and lacks."""
    for permission in (await verify_permissions(context, work)).missing_permissions or ():
        await call(work, "grant_app_permission", app_name=APP, permission=permission)
    return await try_mms(context, work)


async def check_apn(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 3.6: look whether the APN settings name a server of picture messages."""
    return Seen(has_mmsc_url=answers.has_mmsc_url(await call(work, "check_apn_settings")))


async def reset_apn_for_mms(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 3.6: reset the APN settings, which takes a restart."""
    await call(work, "reset_apn_settings")
    await call(work, "reboot_device")
    return await try_mms(context, work)
