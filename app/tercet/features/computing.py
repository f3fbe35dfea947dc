"""Computes the features of a recipe: the rows of each group, reduced to few columns, side by side on one scale."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tercet.features import plugins
from tercet.features.codes import Codebook, PatchCodes
from tercet.features.fitted import FittedRecipe
from tercet.features.inputs import FeatureInput
from tercet.features.media import (
    FileGroup,
    FileReader,
    LearnedGroup,
    Remark,
    learn_groups,
    measure_files,
    picture_groups,
    picture_reader,
    sound_groups,
    sound_reader,
    typical_range,
)
from tercet.features.recipes import PLUGIN, GroupSettings, Recipe, SoundRange, describe, weightings
from tercet.features.row_file import RowFile
from tercet.features.scaling import Reduction, shares, to_components, to_one_scale
from tercet.features.sounds import SoundMeasures
from tercet.features.tables import TableColumns, learn_columns
from tercet.features.texts import TextWords
from tercet.features.weighing import clearest

Rows = NDArray[np.float32]
Readable = NDArray[np.bool_]
Report = Callable[[float, str], None]

MOST_TEXT_NUMBERS = 100
LEARNING_SHARE = 0.15  # of the progress that is reported, where patterns are learned


@dataclass(frozen=True)
class FeatureTable:
    """Features (N, D) of items in their order: finite, each group's total variance in proportion to its weight.

    Items that cannot be measured have the features of the average item.
    """

    values: Rows
    names: list[str]
    groups: list[str]  # the kind of each column
    words: str
    fitted: FittedRecipe
    faults: list[Remark] = field(default_factory=list)


@dataclass(frozen=True)
class NewRows:
    """Features (N, D) of new items, which of them could be measured at all, and what was wrong with which."""

    values: Rows
    measured: Readable
    faults: list[Remark]


@dataclass
class _Columns:
    """Rows and names of columns by kind of group, which items each source could measure, and what was wrong."""

    rows: dict[str, Rows] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    measured: list[Readable] = field(default_factory=list)
    faults: list[Remark] = field(default_factory=list)

    def add(self, kind: str, rows: Rows, names: list[str] | None = None) -> None:
        """Add a group of columns, numbered where they have no names."""
        self.rows[kind] = rows
        stem = kind.removeprefix(PLUGIN)
        self.names[kind] = names or [f"{stem}_{number}" for number in range(1, rows.shape[1] + 1)]


@dataclass(frozen=True)
class _Task:
    """What the groups of one source are made from; `learns` says whether from these items, or by what was learned."""

    groups: list[GroupSettings]
    inputs: Sequence[FeatureInput]
    fitted: FittedRecipe
    learns: bool
    report: Report
    columns: _Columns

    def part(self, begin: float, end: float) -> Report:
        """Return a report of a part of the task."""
        return lambda share, words: self.report(begin + (end - begin) * share, words)

    def reduced(self, group: GroupSettings, raw: Rows | RowFile, readable: Readable, numbers: int) -> Rows:
        """Return the raw rows of a group brought to so many numbers, 0 for as many as there are."""
        learned = self.fitted.learned[group.kind]
        if self.learns:
            reduction = to_components(raw, readable, numbers) if numbers else to_one_scale(raw, readable)
            learned |= {"mean": reduction.mean, "matrix": reduction.matrix}
        return Reduction(learned["mean"], learned["matrix"]).rows(raw, readable)


def compute(
    recipe: Recipe,
    inputs: Sequence[FeatureInput],
    sound_range: SoundRange | None,
    report: Report,
    n_clusters: int | None = None,
) -> FeatureTable:
    """Compute the features of all items; `report` is called with the progress, and may raise to stop.

    With `n_clusters` the groups get those weights of `weightings` with which so many clusters are clearest. Items that
    cannot be measured get the features of the average item, and a fault that says why. Raises ValueError with a
    sentence where no features can be computed.
    """
    if not inputs:
        raise ValueError("there are no items to make features of")
    if sound_range is None and any(group.source == "audio" for group in recipe.groups):
        sound_range = typical_range(inputs, recipe.seed)
    fitted = FittedRecipe(recipe, sound_range, {group.kind: {} for group in recipe.groups})
    columns = _columns(fitted, inputs, report, learns=True)
    report(1.0, "The features are computed")
    if n_clusters is not None:
        recipe = _clearest(recipe, columns, n_clusters)
        fitted = replace(fitted, recipe=recipe)
    kinds = [group.kind for group in recipe.groups]
    factors = shares([columns.rows[kind] for kind in kinds], [group.weight for group in recipe.groups])
    for kind, factor in zip(kinds, factors, strict=True):
        fitted.learned[kind]["factor"] = np.array(factor)
    values = _side_by_side(fitted, columns)
    if not values.any():
        raise ValueError("the items do not differ in anything that these features measure: there is nothing to cluster")
    return FeatureTable(
        values,
        names=[name for kind in kinds for name in columns.names[kind]],
        groups=[kind for kind in kinds for _ in columns.names[kind]],
        words=describe(recipe, sound_range, {kind: len(columns.names[kind]) for kind in kinds}),
        fitted=fitted,
        faults=columns.faults,
    )


def _clearest(recipe: Recipe, columns: _Columns, n_clusters: int) -> Recipe:
    choices = weightings(recipe)
    measured = np.all(columns.measured, axis=0)
    rows = [columns.rows[group.kind][measured] for group in recipe.groups]
    weights = [[group.weight for group in choice.groups] for choice in choices]
    return choices[weights.index(clearest(rows, weights, n_clusters, recipe.seed))]


def measure_new(fitted: FittedRecipe, inputs: Sequence[FeatureInput], report: Report) -> NewRows:
    """Return the features of new items, as those had them from which the recipe learned; see `compute`."""
    columns = _columns(fitted, inputs, report, learns=False)
    return NewRows(_side_by_side(fitted, columns), np.any(columns.measured, axis=0), columns.faults)


def _columns(fitted: FittedRecipe, inputs: Sequence[FeatureInput], report: Report, *, learns: bool) -> _Columns:
    by_source: dict[str, list[GroupSettings]] = {}
    for group in fitted.recipe.groups:
        by_source.setdefault(group.source, []).append(group)
    columns, n_sources = _Columns(), len(by_source)
    for number, (source, groups) in enumerate(by_source.items()):
        task = _Task(groups, inputs, fitted, learns, report, columns)
        MAKERS[source](replace(task, report=task.part(number / n_sources, (number + 1) / n_sources)))
    return columns


def _side_by_side(fitted: FittedRecipe, columns: _Columns) -> Rows:
    """Put the groups side by side, in the order of the recipe."""
    kinds = [group.kind for group in fitted.recipe.groups]
    return np.concatenate([columns.rows[k] * np.float32(fitted.learned[k]["factor"]) for k in kinds], axis=1)


def _make_sounds(task: _Task) -> None:
    sound_range = task.fitted.sound_range
    assert sound_range is not None, "a recipe for sounds has a range of frequencies"
    kinds = [group.kind for group in task.groups]
    codebook = Codebook.of_arrays(task.fitted.learned.get("sound_codes", {}))
    _make_files(task, sound_reader(sound_range), sound_groups(kinds, sound_range, task.fitted.recipe.seed, codebook))


def _make_pictures(task: _Task) -> None:
    kinds = [group.kind for group in task.groups]
    codebook = Codebook.of_arrays(task.fitted.learned.get("picture_codes", {}))
    _make_files(task, picture_reader(), picture_groups(kinds, task.fitted.recipe.seed, codebook))


def _make_files(task: _Task, reader: FileReader, groups: dict[str, FileGroup]) -> None:
    share = LEARNING_SHARE if task.learns and any(isinstance(g, LearnedGroup) for g in groups.values()) else 0.0
    if task.learns:
        learn_groups(task.inputs, reader, groups, task.fitted.recipe.seed, task.part(0.0, share))
    files = measure_files(task.inputs, reader, groups, task.part(share, 1.0))
    for settings in task.groups:
        group, raw = groups[settings.kind], files.rows.pop(settings.kind)  # let go as soon as it is reduced
        if task.learns and isinstance(group, PatchCodes) and group.codebook is not None:
            task.fitted.learned[settings.kind] |= group.codebook.arrays()
        has_names = isinstance(group, SoundMeasures) and not settings.numbers
        rows = task.reduced(settings, raw, files.readable, settings.numbers)
        task.columns.add(settings.kind, rows, list(SoundMeasures.names) if has_names else None)
    task.columns.measured.append(files.readable)
    task.columns.faults += files.faults


def _make_texts(task: _Task) -> None:
    task.report(0.0, f"Reading {len(task.inputs):,} texts")
    texts = [item.text for item in task.inputs]
    for group in task.groups:
        if task.learns:
            numbers = group.numbers or MOST_TEXT_NUMBERS
            words, rows, readable = TextWords.learn(texts, numbers, task.fitted.recipe.seed)
            task.fitted.learned[group.kind] |= words.arrays()
        else:
            rows, readable = TextWords.of_arrays(task.fitted.learned[group.kind]).rows(texts)
        task.columns.add(group.kind, rows)
        task.columns.measured.append(readable)
        task.columns.faults += _faults_at(~readable, task.inputs, "its text has no word in common with the others")


def _make_table(task: _Task) -> None:
    task.report(0.0, f"Reading {len(task.inputs):,} rows of the table")
    details = [item.details for item in task.inputs]
    every = np.ones(len(details), dtype=np.bool_)
    for group in task.groups:
        if task.learns:
            task.fitted.keep_columns(group.kind, learn_columns(details).columns)
        table = TableColumns(task.fitted.columns(group.kind))
        rows = table.rows(details)
        reduced = task.reduced(group, rows, every, group.numbers) if group.numbers else rows
        task.columns.add(group.kind, reduced, None if group.numbers else table.names)
        filled = table.filled(details)
        task.columns.measured.append(filled)
        if not task.learns:
            names = ", ".join(f"'{column.name}'" for column in table.columns)
            task.columns.faults += _faults_at(~filled, task.inputs, f"it has none of the columns {names}")


def _faults_at(places: Readable, inputs: Sequence[FeatureInput], detail: str) -> list[Remark]:
    return [Remark(item.key, detail) for item, is_bad in zip(inputs, places, strict=True) if is_bad]


def _make_plugins(task: _Task) -> None:
    every = np.ones(len(task.inputs), dtype=np.bool_)
    for number, group in enumerate(task.groups):
        report = task.part(number / len(task.groups), (number + 1) / len(task.groups))
        raw = plugins.plugin_rows(group.kind.removeprefix(PLUGIN), task.inputs, report)
        task.columns.add(group.kind, task.reduced(group, raw, every, group.numbers or raw.shape[1]))
    task.columns.measured.append(every)


MAKERS: dict[str, Callable[[_Task], None]] = {
    "audio": _make_sounds,
    "image": _make_pictures,
    "text": _make_texts,
    "table": _make_table,
    "plugin": _make_plugins,
}
