"""Features among the files of an import: arrays and tables of numbers only, matched to the items."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tercet.errors import Invalid
from tercet.intake.faults import fail
from tercet.intake.feature_files import Features, in_item_order, read_features, read_number_table
from tercet.intake.reading.drafts import Findings
from tercet.intake.reading.kinds import Recognised
from tercet.intake.reading.plan import FileReport, ReadOptions
from tercet.intake.reading.tables import check_columns, is_number, layout_of, number_columns, records
from tercet.intake.tables import ItemRow

SAMPLE = 50
MOST_BYTES = 2**30  # of a table of numbers, which takes eight bytes a number in memory


def holds_numbers(path: Path, name: str) -> bool:
    """Return whether a table has a header and below it only numbers, apart from a column `key`."""
    rows = records(path, layout_of(path, name), name)
    _, header = next(rows, (0, []))
    sample = [cells for _, cells in itertools.islice(rows, SAMPLE)]
    if not sample or any(len(cells) != len(header) for cells in sample) or all(is_number(cell) for cell in header):
        return False
    others = [column for column in header if column.strip() != "key"]
    enough = 1 if len(others) == len(header) else 2  # a single number beside a key is likely metadata, like an age
    return len(others) >= enough and set(others) <= number_columns(header, sample)


def read_numbers(files: Sequence[Recognised], findings: Findings) -> Features | None:
    """Return the features of the only file with some; add its faults to the findings."""
    if len(files) > 1:
        names = " and ".join(f"'{file.path}'" for file in files[:3])
        findings.faults.add("features", f"{names} both hold features: send one file", file=files[1].path)
        return None
    for file in files:
        try:
            features = _read(file)
        except Invalid as problem:
            findings.refuse(file.path, problem)
            continue
        n, d = features.values.shape
        findings.note(FileReport(file.path, "features", f"{n:,} rows of {d:,} numbers", n))
        return features
    return None


def _read(file: Recognised) -> Features:
    local, name = file.source.local, file.path
    if file.kind == "array":
        return read_features(local, name)
    if local.stat().st_size > MOST_BYTES:
        raise fail("file", f"is larger than {MOST_BYTES:,} bytes: send the numbers as .npy", file=name)
    layout = layout_of(local, name)
    header = next((cells for _, cells in records(local, layout, name)), [])
    check_columns([cell.strip() for cell in header], name)
    return read_number_table(records(local, layout, name), name)


def rows_of_features(features: Features) -> list[ItemRow]:
    """Return an item for each row of features that have no other files: its key is the row's, or its number."""
    keys = features.keys or [str(number) for number in range(1, len(features.values) + 1)]
    return [ItemRow(key) for key in keys]


def fit(
    features: Features | None, keys: Sequence[str], good: Sequence[int], options: ReadOptions, findings: Findings
) -> Features | None:
    """Return the features without the rows of bad items; add a fault where they do not fit the items.

    Where the project has items already, the features are matched to items when they are stored.
    """
    if features is None or options.items_before:
        return features
    try:
        if features.keys is None:
            values = in_item_order(features, keys)[list(good)]
        else:
            good_keys = [keys[place] for place in good]
            values = in_item_order(features.without(set(keys) - set(good_keys)), good_keys)
    except Invalid as problem:
        findings.refuse(features.file, problem)
        return None
    return replace(features, values=values, keys=None)
