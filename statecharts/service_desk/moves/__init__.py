"""Conversations that use several services: an agent for each service, and a handoff for each move between them."""
