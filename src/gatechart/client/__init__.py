"""A client."""
