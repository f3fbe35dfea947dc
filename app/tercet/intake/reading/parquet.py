"""Reads tables of Parquet, where pyarrow is installed: the extra `tercet[parquet]`."""

from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from tercet.intake.faults import fail
from tercet.intake.reading.tables import Budget, Table, check_bytes, check_columns

ROWS_AT_ONCE = 1_000


def read_parquet(path: Path, name: str) -> Table:
    """Read a table of Parquet; raise Invalid with a sentence on what is missing or wrong."""
    try:
        import pyarrow.parquet as pq
        from pyarrow import ArrowException
    except ImportError as error:
        detail = "needs pyarrow: install tercet[parquet], or save the table as CSV"
        raise fail("file", detail, file=name) from error
    check_bytes(path, name)
    rows: list[list[Any]] = []
    budget = Budget(name)
    try:
        with pq.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            check_columns(columns, name)
            budget.check(file.metadata.num_rows * len(columns))
            for batch in file.iter_batches(ROWS_AT_ONCE):
                for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    budget.spend(len(cells))
                    rows.append([_cell(value) for value in cells])
    except (ArrowException, OSError) as error:
        raise fail("file", f"is not a Parquet file that can be read: {error}", file=name) from error
    return Table(columns, rows, "Parquet")


def _cell(value: Any) -> Any:
    """Return a value as one that JSON can hold."""
    if value is None:
        return ""
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, str | int | float | bool) else str(value)
