"""What is in an archive and where: the one place that both the writer and the reader follow.

    tercet.json            the manifest
    files.ndjson           the listing
    tables/<name>.ndjson   the rows of a table, one JSON object a line, by column; times in ISO 8601
    tables/person.ndjson   names of those who answered or decided
    blobs/<number>.<kind>  media, pictures, thumbnails, feature arrays: in their rows this path stands for the file
    results/<number>/...   the arrays of a run; its row names the folder

Only tables are compressed. Columns are read from the models, so new ones are included without changes here.
"""

import re

from sqlalchemy import Column, Table

from tercet.models import Base

FORMAT = "tercet project archive"
VERSION = 1
MANIFEST = "tercet.json"
LISTING = "files.ndjson"
PEOPLE = "tables/person.ndjson"
MEMBER = re.compile(r"tercet\.json|files\.ndjson|tables/[a-z_]+\.ndjson|blobs/\d+(\.\w+)?|results/\d+/\w+\.\w+")
# Parents before children.
ARCHIVED = ("project", "bag", "item", "feature_set", "triplet", "decision", "answer", "run", "cluster_note")
# Not archived: rights, which the other server decides on, and what is being asked, computed or uploaded now.
LEFT_OUT = {
    *("user", "membership", "sign_in_link", "api_token", "share_link"),
    *("lease", "skip", "event", "job", "import", "import_file"),
}
# Columns that only mean something on this server at this moment.
LEFT_OUT_COLUMNS = {
    *(("project", name) for name in ("event_number", "archived_at", "deleted_at")),
    *(("run", name) for name in ("checkpoint", "lease_expires_at")),
    ("triplet", "asked_of"),
}
# Columns that hold a key of the storage.
BLOBS = {"item": ("media", "picture", "thumbnail"), "feature_set": ("blob", "learned")}
# The files of a run's result. What a warm start continues from is left out: it names labelers by their numbers here,
# and is large; the first run on the other server begins anew.
RESULT_FILES = ("result.npz", "map.bin", "report.npz", "resolutions.bin", "model.npz")


def table_path(name: str) -> str:
    """Return where the rows of a table are."""
    return f"tables/{name}.ndjson"


def table_of(name: str) -> Table:
    """Return a table by its name."""
    return Base.metadata.tables[name]


def columns_of(table: Table) -> list[Column[object]]:
    """Return the columns that are archived: none that refer to tables outside the archive, except people."""
    return [
        column
        for column in table.columns
        if (table.name, column.name) not in LEFT_OUT_COLUMNS and referred(column) not in LEFT_OUT - {"user"}
    ]


def referred(column: Column[object]) -> str | None:
    """Return the table whose ids a column holds, if it is a foreign key."""
    return next((key.column.table.name for key in column.foreign_keys), None)
