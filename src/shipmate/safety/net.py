"""Addresses of the network: which of them a request on an agent's behalf may go to.

Pure: no name is looked up. What a name stands for is judged when it is connected to
(`network.client`), by the same `refused_address`.
"""

import ipaddress
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

METADATA: Final = {
    "100.100.100.200": "Alibaba",
    "168.63.129.16": "Azure",
    "169.254.169.254": "AWS, Azure, Google and others",
    "169.254.170.2": "AWS ECS",
    "169.254.170.23": "AWS EKS",
    "192.0.0.192": "Oracle",
    "fd00:ec2::23": "AWS EKS",
    "fd00:ec2::254": "AWS",
    "fd20:ce::254": "Google",
}
"""Where clouds hand credentials to the machines that run in them."""

_SPECIAL: Final = {
    "0.0.0.0/8": "this machine (unspecified)",
    "10.0.0.0/8": "a private network",
    "100.64.0.0/10": "a carrier's own network (CGNAT)",
    "127.0.0.0/8": "this machine (loopback)",
    "169.254.0.0/16": "link-local",
    "172.16.0.0/12": "a private network",
    "192.0.0.0/24": "reserved for protocols",
    "192.0.2.0/24": "for documentation only",
    "192.88.99.0/24": "a 6to4 relay",
    "192.168.0.0/16": "a private network",
    "198.18.0.0/15": "for benchmarks only",
    "198.51.100.0/24": "for documentation only",
    "203.0.113.0/24": "for documentation only",
    "224.0.0.0/4": "multicast",
    "255.255.255.255/32": "broadcast",
    "240.0.0.0/4": "reserved",
    "::/128": "this machine (unspecified)",
    "::1/128": "this machine (loopback)",
    "::/96": "an IPv4 address in an outdated spelling",
    "::ffff:0:0:0/96": "an IPv4 address in translation",
    "64:ff9b:1::/48": "a private network behind NAT64",
    "2001::/32": "a Teredo tunnel",
    "2001::/23": "reserved for protocols",
    "2001:db8::/32": "for documentation only",
    "2002::/16": "a 6to4 tunnel",
    "3fff::/20": "for documentation only",
    "fc00::/7": "a private network (unique local)",
    "fe80::/10": "link-local",
    "fec0::/10": "a private network (site-local)",
    "ff00::/8": "multicast",
}
"""The registries of special-purpose addresses (RFC 6890 and its successors), the narrower first."""
_NETWORKS: Final = [(ipaddress.ip_network(net), what) for net, what in _SPECIAL.items()]
_GLOBAL: Final = IPv6Network("2000::/3")
"""All that is given out for the public IPv6 network."""
_MAPPED: Final = IPv6Network("::ffff:0:0/96")
_NAT64: Final = IPv6Network("64:ff9b::/96")
_ISATAP: Final = 0x5EFE
"""In an interface id: an IPv4 address of a tunnel follows (RFC 5214)."""


def is_loopback(host: str) -> bool:
    """Whether a host, as `urlsplit` gives it, is this machine. No name is looked up."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(1024)
def refused_address(address: str) -> str:
    """Why nothing may be connected to at this IP address; "" where it is the public network.

    `ipaddress.is_global` is not asked: it lets multicast, NAT64 and site-local addresses pass,
    and Azure's metadata server. What is no address at all is refused.
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "not an IP address"
    if isinstance(found, IPv6Address) and found.scope_id is not None:
        return "an address of one network card only"
    return _refused(found)


def _refused(address: Address) -> str:
    if cloud := METADATA.get(str(address)):
        return f"the metadata server of a cloud ({cloud})"
    if isinstance(address, IPv6Address) and (inner := _embedded(address)):
        reason = _refused(inner)
        return f"{reason}, spelled as IPv6" if reason else ""
    for network, what in _NETWORKS:
        if _inside(address, network):
            return what
    if isinstance(address, IPv4Address):
        return ""
    if address not in _GLOBAL:
        return "not of the public network"
    return _behind_isatap(address)


def _inside(address: Address, network: IPv4Network | IPv6Network) -> bool:
    return address.version == network.version and address in network


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that is reached by this one: its public ones may be reached so too, as
    networks without IPv4 do (NAT64)."""
    if address in _MAPPED or address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


def _behind_isatap(address: IPv6Address) -> str:
    tunnel = int(address) >> 32 & 0xFFFF == _ISATAP
    reason = _refused(IPv4Address(int(address) & 0xFFFF_FFFF)) if tunnel else ""
    return f"{reason}, behind a tunnel" if reason else ""
