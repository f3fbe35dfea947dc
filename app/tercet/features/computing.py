"""Computes the features of a recipe: the rows of each group, reduced to few columns, side by side on one scale."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tercet.features.inputs import FeatureInput
from tercet.features.media import FileRows, rows_of_pictures, rows_of_sounds, typical_range
from tercet.features.plugins import plugin_rows
from tercet.features.recipes import PLUGIN, GroupSettings, Recipe, SoundRange, describe
from tercet.features.scaling import principal_components, side_by_side, standardised
from tercet.features.sounds import SoundMeasures
from tercet.features.tables import table_columns
from tercet.features.texts import text_rows

Rows = NDArray[np.float32]
Report = Callable[[float, str], None]


@dataclass(frozen=True)
class FeatureTable:
    """Features (N, D) of items in their order: finite, each group's total variance in proportion to its weight."""

    values: Rows
    names: list[str]
    groups: list[str]  # the kind of each column
    words: str
    faults: list[tuple[str, str]] = field(default_factory=list)  # (key of an item, what is wrong with it)


@dataclass(frozen=True)
class _Task:
    """The groups of one source, and what they are computed from."""

    groups: list[GroupSettings]
    inputs: Sequence[FeatureInput]
    sound_range: SoundRange
    seed: int
    report: Report

    def with_share(self, number: int, of: int) -> "_Task":
        """Return the task with its progress reported as part `number` of `of` equal parts."""
        return replace(self, report=lambda share, words: self.report((number + share) / of, words))


@dataclass
class _Columns:
    """Rows and names of columns by kind of group, and the faults of items."""

    rows: dict[str, Rows] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    faults: list[tuple[str, str]] = field(default_factory=list)


def compute(
    recipe: Recipe, inputs: Sequence[FeatureInput], sound_range: SoundRange | None, report: Report
) -> FeatureTable:
    """Compute the features of all items; `report` is called with the progress, and may raise to stop.

    Items that cannot be measured get the features of the average item, and a fault that says why. Raises ValueError
    with a sentence where no features can be computed.
    """
    if not inputs:
        raise ValueError("there are no items to make features of")
    by_source: dict[str, list[GroupSettings]] = {}
    for group in recipe.groups:
        by_source.setdefault(group.source, []).append(group)
    if "audio" in by_source and sound_range is None:
        sound_range = typical_range(inputs, recipe.seed)
    columns = _Columns()
    for number, (source, groups) in enumerate(by_source.items()):
        task = _Task(groups, inputs, sound_range or (0.0, 0.0), recipe.seed, report)
        MAKERS[source](task.with_share(number, len(by_source)), columns)
    report(1.0, "The features are computed")
    return _joined(recipe, columns, sound_range)


def _make_sounds(task: _Task, columns: _Columns) -> None:
    kinds = [group.kind for group in task.groups]
    _add_files(task, rows_of_sounds(kinds, task.inputs, task.sound_range, task.seed, task.report), columns)


def _make_pictures(task: _Task, columns: _Columns) -> None:
    kinds = [group.kind for group in task.groups]
    _add_files(task, rows_of_pictures(kinds, task.inputs, task.seed, task.report), columns)


def _add_files(task: _Task, files: FileRows, columns: _Columns) -> None:
    for group in task.groups:
        raw = files.rows.pop(group.kind)  # so that its memory is freed once it is reduced
        if group.numbers:
            columns.rows[group.kind] = principal_components(raw, files.readable, group.numbers)
        else:
            columns.rows[group.kind] = standardised(raw.to_array(), files.readable)
        measured = group.kind == "sound_measures" and not group.numbers
        columns.names[group.kind] = (
            list(SoundMeasures.names) if measured else _numbered(group.kind, columns.rows[group.kind])
        )
    columns.faults += files.faults


def _make_texts(task: _Task, columns: _Columns) -> None:
    task.report(0.0, f"Reading {len(task.inputs):,} texts")
    for group in task.groups:
        rows, readable = text_rows([item.text for item in task.inputs], group.numbers or MOST_TEXT_NUMBERS, task.seed)
        columns.rows[group.kind], columns.names[group.kind] = rows, _numbered(group.kind, rows)
        for position in np.flatnonzero(~readable):
            columns.faults.append(
                (task.inputs[int(position)].key, "its text has no word in common with others; it counts as average")
            )


def _make_table(task: _Task, columns: _Columns) -> None:
    task.report(0.0, f"Reading {len(task.inputs):,} rows of the table")
    for group in task.groups:
        table = table_columns([item.details for item in task.inputs])
        every = np.ones(len(task.inputs), dtype=np.bool_)
        rows = principal_components(table.rows, every, group.numbers) if group.numbers else table.rows
        columns.rows[group.kind] = rows
        columns.names[group.kind] = _numbered(group.kind, rows) if group.numbers else table.names


def _make_plugins(task: _Task, columns: _Columns) -> None:
    for number, group in enumerate(task.groups):
        raw = plugin_rows(
            group.kind.removeprefix(PLUGIN), task.inputs, task.with_share(number, len(task.groups)).report
        )
        every = np.ones(len(raw), dtype=np.bool_)
        rows = principal_components(raw, every, group.numbers or raw.shape[1])
        columns.rows[group.kind], columns.names[group.kind] = rows, _numbered(group.kind.removeprefix(PLUGIN), rows)


MAKERS = {
    "audio": _make_sounds,
    "image": _make_pictures,
    "text": _make_texts,
    "table": _make_table,
    "plugin": _make_plugins,
}
MOST_TEXT_NUMBERS = 100


def _numbered(kind: str, rows: Rows) -> list[str]:
    return [f"{kind}_{number}" for number in range(1, rows.shape[1] + 1)]


def _joined(recipe: Recipe, columns: _Columns, sound_range: SoundRange | None) -> FeatureTable:
    """Put the groups side by side, in the order of the recipe."""
    kinds = [group.kind for group in recipe.groups]
    values = side_by_side([columns.rows[kind] for kind in kinds], [group.weight for group in recipe.groups])
    if not values.any():
        raise ValueError("the items do not differ in anything that these features measure: there is nothing to cluster")
    return FeatureTable(
        values,
        names=[name for kind in kinds for name in columns.names[kind]],
        groups=[kind for kind in kinds for _ in columns.names[kind]],
        words=describe(recipe, sound_range, {kind: len(columns.names[kind]) for kind in kinds}),
        faults=columns.faults,
    )
