"""Requests of the server to other ones: a provider of OpenID Connect, the receivers of webhooks."""

import ssl
from functools import cache

import httpx


@cache
def trusted_authorities() -> ssl.SSLContext:
    """Return the certificate authorities that other servers are checked by; `SSL_CERT_FILE` names one's own.

    Reading them takes 20 ms in which a web process answers nobody, so that they are read once.
    """
    return httpx.create_ssl_context()
