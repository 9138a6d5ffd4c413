"""A customer's case, from the first word to the farewell, with five entry points."""

from statecharts.customer_service.graph import customer_service
from statecharts.customer_service.scenarios import scenarios

__all__ = ["customer_service", "scenarios"]
