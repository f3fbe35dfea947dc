"""Which addresses messages may go to: the public internet, never machines that only this server can reach.

A name proves nothing, for its owner may let it lead anywhere, and elsewhere a second later. So the address is looked up
once for each attempt, all that it leads to is checked, and the connection is to what was checked.
"""

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import httpx

# Addresses that hold one of version 4, which a gateway may take them to.
TRANSLATED = IPv6Network("64:ff9b::/96")
NOT_PUBLIC = "it is an address of a private network or of the server itself, which messages do not go to"


class NoAddress(Exception):
    """A name leads nowhere, or to where messages may not go."""


def fault_of_url(url: str, *, private_too: bool) -> str | None:
    """Return why messages cannot go to an address, as far as can be seen without looking its name up."""
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        return f"is no address: {error}"
    if parsed.scheme not in ("http", "https") or not parsed.host:
        return "must be an address that begins with https:// or http://"
    if parsed.userinfo or parsed.fragment:
        return "must have no user name, no password and nothing after #"
    try:
        literal = ip_address(parsed.host)
    except ValueError:
        return None
    return None if private_too or is_public(literal) else NOT_PUBLIC


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether an address is one of the public internet, for one machine, and hides no other."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address.sixtofour is not None or address.teredo is not None or address in TRANSLATED:
            return False
    return address.is_global and not address.is_multicast


async def look_up(host: str, port: int, *, private_too: bool) -> str:
    """Return an address that a name leads to; raise NoAddress if there is none, or if any of them is not public."""
    try:
        rows = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise NoAddress(f"The name {host} was not found ({error.strerror or error}).") from error
    addresses = [str(row[4][0]) for row in rows]
    if not addresses:
        raise NoAddress(f"The name {host} leads nowhere.")
    for address in addresses:
        if not private_too and not is_public(ip_address(address.partition("%")[0])):
            raise NoAddress(f"{host} was not connected to: {address}: {NOT_PUBLIC}.")
    return addresses[0]
