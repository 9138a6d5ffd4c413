"""The seam shared by every runtime: graphs, turns, invokes, commits and the rules for mail."""
