"""The desk of a service that elicits, searches, offers, confirms and executes."""

from statecharts.service_desk.graph import service_desk
from statecharts.service_desk.scenarios import scenarios

__all__ = ["scenarios", "service_desk"]
