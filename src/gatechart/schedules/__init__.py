"""Schedules: agents that are started again and again, and the graph that keeps them."""
