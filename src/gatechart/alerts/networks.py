"""Public IP addresses, by the registries of IANA. The answer does not depend on the release of Python."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

# IANA IPv4 and IPv6 Special-Purpose Address Registries, as last updated on 2025-10-09:
#   https://www.iana.org/assignments/iana-ipv4-special-registry
#   https://www.iana.org/assignments/iana-ipv6-special-registry
# Blocks that are not "Globally Reachable", whether the registry says False or N/A. The two multicast blocks are from
# the IANA address space registries, as are the blocks of IPv6 that are not allocated.
_NOT_PUBLIC: Final = (
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",  # private use
    "100.64.0.0/10",  # shared address space
    "127.0.0.0/8",  # loopback
    "169.254.0.0/16",  # link-local
    "172.16.0.0/12",  # private use
    "192.0.0.0/24",  # IETF protocol assignments
    "192.0.2.0/24",  # documentation
    "192.88.99.0/24",  # 6to4 relay anycast (deprecated), and 6a44 relay anycast
    "192.168.0.0/16",  # private use
    "198.18.0.0/15",  # benchmarking
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved, and limited broadcast
    # Of IPv6, only 2000::/3 is allocated for global unicast. These hold loopback, IPv4-compatible addresses, 100::/64,
    # 5f00::/16, fc00::/7, fe80::/10, fec0::/10 and ff00::/8, and also 64:ff9b:1::/48: where the IPv4 address is in it
    # depends on the length of the translator's prefix, so it cannot be judged from here.
    "::/3",
    "4000::/2",
    "8000::/1",
    "2001::/23",  # IETF protocol assignments
    "2001:db8::/32",  # documentation
    "3fff::/20",  # documentation
)

# Blocks within those above that the registries mark as "Globally Reachable".
_PUBLIC_WITHIN: Final = (
    "192.0.0.9/32",  # Port Control Protocol anycast
    "192.0.0.10/32",  # TURN anycast
    "2001:1::1/128",  # Port Control Protocol anycast
    "2001:1::2/128",  # TURN anycast
    "2001:1::3/128",  # DNS-SD service registration anycast
    "2001:3::/32",  # AMT
    "2001:4:112::/48",  # AS112-v6
    "2001:20::/28",  # ORCHIDv2
    "2001:30::/28",  # drone remote identification
)

_TRANSLATED: Final = IPv6Network("64:ff9b::/96")  # NAT64: the last 32 bits are an IPv4 address


def _networks(blocks: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(ip_network(block) for block in blocks)


_REFUSED: Final = _networks(_NOT_PUBLIC)
_EXCEPTED: Final = _networks(_PUBLIC_WITHIN)


def is_public(address: str) -> bool:
    """Return whether packets to an IP address may cross the public Internet.

    An IPv6 address with embedded IPv4 addresses (IPv4-mapped, 6to4, Teredo, NAT64) is public if all of those are.
    False for a text that is not an IP address. The answer is the same on every release of Python.

    >>> [is_public(address) for address in ("93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c")]
    [True, True]
    >>> [is_public(address) for address in ("10.0.0.1", "127.0.0.1", "169.254.169.254", "224.0.0.1", "192.88.99.1")]
    [False, False, False, False, False]
    >>> [is_public(address) for address in ("::1", "fe80::1%eth0", "fec0::1", "3fff::1", "::ffff:10.0.0.1")]
    [False, False, False, False, False]
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(map(_is_reachable, _judged(parsed)))


def _is_reachable(address: Address) -> bool:
    return not _is_in(address, _REFUSED) or _is_in(address, _EXCEPTED)


def _is_in(address: Address, networks: tuple[Network, ...]) -> bool:
    return any(address in network for network in networks)  # False for a network of the other IP version


def _judged(address: Address) -> Iterator[Address]:
    """Yield the IPv4 addresses embedded in an IPv6 address; the address itself if it has none."""
    if isinstance(address, IPv4Address):
        yield address
    elif address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    elif address.sixtofour is not None:
        yield address.sixtofour
    elif address.teredo is not None:
        yield from address.teredo  # the server and the client: packets may go to either
    elif address in _TRANSLATED:
        yield IPv4Address(int(address) & 0xFFFF_FFFF)
    else:
        yield address
