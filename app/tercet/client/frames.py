"""Tables in and out: frames of pandas or polars, lists of dicts, or a dict of columns."""

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tercet.client.errors import ClientError

Library = Literal["pandas", "polars"]
LIBRARIES: tuple[Library, ...] = ("pandas", "polars")


def installed_library() -> Library:
    """Return the library whose frames come out where none was chosen: pandas if it is installed, else polars."""
    for name in LIBRARIES:
        if importlib.util.find_spec(name) is not None:
            return name
    raise ClientError("Tables come out as frames of pandas or polars: install one of them (pip install pandas).")


def make_frame(library: Library | None, rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Any:
    """Return rows as a frame with these columns, also where there are no rows."""
    values = {name: [row.get(name) for row in rows] for name in columns}
    module = importlib.import_module(library or installed_library())
    return module.DataFrame(values)


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame of pandas or polars, of a list of dicts or of a dict of columns; cells may be None.

    Raises TypeError for anything else, and ValueError for columns of different lengths.
    """
    if hasattr(table, "to_dicts"):
        rows = table.to_dicts()
    elif hasattr(table, "to_dict"):
        rows = table.astype(object).where(table.notna(), None).to_dict("records")
    elif isinstance(table, Mapping):
        columns = {name: list(values) for name, values in table.items()}
        lengths = {name: len(values) for name, values in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of one length expected, not {lengths}")
        rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    elif isinstance(table, Sequence) and all(isinstance(row, Mapping) for row in table):
        rows = [dict(row) for row in table]
    else:
        raise TypeError(f"expected a frame of pandas or polars, rows as dicts or a dict of columns, not {type(table)}")
    return [{str(name): _cell(cell) for name, cell in row.items()} for row in rows]


def _cell(cell: Any) -> Any:
    """Return a cell as JSON has it: numbers of numpy as Python's, what is missing as None."""
    if hasattr(cell, "item") and not isinstance(cell, str):
        cell = cell.item()
    return None if cell != cell else cell  # NaN and NaT are the only values that differ from themselves
