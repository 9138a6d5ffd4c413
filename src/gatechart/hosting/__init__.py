"""The layer that all runtimes share: graphs, turns, invokes, commits and the rules for mail."""
