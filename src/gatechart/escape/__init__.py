"""How an agent gets out of what its signals noticed. Pure."""

from gatechart.escape.routes import leads_away, routes

__all__ = ["leads_away", "routes"]
