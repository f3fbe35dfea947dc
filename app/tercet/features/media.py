"""Groups of features of files, in two passes: one over a sample to learn patterns, one over all files to measure them.

Files are decoded one after the other, so that memory never holds all recordings or pictures, nor all their rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tercet.features import pictures, sounds
from tercet.features.codes import Codebook
from tercet.features.decoding import MOST_SECONDS, read_picture, read_sound, sampling_rate
from tercet.features.inputs import FeatureInput
from tercet.features.row_file import RowFile
from tercet.web.texts import with_subject

Rows = NDArray[np.float32]
Report = Callable[[float, str], None]

MOST_LEARNED_FROM = 400  # items whose patches are sampled
MOST_PATCHES = 20_000
MOST_PATCHES_OF_ONE = 100


class FileGroup(Protocol):
    """Computes a row of `width` numbers from the content of one file."""

    @property
    def width(self) -> int: ...

    def row(self, content: Any) -> Rows: ...


@runtime_checkable
class LearnedGroup(FileGroup, Protocol):
    """A group that must learn from patches of some files before it can compute rows."""

    def collect_patches(self, content: Any, n_patches: int, rng: np.random.Generator) -> None: ...

    def learn(self) -> None: ...


@dataclass(frozen=True)
class Remark:
    """What is wrong with an item, by its key; one that is measured all the same was not looked at whole."""

    key: str
    detail: str
    is_measured: bool = False


@dataclass
class FileRows:
    """The rows of each group over the files of one medium, which rows are readable, and the faults of the others."""

    rows: dict[str, RowFile]
    readable: NDArray[np.bool_]
    faults: list[Remark] = field(default_factory=list)


def sound_groups(
    kinds: Sequence[str], sound_range: tuple[float, float], seed: int, codebook: Codebook | None = None
) -> dict[str, FileGroup]:
    """Return the groups of these kinds; the learned one with its patterns, where they were learned before."""
    makers: Mapping[str, Callable[[], FileGroup]] = {
        "sound_measures": partial(sounds.SoundMeasures, sound_range),
        "sound_codes": partial(sounds.SoundCodes, seed, codebook),
        "sound_outline": sounds.SoundOutline,
    }
    return {kind: makers[kind]() for kind in kinds}


def picture_groups(kinds: Sequence[str], seed: int, codebook: Codebook | None = None) -> dict[str, FileGroup]:
    """Return the groups of these kinds; the learned one with its patterns, where they were learned before."""
    makers: Mapping[str, Callable[[], FileGroup]] = {
        "picture_shapes": pictures.PictureShapes,
        "picture_colours": pictures.PictureColours,
        "picture_codes": partial(pictures.PictureCodes, seed, codebook),
    }
    return {kind: makers[kind]() for kind in kinds}


def typical_range(inputs: Sequence[FeatureInput], seed: int) -> tuple[float, float]:
    """Return the default range of frequencies in Hz, ending where that of the typical recording ends."""
    rates = []
    for item in _sample([item for item in inputs if item.medium == "audio"], seed):
        if item.path is not None and (rate := sampling_rate(item.path)):
            rates.append(rate)
    low, high = sounds.DEFAULT_RANGE
    top = min(high, float(np.median(rates)) / 2) if rates else high
    return min(low, top / 4), top


@dataclass(frozen=True)
class FileReader:
    """How files of one medium are opened: to what the groups look at, and a remark about it (empty for none)."""

    medium: str
    noun: str
    open: Callable[[Path], tuple[Any, str]]


def sound_reader(sound_range: tuple[float, float]) -> FileReader:
    """Return what opens recordings."""
    return FileReader("audio", "recording", partial(_open_sound, sound_range=sound_range))


def picture_reader() -> FileReader:
    """Return what opens pictures."""
    return FileReader("image", "picture", _open_picture)


def _open_sound(path: Path, sound_range: tuple[float, float]) -> tuple[sounds.Recording, str]:
    samples, rate, is_longer = read_sound(path)
    recording = sounds.recording_of(samples, rate, sound_range)
    if recording.is_silent:
        raise ValueError("the recording has only silence or steady noise in the range of frequencies that is used")
    remark = f"the recording is longer than {MOST_SECONDS:g} seconds; the part after that is not used"
    return recording, remark if is_longer else ""


def _open_picture(path: Path) -> tuple[pictures.Picture, str]:
    return pictures.picture_of(read_picture(path, pictures.SIDE)), ""


def learn_groups(
    inputs: Sequence[FeatureInput], reader: FileReader, groups: Mapping[str, FileGroup], seed: int, report: Report
) -> None:
    """Let the groups that learn look at a sample of the files."""
    learned = [group for group in groups.values() if isinstance(group, LearnedGroup)]
    if learned:
        _learn(inputs, reader, learned, seed, report)


def measure_files(
    inputs: Sequence[FeatureInput], reader: FileReader, groups: Mapping[str, FileGroup], report: Report
) -> FileRows:
    """Return the rows of the groups in the order of the inputs; those without a file that can be read get zeros."""
    rows = {kind: RowFile(group.width) for kind, group in groups.items()}
    files = FileRows(rows, np.zeros(len(inputs), dtype=np.bool_))
    for position, item in enumerate(inputs):
        report(position / len(inputs), f"Measuring {position + 1:,} of {len(inputs):,} {reader.noun}s")
        content = _open(item, reader, files.faults)
        files.readable[position] = content is not None
        for kind, group in groups.items():
            row = np.zeros(group.width, dtype=np.float32) if content is None else _finite(group.row(content))
            rows[kind].append(row)
    return files


def _open(item: FeatureInput, reader: FileReader, faults: list[Remark]) -> Any | None:
    """Return what an item's file holds; None after noting why there is nothing."""
    if item.medium != reader.medium or item.path is None:
        faults.append(Remark(item.key, f"it has no {reader.noun}"))
        return None
    try:
        content, remark = reader.open(item.path)
    except (ValueError, OSError) as error:
        faults.append(Remark(item.key, with_subject(f"the {reader.noun}", error)))
        return None
    if remark:
        faults.append(Remark(item.key, remark, is_measured=True))
    return content


def _learn(
    inputs: Sequence[FeatureInput], reader: FileReader, groups: list[LearnedGroup], seed: int, report: Report
) -> None:
    """Let the groups learn from patches of a sample of the files."""
    sample = _sample([item for item in inputs if item.medium == reader.medium], seed)
    n_patches = max(1, MOST_PATCHES // max(1, len(sample)))
    rng = np.random.default_rng(seed)
    for number, item in enumerate(sample):
        report(number / len(sample), f"Learning patterns: {number + 1:,} of {len(sample):,} {reader.noun}s")
        content = _open(item, reader, [])
        for group in groups if content is not None else ():
            group.collect_patches(content, min(n_patches, MOST_PATCHES_OF_ONE), rng)
    for group in groups:
        group.learn()


def _sample(inputs: Sequence[FeatureInput], seed: int) -> list[FeatureInput]:
    """Return at most MOST_LEARNED_FROM items in the order of their keys; they do not depend on the order of inputs."""
    ordered = sorted(inputs, key=lambda item: item.key)
    if len(ordered) <= MOST_LEARNED_FROM:
        return ordered
    chosen = np.random.default_rng(seed).choice(len(ordered), MOST_LEARNED_FROM, replace=False)
    return [ordered[position] for position in np.sort(chosen)]


def _finite(row: Rows) -> Rows:
    return np.nan_to_num(row, nan=0.0, posinf=0.0, neginf=0.0)
