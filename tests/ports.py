"""Ports of loopback that a test has to itself, also while what listens there is dead and has not begun again."""

import os
import socket
from contextlib import suppress
from itertools import chain

FIRST = 20_000 + os.getpid() % 1000 * 10
QUIET = chain(range(FIRST, 32_000), range(20_000, FIRST))  # the system gives these to nobody by chance
HELD = {}  # of ports, the descriptors of the sockets that hold them


def free_ports(count):
    """Ports of loopback that are this process's until it ends: what listens there can be begun again and again."""
    return [_held(0) for _ in range(count)]


def quiet_port():
    """A port as above that this process gets once, and can give back: no engine of its own knows it from before."""
    for port in QUIET:
        with suppress(OSError):
            return _held(port)
    raise OSError("all ports are taken")


def _held(port):
    """Hold the port, or any with 0, by a socket that does not listen. Raises OSError where somebody has it.

    Until it is closed, neither a connection nor another test is given the port, also while nobody listens there. Those
    that set SO_REUSEADDR, as servers do, can listen there (on Linux).
    """
    holder = socket.socket()
    try:
        holder.bind(("127.0.0.1", port))
    except OSError:
        holder.close()
        raise
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    port = holder.getsockname()[1]
    HELD[port] = holder.detach()
    return port


def give_back(port):
    """Let others have the port."""
    os.close(HELD.pop(port))
