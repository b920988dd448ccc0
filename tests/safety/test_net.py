"""Which addresses of the network may be connected to."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shipmate.safety.net import METADATA, refused_address

REFUSED = """
    0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.255.254 169.254.1.1
    172.16.0.1 172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.19.255.255
    198.51.100.7 203.0.113.9 224.0.0.1 239.1.2.3 240.0.0.1 255.255.255.255
    :: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1 ::ffff:0:127.0.0.1
    64:ff9b::7f00:1 64:ff9b::10.1.2.3 64:ff9b::a9fe:a9fe 64:ff9b:1::8.8.8.8 100::1
    2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:10::1 2001:20::1 2001:db8::1
    2002:7f00:1::1 2002:808:808::1 3fff::1 5f00::1 fc00::1 fdff::1 fe80::1 fe80::1%eth0 fec0::1
    ff02::1 2607:f8b0::5efe:127.0.0.1 2607:f8b0::200:5efe:10.0.0.1 2606:4700::1%eth0 4000::1 e000::1
    localhost 127.1 0x7f.0.0.1 1.2.3.4.5 example.com
"""
ALLOWED = """
    1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0
    169.253.255.255 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255
    198.20.0.0 223.255.255.255 168.63.129.17
    2606:4700:4700::1111 2001:4860:4860::8888 2001:200::1 2400:cb00::1 ::ffff:8.8.8.8
    64:ff9b::8.8.8.8 2607:f8b0::5efe:8.8.8.8
"""


@pytest.mark.parametrize("address", [*REFUSED.split(), "", *METADATA])
def test_an_address_outside_the_public_network_is_refused(address: str) -> None:
    assert refused_address(address)


@pytest.mark.parametrize("address", ALLOWED.split())
def test_an_address_of_the_public_network_may_be_connected_to(address: str) -> None:
    assert refused_address(address) == ""


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_in_an_ipv6_spelling_is_judged_no_milder(
    address: ipaddress.IPv4Address,
) -> None:
    number = int(address)
    plain = refused_address(str(address))
    for base in ("::ffff:0:0", "64:ff9b::", "64:ff9b:1::", "::", "2002::", "::ffff:0:0:0"):
        shift = 80 if base == "2002::" else 0
        spelled = ipaddress.IPv6Address(int(ipaddress.IPv6Address(base)) | number << shift)
        assert refused_address(str(spelled)) or not plain


@given(st.ip_addresses())
def test_nothing_that_python_calls_private_is_let_pass(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    reached = getattr(address, "ipv4_mapped", None) or address
    if reached.is_private or reached.is_multicast or reached.is_reserved or reached.is_link_local:
        nat64 = address in ipaddress.ip_network("64:ff9b::/96")
        assert nat64 or refused_address(str(address))
