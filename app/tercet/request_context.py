"""What is known of the request that is handled now, wherever its handler calls."""

from contextvars import ContextVar

request_id: ContextVar[str] = ContextVar("request_id", default="-")
client_address: ContextVar[str] = ContextVar("client_address", default="")
# The path below which people reach the service, without a slash at its end; empty at the top of a host.
sub_path: ContextVar[str] = ContextVar("sub_path", default="")


def local(address: str) -> str:
    """Return the address, on this host, of a path of the service."""
    return sub_path.get() + address
