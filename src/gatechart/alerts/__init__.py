"""Alerts to people and programs outside: webhooks and mail, durable, tried again, under a stable id."""
