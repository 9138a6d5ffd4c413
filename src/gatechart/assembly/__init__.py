"""Assembly: the few modules that know all features."""
