"""Which addresses are public: by a list of our own, so that every release of Python gives the same answer."""

from ipaddress import ip_network

import pytest

from gatechart.alerts import Webhook
from gatechart.alerts.addresses import AddressRefusedError
from gatechart.alerts.networks import is_public
from tests.alerts.receivers import ALERT

# "Globally Reachable" is False or N/A in the registries of IANA of 2025-10-09; the rest is multicast or not allocated.
NOT_PUBLIC = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/29 192.0.0.8/32 "
    "192.0.0.170/31 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 "
    "224.0.0.0/4 240.0.0.0/4 255.255.255.255/32 ::/128 ::1/128 ::7f00:1/128 64:ff9b:1::/48 100::/64 "
    "100:0:0:1::/64 2001:2::/48 2001:10::/28 2001:db8::/32 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 "
    "ff00::/8 4000::/3 1000::/4 e000::/4"
)
PUBLIC = (
    "8.8.8.0/24 9.255.255.255/32 11.0.0.0/32 100.63.255.255/32 100.128.0.0/32 172.15.255.255/32 172.32.0.0/32 "
    "192.0.0.9/32 192.0.0.10/32 192.31.196.0/24 192.52.193.0/24 192.88.98.0/24 192.88.100.0/24 192.175.48.0/24 "
    "223.255.255.255/32 2000::/32 2001:1::1/128 2001:1::2/128 2001:1::3/128 2001:3::/32 2001:4:112::/48 "
    "2001:20::/28 2001:30::/28 2001:200::/23 2606:2800:220::/48 2620:4f:8000::/48 3ffe::/16 3fff:1000::/32"
)


def ends(blocks):
    """Return the first and the last address of each block, as texts."""
    return [str(address) for block in map(ip_network, blocks.split()) for address in (block[0], block[-1])]


def mapped(*addresses):
    """Return IPv4 addresses in each form of IPv6 that holds one where everybody can see it."""
    for address in addresses:
        high, low = divmod(int(ip_network(address)[0]), 1 << 16)
        flipped = f"{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}"
        yield from (f"::ffff:{address}", f"64:ff9b::{address}", f"2002:{high:x}:{low:x}::1")
        yield from (f"2001:0:808:808::{flipped}", f"2001:0:{high:x}:{low:x}::f7f7:f7f7")


@pytest.mark.parametrize("address", ends(NOT_PUBLIC))
def test_an_address_of_a_special_block_is_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ends(PUBLIC))
def test_an_address_beside_the_special_blocks_is_public(address):
    assert is_public(address)


@pytest.mark.parametrize("address", list(mapped("10.0.0.1", "192.88.99.1", "169.254.169.254", "0.0.0.1", "224.0.0.1")))
def test_an_address_that_holds_a_private_one_is_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", list(mapped("8.8.4.4", "192.88.98.1")))
def test_an_address_that_holds_only_public_ones_is_public(address):
    assert is_public(address)


@pytest.mark.parametrize("text", ["", "example.org", "010.0.0.1", "8.8.8", "fec0::1%eth0", "::g"])
def test_what_is_no_public_address_is_not_taken_for_one(text):
    assert not is_public(text)


@pytest.mark.parametrize("host", ["[fec0::1]", "192.88.99.1", "[3fff::1]", "[::8.8.8.8]", "[64:ff9b:1::a00:1]"])
async def test_a_webhook_to_a_special_block_is_refused(host):
    with pytest.raises(AddressRefusedError, match="not public"):
        await Webhook(f"https://{host}/hook", secret="a secret of more than 16 bytes").deliver(ALERT)
