"""The graph: its parts as users declare them, their validation, and its compiled form."""
