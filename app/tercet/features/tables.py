"""Features of a table: numeric columns, dates as numbers, and categories as one column for each value."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]
Wide = NDArray[np.float64]
Details = Mapping[str, object]
Sort = Literal["number", "date", "category"]

FILLED = 0.5  # share of the items that must have a value, or the column is left out
OF_ONE_SORT = 0.95  # share of the values that must be numbers (or dates) for a column of numbers (or dates)
MOST_VALUES = 30  # of a category
RAREST = 0.01  # share of the items under which a value is pooled with the other rare ones
FURTHEST = 1e6  # deviations from the mean that a number of a new item may have
DAY = 86_400.0


@dataclass(frozen=True)
class Column:
    """What is done with one column: numbers are brought to mean 0 and variance 1, categories to one column a value.

    `unit` is the largest number, since squares of 1e200 overflow; `means` and `scale` are those of what is left.
    """

    name: str
    sort: Sort
    means: list[float]
    scale: float
    unit: float = 1.0
    values: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """Return the names of the columns of numbers that come out."""
        if self.sort != "category":
            return [self.name]
        other = [f"{self.name} = any other"] * (len(self.means) - len(self.values))
        return [*(f"{self.name} = {value}" for value in self.values), *other]

    def as_dict(self) -> dict[str, Any]:
        """Return the column as plain data for JSON."""
        return asdict(self)

    def rows(self, cells: Sequence[object]) -> Rows:
        """Return the numbers of cells; the mean where there is no value."""
        if self.sort == "category":
            return np.asarray((_hot(cells, self.values, len(self.means)) - self.means) * self.scale, dtype=np.float32)
        numbers = parsed(cells, PARSERS[self.sort]) / self.unit
        standard = np.nan_to_num((numbers - self.means[0]) * self.scale, nan=0.0)
        return np.asarray(np.clip(standard, -FURTHEST, FURTHEST), dtype=np.float32)[:, None]


@dataclass(frozen=True)
class TableColumns:
    """The columns that features are made of, and why others are left out."""

    columns: list[Column]
    left_out: list[tuple[str, str]] = field(default_factory=list)  # column, why

    @property
    def names(self) -> list[str]:
        """Return the names of the columns of numbers."""
        return [name for column in self.columns for name in column.names]

    def rows(self, details: Sequence[Details]) -> Rows:
        """Return the numbers of items: each number has variance 1 over those learned from, a category as a whole."""
        blocks = [column.rows([row.get(column.name) for row in details]) for column in self.columns]
        return np.concatenate([np.zeros((len(details), 0), dtype=np.float32), *blocks], axis=1)

    def filled(self, details: Sequence[Details]) -> NDArray[np.bool_]:
        """Return which items have a value in any of the columns."""
        names = [column.name for column in self.columns]
        return np.array([any(_is_filled(row.get(name)) for name in names) for row in details], dtype=np.bool_)


def learn_columns(details: Sequence[Details]) -> TableColumns:
    """Look at the metadata of items; keys, constant columns and nearly empty ones are left out."""
    table = TableColumns([])
    for name in dict.fromkeys(name for row in details for name in row):
        cells = [row.get(name) for row in details]
        n_filled = sum(map(_is_filled, cells))
        try:
            if n_filled < FILLED * len(cells):
                raise ValueError("is mostly empty")
            sort = _sort_of(cells, n_filled)
            column = _category(name, cells) if sort == "category" else _measured(name, cells, sort)
        except ValueError as error:
            table.left_out.append((name, str(error)))
        else:
            table.columns.append(column)
    return table


def _is_filled(cell: object) -> bool:
    return cell is not None and str(cell).strip() != ""


def _sort_of(cells: Sequence[object], n_filled: int) -> Sort:
    sorts: tuple[Sort, Sort] = ("number", "date")
    for sort in sorts:
        if np.isfinite(parsed(cells, PARSERS[sort])).sum() >= OF_ONE_SORT * max(1, n_filled):
            return sort
    return "category"


def _number(cell: object) -> float:
    return float(str(cell).strip())


def _days(cell: object) -> float:
    """Return a date as days since 1970."""
    day = datetime.fromisoformat(str(cell).strip())
    return (day if day.tzinfo else day.replace(tzinfo=UTC)).timestamp() / DAY


PARSERS: Mapping[str, Callable[[object], float]] = {"number": _number, "date": _days}


def parsed(cells: Sequence[object], parse: Callable[[object], float]) -> Wide:
    """Return cells as numbers, NaN where there is none."""
    numbers = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if _is_filled(cell):
            try:
                numbers[row] = parse(cell)
            except (ValueError, OverflowError):
                continue
    numbers[~np.isfinite(numbers)] = np.nan
    return numbers


def _measured(name: str, cells: Sequence[object], sort: Sort) -> Column:
    numbers = parsed(cells, PARSERS[sort])
    unit = float(np.nanmax(np.abs(numbers))) or 1.0
    numbers /= unit
    mean, spread = float(np.nanmean(numbers)), float(np.nanstd(numbers))
    if spread < 1e-9:
        raise ValueError("is the same for all")
    filled = np.nan_to_num((numbers - mean) / spread, nan=0.0)
    return Column(name, sort, [mean], 1.0 / (spread * (float(filled.std()) or 1.0)), unit)


def _category(name: str, cells: Sequence[object]) -> Column:
    """Return a column with a number for each value that is not rare and one for the rare ones."""
    counts = Counter(str(cell).strip() for cell in cells if _is_filled(cell))
    if len(counts) < 2:
        raise ValueError("is the same for all")
    common = [value for value, count in counts.most_common(MOST_VALUES) if count > max(1.0, RAREST * len(cells))]
    if sum(counts[value] for value in common) < FILLED * sum(counts.values()):
        raise ValueError("is a key, or a text: few of its values are repeated")
    hot = _hot(cells, common, len(common) + (len(counts) > len(common)))
    means = hot.mean(axis=0)
    variance = float((hot - means).var(axis=0).sum())
    if not variance:
        raise ValueError("is the same for all")
    return Column(name, "category", means.tolist(), 1.0 / float(np.sqrt(variance)), values=common)


def _hot(cells: Sequence[object], values: Sequence[str], width: int) -> Wide:
    """Return ones where a cell has a value; others go to the last column, if there is one behind those of values."""
    place = {value: number for number, value in enumerate(values)}
    hot = np.zeros((len(cells), width))
    for row, cell in enumerate(cells):
        if _is_filled(cell) and (number := place.get(str(cell).strip(), len(values))) < width:
            hot[row, number] = 1.0
    return hot
