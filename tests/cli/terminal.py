"""What a program writes to a terminal."""

import os


def chunks(terminal):
    """What comes to the terminal, as it comes, until nobody holds its other end any more."""
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux's way of saying that nobody does
            return
        if not chunk:
            return
        yield chunk
