"""Transfers: targets that a state offers to a model as tools."""
