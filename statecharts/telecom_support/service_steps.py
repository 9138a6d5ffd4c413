"""The customer, and path 1, no service: what each step of the policy does with its tools."""

from __future__ import annotations

from datetime import date
from typing import Any

from statecharts.telecom_support import answers
from statecharts.telecom_support.calls import TelecomWork, call, look_up_line
from statecharts.telecom_support.context import Customer, Seen, TelecomContext
from statecharts.telecom_support.ticket import Request


async def identify_customer(context: TelecomContext, work: TelecomWork) -> Seen:
    """Find the customer, and the line that the ticket is about: the one of its number, or the only one."""
    for found in await _customers(context.request, work):
        lines = [await call(work, "get_details_by_id", id=line_id) for line_id in found["line_ids"]]
        for line in lines:
            if line["phone_number"] == context.request.phone_number or len(lines) == 1:
                return Seen(customer=Customer(customer_id=found["customer_id"], line_id=line["line_id"]))
    return Seen()


async def _customers(request: Request, work: TelecomWork) -> list[Any]:
    """Look the customer up: by phone number, by id, or by name, for which the policy wants the date of birth."""
    found = None
    if request.phone_number:
        found = await call(work, "get_customer_by_phone", phone_number=request.phone_number)
    if found is None and request.customer_id:
        found = await call(work, "get_customer_by_id", customer_id=request.customer_id)
    if found is None and request.full_name and request.date_of_birth:
        return list(await call(work, "get_customer_by_name", full_name=request.full_name, dob=request.date_of_birth))
    return [] if found is None else [found]


async def check_status_bar(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 1.0: look whether there is service."""
    return Seen(has_service=answers.has_service(await call(work, "check_status_bar")))


async def check_airplane_mode(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 1.1: look whether the phone is in airplane mode."""
    status = answers.fields(await call(work, "check_network_status"))
    return Seen(airplane_mode=answers.is_on(status["airplane mode"]))


async def turn_airplane_mode_off(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 1.1: turn airplane mode off."""
    if (await check_airplane_mode(context, work)).airplane_mode:
        await call(work, "toggle_airplane_mode")
    return await check_status_bar(context, work)


async def verify_sim(_context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 1.2: look whether the SIM card is there and works."""
    return Seen(sim=answers.sim(await call(work, "check_sim_status")))


async def reseat_sim(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 1.2: take the SIM card out and put it back."""
    await call(work, "reseat_sim_card")
    sim = answers.sim(await call(work, "check_sim_status"))
    return Seen(sim=sim, has_service=(await check_status_bar(context, work)).has_service)


async def reset_apn(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 1.3: reset the APN settings, which takes a restart."""
    await call(work, "reset_apn_settings")
    await call(work, "reboot_device")
    return await check_status_bar(context, work)


async def check_suspension(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 1.4: look whether the line is suspended, and why."""
    line = await look_up_line(context, work)
    overdue = await _overdue_bills(context, work)
    return Seen(line_status=line["status"], contract_end=line.get("contract_end_date"), overdue_bills=len(overdue))


async def pay_overdue_bill(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 1.4: send the user a payment request for the oldest overdue bill, and accept it for them."""
    overdue = await _overdue_bills(context, work)
    if not overdue:  # paid by an earlier call, of which no answer came
        return Seen(is_paid=True)
    bill = overdue[-1]["bill_id"]
    if overdue[-1]["status"] != "Awaiting Payment":
        await call(work, "send_payment_request", customer_id=context.line.customer_id, bill_id=bill)
    if bill in await call(work, "check_payment_request"):
        await call(work, "make_payment")
    return Seen(is_paid=(await call(work, "get_details_by_id", id=bill))["status"] == "Paid")


async def resume_line(context: TelecomContext, work: TelecomWork) -> Seen:
    """Step 1.4: lift the suspension, after which the phone needs a restart."""
    if (await look_up_line(context, work))["status"] != "Active":
        await call(work, "resume_line", customer_id=context.line.customer_id, line_id=context.line.line_id)
    await call(work, "reboot_device")
    return await check_status_bar(context, work)


async def _overdue_bills(context: TelecomContext, work: TelecomWork) -> list[Any]:
    """Return the customer's overdue bills, newest first; one for which a payment request was sent stays overdue."""
    bills = await call(work, "get_bills_for_customer", customer_id=context.line.customer_id)
    today = work.now.date()
    return [bill for bill in bills if bill["status"] == "Overdue" or _is_late(bill, today)]


def _is_late(bill: Any, today: date) -> bool:
    return bill["status"] == "Awaiting Payment" and date.fromisoformat(bill["due_date"]) < today
