"""Entity tags: a client changes what it has read only if nobody else changed it since (RFC 9110, 8.8.3 and 13.1.1)."""

import hashlib
from collections.abc import Collection

from pydantic import BaseModel

from tercet.errors import ChangedSince


def entity_tag(content: BaseModel, without: Collection[str] = ()) -> str:
    """Return the ETag of what is sent; `without` are fields that count nothing, such as counters."""
    digest = hashlib.sha256(content.model_dump_json(exclude=set(without)).encode())
    return f'"{digest.hexdigest()[:32]}"'


def check_unchanged(if_match: str | None, tag: str) -> None:
    """Raise ChangedSince if a request has If-Match and names neither this tag nor any (`*`)."""
    if if_match is not None and not {"*", tag} & {part.strip() for part in if_match.split(",")}:
        raise ChangedSince(
            f"It was changed since you read it, so nothing was done. Its ETag is {tag} now: read it again."
        )
