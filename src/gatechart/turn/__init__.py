"""Turns: take an event, run actions on the context, and return the record to commit. Pure."""
