"""Run the `gatechart` command as `python -m gatechart`."""

import sys

from gatechart.cli import main

if __name__ == "__main__":  # pragma: no branch
    sys.exit(main())
