"""Features of a table: numeric columns, dates as numbers, and categories as one column for each value."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Details = Mapping[str, object]

FILLED = 0.5  # share of the items that must have a value, or the column is left out
OF_ONE_SORT = 0.95  # share of the values that must be numbers (or dates) for a column of numbers (or dates)
MOST_VALUES = 30  # of a category
RAREST = 0.01  # values with a smaller share of the items share one column
DAY = 86_400.0


@dataclass(frozen=True)
class TableColumns:
    """Columns (N, D), of variance 1 for each number and for each category in total, and which columns were used how."""

    rows: Rows
    names: list[str]
    numeric: list[str]
    dates: list[str]
    categories: list[str]
    left_out: list[tuple[str, str]]  # column, why


def table_columns(details: Sequence[Details]) -> TableColumns:
    """Return the metadata of items as numbers; keys, constant columns and mostly empty ones are left out."""
    columns = TableColumns(np.zeros((len(details), 0), dtype=np.float32), [], [], [], [], [])
    blocks = [columns.rows]
    for column in dict.fromkeys(name for row in details for name in row):
        values = [row.get(column) for row in details]
        present = [value is not None and str(value).strip() != "" for value in values]
        if sum(present) < FILLED * len(values):
            columns.left_out.append((column, "is mostly empty"))
        elif (numbers := _parsed(values, _number)) is not None:
            blocks += _scale(numbers, column, columns.numeric, columns)
        elif (numbers := _parsed(values, _days)) is not None:
            blocks += _scale(numbers, column, columns.dates, columns)
        else:
            texts = [str(value).strip() if there else "" for value, there in zip(values, present, strict=True)]
            blocks += _one_hot(texts, column, columns)
    return TableColumns(
        np.concatenate(blocks, axis=1),
        columns.names,
        columns.numeric,
        columns.dates,
        columns.categories,
        columns.left_out,
    )


def _number(value: object) -> float:
    return float(str(value).strip())


def _days(value: object) -> float:
    """Return a date as days since 1970."""
    day = datetime.fromisoformat(str(value).strip())
    return (day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp() / DAY


def _parsed(values: Sequence[object], parse: object) -> NDArray[np.float64] | None:
    """Return a column's values as numbers, NaN where they are missing; None where too few can be parsed."""
    numbers = np.full(len(values), np.nan)
    n_present = 0
    for row, value in enumerate(values):
        if value is None or str(value).strip() == "":
            continue
        n_present += 1
        try:
            numbers[row] = parse(value)  # type: ignore[operator]
        except (ValueError, OverflowError):
            continue
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers if np.isfinite(numbers).sum() >= OF_ONE_SORT * max(1, n_present) else None


def _scale(numbers: NDArray[np.float64], column: str, kind: list[str], columns: TableColumns) -> list[Rows]:
    """Return a column of mean 0 and variance 1, with 0 for missing values; no column if all values are equal."""
    largest = np.nanmax(np.abs(numbers))
    numbers = numbers / (largest or 1.0)  # squares of 1e200 overflow
    spread = np.nanstd(numbers)
    if spread < 1e-9:
        columns.left_out.append((column, "is the same for all"))
        return []
    kind.append(column)
    columns.names.append(column)
    standard = np.nan_to_num((numbers - np.nanmean(numbers)) / spread, nan=0.0)
    return [np.asarray(standard / (standard.std() or 1.0), dtype=np.float32)[:, None]]


def _one_hot(texts: Sequence[str], column: str, columns: TableColumns) -> list[Rows]:
    """Return a column for each common value and one for all rare values, with a total variance of 1."""
    counts = Counter(text for text in texts if text)
    if len(counts) < 2:
        columns.left_out.append((column, "is the same for all"))
        return []
    common = [value for value, count in counts.most_common(MOST_VALUES) if count > max(1.0, RAREST * len(texts))]
    if sum(counts[value] for value in common) < FILLED * sum(counts.values()):
        columns.left_out.append((column, "is a key, or a text: few of its values are repeated"))
        return []
    place = {value: number for number, value in enumerate(common)}
    has_rare = len(counts) > len(common)
    hot = np.zeros((len(texts), len(common) + has_rare))
    for row, text in enumerate(texts):
        if text:
            hot[row, place.get(text, len(common))] = 1.0
    hot -= hot.mean(axis=0)
    if not hot.any():
        columns.left_out.append((column, "is the same for all"))
        return []
    columns.categories.append(column)
    columns.names.extend([*(f"{column} = {value}" for value in common), *([f"{column} = any other"] * has_rare)])
    return [np.asarray(hot / np.sqrt(hot.var(axis=0).sum()), dtype=np.float32)]
