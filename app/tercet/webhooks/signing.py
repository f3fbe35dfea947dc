"""Signs messages, so that who gets one knows that it is from this server, whole, and not an old one sent again.

The header `Tercet-Signature` is `t=SECONDS,v1=HEX`: the Unix time of the attempt, and the HMAC-SHA256, with the
webhook's secret as key, of that time, a full stop and the body.
"""

import hashlib
import hmac

HEADER = "Tercet-Signature"


def sign(secret: str, seconds: int, body: bytes) -> str:
    """Return the value of the header for a body that is sent at a time."""
    digest = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"
