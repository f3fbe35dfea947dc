"""The formats of exported rows: answers, or the items of a run."""

from enum import StrEnum


class RowFormat(StrEnum):
    """A format of exported rows."""

    NDJSON = "ndjson"
    CSV = "csv"
    JSON = "json"
    NPZ = "npz"
    PARQUET = "parquet"

    @property
    def content_type(self) -> str:
        """Return the content type of the response."""
        return CONTENT_TYPES[self]


CONTENT_TYPES = {
    RowFormat.NDJSON: "application/x-ndjson",
    RowFormat.CSV: "text/csv; charset=utf-8",
    RowFormat.JSON: "application/json",
    RowFormat.NPZ: "application/octet-stream",
    RowFormat.PARQUET: "application/vnd.apache.parquet",
}
