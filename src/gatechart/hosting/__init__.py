"""What every home of agents shares: graphs, turns, invokes, commits, and the rules for mail."""
