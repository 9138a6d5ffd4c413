"""Rules about the core of a graph, with the facts and the type that every rule needs; features have their own rules."""
