"""What gatechart costs, beside a raw limit and its peers. Run it with `make bench`."""
