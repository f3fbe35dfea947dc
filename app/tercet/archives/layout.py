"""The layout of an archive, which both the writer and the reader use.

    tercet.json            the manifest
    files.ndjson           the listing
    tables/<name>.ndjson   the rows of a table, one JSON object a line, by column; times in ISO 8601
    tables/person.ndjson   names of those who answered or decided
    blobs/<number>.<kind>  media, pictures, thumbnails, feature arrays; rows refer to them by this path
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
ARCHIVED = (
    *("project", "bag", "item", "feature_set", "triplet", "decision", "answer", "run", "cluster_note"),
    *("edit", "link", "dismissal", "flag", "tag"),
)
# Not archived: users and their rights, which are a matter of the other server, and everything in progress.
LEFT_OUT = {
    *("user", "session", "membership", "sign_in_link", "api_token", "share_link", "invitation", "audit"),
    *("lease", "skip", "event", "job", "import", "import_file", "webhook", "delivery"),
}
# Columns that have a meaning on this server only, or only at this moment.
LEFT_OUT_COLUMNS = {
    *(("project", name) for name in ("event_number", "archived_at", "deleted_at")),
    *(("run", name) for name in ("checkpoint", "lease_expires_at")),
    ("triplet", "asked_of"),
}
# Columns that hold a key of the storage.
BLOBS = {"item": ("media", "picture", "thumbnail"), "feature_set": ("blob", "learned")}
# The files of a run's result. The state that warm starts continue from is left out: it is large, and refers to labelers
# by their ids on this server. The first run on the other server is a cold start.
RESULT_FILES = ("result.npz", "map.bin", "report.npz", "resolutions.bin", "model.npz")


def table_path(name: str) -> str:
    """Return the path of a table's rows."""
    return f"tables/{name}.ndjson"


def table_of(name: str) -> Table:
    """Return a table by its name."""
    return Base.metadata.tables[name]


def columns_of(table: Table) -> list[Column[object]]:
    """Return the columns that are archived: all but those that refer to tables outside the archive other than users."""
    return [
        column
        for column in table.columns
        if (table.name, column.name) not in LEFT_OUT_COLUMNS and referred(column) not in LEFT_OUT - {"user"}
    ]


def referred(column: Column[object]) -> str | None:
    """Return the table whose ids a column holds, if it is a foreign key."""
    return next((key.column.table.name for key in column.foreign_keys), None)
