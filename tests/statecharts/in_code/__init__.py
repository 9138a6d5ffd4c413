"""The example charts written in code, as a user may who prefers that."""
