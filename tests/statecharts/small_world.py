"""A phone and the systems of its company, small enough to be read, that answer in the words of the benchmark's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CUSTOMER = {"customer_id": "C1001", "full_name": "Ada Byron", "date_of_birth": "1985-12-10", "line_ids": ["L0", "L1"]}
NUMBER = "555-123-0001"
PEOPLE_SAY = f"Customer name: Ada Byron, phone number: {NUMBER}, current location: at home in the United States."
NO_SERVICE = f"They cannot make calls. {PEOPLE_SAY} They will consider the issue resolved when there is a signal."
NO_DATA = f"Their mobile data fails. {PEOPLE_SAY} It is resolved when a speed test returns excellent internet speed."
NO_MMS = f"They cannot send MMS. {PEOPLE_SAY} It is resolved when an MMS message can be sent."

CHANGES = ("toggle_", "reseat_", "reset_", "reboot_", "set_", "disconnect_", "grant_", "send_", "make_", "resume_")


@dataclass
class SmallWorld:
    """What is not said is in order. A tool is the method of its name."""

    airplane_mode: bool = False
    sim: str = "active"
    apn: str = "internet"
    mmsc_url: str | None = "http://mms.example.com"
    will_reset_apn: bool = False
    is_abroad: bool = False
    data_roaming: bool = False
    line_roaming: bool = True
    mobile_data: bool = True
    used_gb: float = 1.0
    refueled_gb: float = 0.0
    data_saver: bool = False
    network_mode: str = "4g_5g_preferred"
    vpn: bool = False
    wifi_calling: bool = False
    permissions: frozenset[str] = frozenset({"sms", "storage"})
    line_status: str = "Active"
    contract_end: str = "2026-12-31"
    bills: dict[str, str] = field(default_factory=lambda: {"B1": "Paid"})
    is_restarted: bool = True  # since the line was resumed

    def __post_init__(self) -> None:
        self.bills = dict(self.bills)  # which payments change

    def use(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        return getattr(self, tool)(**arguments)

    def is_change(self, tool: str) -> bool:
        return tool.startswith((*CHANGES, "enable_", "refuel_"))

    @property
    def has_service(self) -> bool:
        is_on = self.line_status == "Active" and self.is_restarted
        return is_on and not self.airplane_mode and self.sim == "active" and self.apn == "internet"

    @property
    def has_data(self) -> bool:
        may_roam = not self.is_abroad or (self.data_roaming and self.line_roaming)
        return self.has_service and may_roam and self.mobile_data and self.used_gb < 15 + self.refueled_gb

    # The company's systems.

    def get_customer_by_phone(self, phone_number: str) -> Any:
        if phone_number != NUMBER:
            raise ValueError(f"Customer with phone number {phone_number} not found")
        return CUSTOMER

    def get_customer_by_id(self, customer_id: str) -> Any:
        if customer_id != CUSTOMER["customer_id"]:
            raise ValueError(f"Customer with ID {customer_id} not found")
        return CUSTOMER

    def get_customer_by_name(self, full_name: str, dob: str) -> Any:
        return [CUSTOMER] if (full_name, dob) == (CUSTOMER["full_name"], CUSTOMER["date_of_birth"]) else []

    def get_details_by_id(self, id: str) -> Any:  # noqa: A002
        if id.startswith("B"):
            return {"bill_id": id, "status": self.bills[id], "due_date": "2025-02-01"}
        number = NUMBER if id == "L1" else "555-123-0000"
        facts = {"status": self.line_status, "roaming_enabled": self.line_roaming}
        return {"line_id": id, "phone_number": number, "contract_end_date": self.contract_end, **facts}

    def get_bills_for_customer(self, customer_id: str) -> Any:
        return [self.get_details_by_id(bill) for bill in self.bills]

    def send_payment_request(self, customer_id: str, bill_id: str) -> str:
        if "Awaiting Payment" in self.bills.values():
            raise ValueError("A bill is already awaiting payment for this customer")
        self.bills[bill_id] = "Awaiting Payment"
        return f"Payment request sent to the customer for bill {bill_id}"

    def check_payment_request(self) -> str:
        asked = next((bill for bill, status in self.bills.items() if status == "Awaiting Payment"), None)
        return f"You have a payment request for bill {asked} of 65.0 USD." if asked else "No payment request was made."

    def make_payment(self) -> str:
        asked = next(bill for bill, status in self.bills.items() if status == "Awaiting Payment")
        self.bills[asked] = "Paid"
        return f"Payment of 65.0 USD has been made for bill {asked}."

    def resume_line(self, customer_id: str, line_id: str) -> Any:
        if self.line_status != "Suspended":
            raise ValueError("Line must be suspended to resume")
        self.line_status, self.is_restarted = "Active", False
        return {"message": "Line resumed successfully"}

    def get_data_usage(self, customer_id: str, line_id: str) -> Any:
        return {"data_used_gb": self.used_gb, "data_limit_gb": 15.0, "data_refueling_gb": self.refueled_gb}

    def enable_roaming(self, customer_id: str, line_id: str) -> str:
        self.line_roaming = True
        return "Roaming enabled successfully"

    def refuel_data(self, customer_id: str, line_id: str, gb_amount: float) -> Any:
        self.refueled_gb += gb_amount
        return {"new_data_refueling_gb": self.refueled_gb}

    # The phone.

    def check_status_bar(self) -> str:
        signal = (
            "✈️ Airplane Mode" if self.airplane_mode else "📶⁴ Excellent | 5G" if self.has_service else "📵 No Signal"
        )
        return f"Status Bar: {signal} | 📵 Data Disabled | 🔋 80%"

    def check_network_status(self) -> str:
        kind = "none" if not self.has_service else "2G" if self.network_mode == "2g_only" else "5G"
        return "\n".join(
            (
                f"Airplane Mode: {'ON' if self.airplane_mode else 'OFF'}",
                f"Cellular Network Type: {kind}",
                f"Mobile Data Enabled: {'Yes' if self.mobile_data else 'No'}",
                f"Data Roaming Enabled: {'Yes' if self.data_roaming else 'No'}",
            )
        )

    def check_sim_status(self) -> str:
        said = {"active": "Your SIM card is active and working.", "missing": "No SIM card detected in the phone."}
        return said.get(self.sim, "The SIM card is locked with a PUK code.")

    def reseat_sim_card(self) -> str:
        self.sim = "active" if self.sim == "missing" else self.sim
        return "SIM card re-seated successfully."

    def check_apn_settings(self) -> str:
        return f"Current APN Name: {self.apn}\nMMSC URL (for picture messages): {self.mmsc_url or 'Not Set'}"

    def reset_apn_settings(self) -> str:
        self.will_reset_apn = True
        return "APN settings will reset at reboot."

    def reboot_device(self) -> str:
        if self.will_reset_apn:
            self.apn, self.mmsc_url, self.will_reset_apn = "internet", "http://mms.example.com", False
        self.is_restarted = True
        return f"Restarting network services...\n{self.check_status_bar()}"

    def run_speed_test(self) -> str:
        if not self.has_data:
            return "Speed test failed: No Connection."
        slow = self.data_saver or self.vpn or self.network_mode != "4g_5g_preferred"
        return f"Speed Test Result: 44.00 Mbps ({'Good' if slow else 'Excellent'}). Connection is there."

    def check_data_restriction_status(self) -> str:
        return f"Data Saver mode is {'ON (limits data usage)' if self.data_saver else 'OFF'}."

    def check_network_mode_preference(self) -> str:
        return f"Network Mode Preference: {self.network_mode}"

    def set_network_mode_preference(self, mode: str) -> str:
        self.network_mode = mode
        return f"Preferred Network Mode set to: {mode}"

    def check_vpn_status(self) -> str:
        return "VPN is ON and connected. Details: {}" if self.vpn else "VPN is turned OFF."

    def disconnect_vpn(self) -> str:
        self.vpn = False
        return "VPN disconnected successfully."

    def can_send_mms(self) -> str:
        is_set_up = self.mmsc_url is not None and {"sms", "storage"} <= self.permissions
        can = self.has_data and is_set_up and self.network_mode != "2g_only" and not self.wifi_calling
        return f"Your messaging app {'can' if can else 'cannot'} send MMS messages."

    def check_wifi_calling_status(self) -> str:
        return f"Wi-Fi Calling is currently turned {'ON' if self.wifi_calling else 'OFF'}."

    def check_app_permissions(self, app_name: str) -> str:
        if not self.permissions:
            return f"App '{app_name}' currently has no permissions granted."
        return f"App '{app_name}' has permission for: {', '.join(sorted(self.permissions))}."

    def grant_app_permission(self, app_name: str, permission: str) -> str:
        self.permissions |= {permission}
        return f"Success. Permission '{permission}' granted to app '{app_name}'."

    def toggle_airplane_mode(self) -> str:
        return self._toggled("airplane_mode", "Airplane Mode")

    def toggle_roaming(self) -> str:
        return self._toggled("data_roaming", "Data Roaming")

    def toggle_data(self) -> str:
        return self._toggled("mobile_data", "Mobile Data")

    def toggle_data_saver_mode(self) -> str:
        return self._toggled("data_saver", "Data Saver Mode")

    def toggle_wifi_calling(self) -> str:
        return self._toggled("wifi_calling", "Wi-Fi Calling")

    def _toggled(self, name: str, setting: str) -> str:
        setattr(self, name, not getattr(self, name))
        return f"{setting} is now {'ON' if getattr(self, name) else 'OFF'}.\n{self.check_status_bar()}"
