"""Lets `python -m gatechart` do what the command `gatechart` does."""

import sys

from gatechart.cli import main

if __name__ == "__main__":  # pragma: no branch
    sys.exit(main())
