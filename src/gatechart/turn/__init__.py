"""Turns: take an event, run actions on the context, and return what is to be committed. Pure."""
