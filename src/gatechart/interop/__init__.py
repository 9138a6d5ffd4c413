"""Charts from other worlds, as graphs: `interop.scxml` reads SCXML, `interop.transitions` takes over machines."""
