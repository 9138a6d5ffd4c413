"""Values that are stored, sent and returned, each in the module of its subject."""
