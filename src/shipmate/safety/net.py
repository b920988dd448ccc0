"""Addresses of the network."""

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether a host, as `urlsplit` gives it, is this machine. No name is looked up."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
