"""Names of a backup's entries, and the manifest."""

from pydantic import BaseModel

MANIFEST = "backup.json"
FORMAT = "tercet-backup-1"
BLOBS = "blobs/"


def rows_entry(table: str) -> str:
    """Return the entry with the rows of a table."""
    return f"rows/{table}.ndjson"


class Entry(BaseModel):
    """The size and the SHA-256 of one entry."""

    size: int
    sha256: str


class Stored(BaseModel):
    """What a project had when the backup was made: the number of its last answer, and how many there were."""

    answer_number: int
    answers: int


class Manifest(BaseModel):
    """What a backup holds."""

    format: str
    version: str
    revision: str
    made_at: str
    projects: dict[str, Stored]
    rows: dict[str, int]
    entries: dict[str, Entry]
