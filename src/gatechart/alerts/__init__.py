"""Durable alerts to people and other programs, by webhook and mail. Failed deliveries are retried under a stable id."""
