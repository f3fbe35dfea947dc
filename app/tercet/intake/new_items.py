"""The features of items that are not in the project: files are read as an import reads them, and nothing is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from tercet.errors import FieldError
from tercet.features.computing import NewRows, measure_new
from tercet.features.fitted import FittedRecipe
from tercet.features.inputs import FeatureInput
from tercet.intake import media
from tercet.intake.reading.drafts import Report
from tercet.intake.reading.plan import MediaSource, ReadOptions, SourceFile
from tercet.intake.reading.reader import read_files
from tercet.intake.tables import ItemRow
from tercet.web.texts import with_subject


@dataclass(frozen=True)
class NewItems:
    """Keys and features (N, D) of the items that could be measured, remarks on some of them, and all faults."""

    keys: list[str]
    values: NDArray[np.float32]
    remarks: Mapping[str, str]
    faults: list[FieldError]
    fault_count: int


def of_files(files: Sequence[SourceFile], fitted: FittedRecipe, report: Report) -> NewItems:
    """Measure the items that files describe; those that are bad are left out, each with a sentence."""
    with TemporaryDirectory(prefix="tercet-unpacked-") as scratch:
        plan = read_files(
            files, ReadOptions(skip_bad=True), lambda part, words: report(part / 10, words), Path(scratch)
        )
        skipped = [FieldError("media", file.detail, file=file.path) for file in plan.files if file.became == "skipped"]
        named = {fault.file for fault in plan.faults}
        faults = [*plan.faults, *(fault for fault in skipped if fault.file not in named)]
        n_unseen = plan.fault_count - len(plan.faults)
        return _measured(plan.rows, plan.media, fitted, report, faults, n_unseen)


def of_rows(rows: Sequence[ItemRow], fitted: FittedRecipe, report: Report) -> NewItems:
    """Measure items that are given as rows with texts and metadata."""
    return _measured(rows, {}, fitted, report, [], 0)


def _measured(
    rows: Sequence[ItemRow],
    sources: Mapping[str, MediaSource],
    fitted: FittedRecipe,
    report: Report,
    faults: list[FieldError],
    n_unseen: int,
) -> NewItems:
    """Measure items; `n_unseen` faults are not among those that are given."""
    with TemporaryDirectory(prefix="tercet-features-") as folder:
        inputs = []
        for number, row in enumerate(rows):
            try:
                inputs.append(_input(row, sources.get(row.key), Path(folder) / str(number)))
            except ValueError as error:
                file = str(sources[row.key].file.path)
                faults.append(FieldError("media", with_subject(f"'{file}'", error), file=file))
        new = measure_new(fitted, inputs, lambda part, words: report(0.1 + 0.9 * part, words)) if inputs else None
    if new is None:
        return NewItems([], np.zeros((0, 0), dtype=np.float32), {}, faults, len(faults) + n_unseen)
    for position in np.flatnonzero(~new.measured):
        faults.append(_fault_of(inputs[int(position)].key, new, sources))
    measured = [item.key for item, good in zip(inputs, new.measured, strict=True) if good]
    remarks = {fault.key: fault.detail for fault in new.faults if fault.key in set(measured)}
    return NewItems(measured, new.values[new.measured], remarks, faults, len(faults) + n_unseen)


def _input(row: ItemRow, source: MediaSource | None, path: Path) -> FeatureInput:
    """Return an item as a recipe takes it, its media as they would be stored."""
    if source is None:
        return FeatureInput(row.key, row.text, row.details)
    media_type, blob = media.bare(media.cut(source).content)
    path = path.with_suffix(blob.suffix)
    path.write_bytes(blob.content)
    return FeatureInput(row.key, row.text, row.details, media_type, path)


def _fault_of(key: str, new: NewRows, sources: Mapping[str, MediaSource]) -> FieldError:
    details = dict.fromkeys(fault.detail for fault in new.faults if fault.key == key)
    file = str(sources[key].file.path) if key in sources else None
    return FieldError("item", f"'{key}' cannot be measured: {', and '.join(details)}", file=file)
