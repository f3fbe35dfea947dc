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
from tercet.features.decoding import MOST_SECONDS, read_picture, read_sound, sampling_rate
from tercet.features.inputs import FeatureInput
from tercet.features.row_file import RowFile
from tercet.web.texts import with_subject

Rows = NDArray[np.float32]
Report = Callable[[float, str], None]

MOST_LEARNED_FROM = 400  # items whose patches are sampled
MOST_PATCHES = 20_000
MOST_PATCHES_OF_ONE = 100
LEARNING_SHARE = 0.15  # of the progress that is reported, where anything is learned


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


@dataclass
class FileRows:
    """The rows of each group over the files of one medium, which rows are readable, and the faults of the others."""

    rows: dict[str, RowFile]
    readable: NDArray[np.bool_]
    faults: list[tuple[str, str]] = field(default_factory=list)


def rows_of_sounds(
    kinds: Sequence[str], inputs: Sequence[FeatureInput], sound_range: tuple[float, float], seed: int, report: Report
) -> FileRows:
    """Return the rows of the groups of these kinds, in the order of the inputs; those without a recording get zeros."""
    makers: Mapping[str, Callable[[], FileGroup]] = {
        "sound_measures": partial(sounds.SoundMeasures, sound_range),
        "sound_codes": partial(sounds.SoundCodes, seed),
        "sound_outline": sounds.SoundOutline,
    }
    reader = _Reader("audio", "recording", partial(_open_sound, sound_range=sound_range))
    return _two_passes(inputs, reader, {kind: makers[kind]() for kind in kinds}, seed, report)


def rows_of_pictures(kinds: Sequence[str], inputs: Sequence[FeatureInput], seed: int, report: Report) -> FileRows:
    """Return the rows of the groups of these kinds, in the order of the inputs; those without a picture get zeros."""
    makers: Mapping[str, Callable[[], FileGroup]] = {
        "picture_shapes": pictures.PictureShapes,
        "picture_colours": pictures.PictureColours,
        "picture_codes": partial(pictures.PictureCodes, seed),
    }
    reader = _Reader("image", "picture", _open_picture)
    return _two_passes(inputs, reader, {kind: makers[kind]() for kind in kinds}, seed, report)


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
class _Reader:
    """How files of one medium are opened: `open` returns the content for the groups, and a remark (empty for none)."""

    medium: str
    noun: str
    open: Callable[[Path], tuple[Any, str]]


def _open_sound(path: Path, sound_range: tuple[float, float]) -> tuple[sounds.Recording, str]:
    samples, rate, is_longer = read_sound(path)
    recording = sounds.recording_of(samples, rate, sound_range)
    if recording.is_silent:
        raise ValueError("the recording has only silence or steady noise in the range of frequencies that is used")
    remark = f"the recording is longer than {MOST_SECONDS:g} seconds; the part after that is not used"
    return recording, remark if is_longer else ""


def _open_picture(path: Path) -> tuple[pictures.Picture, str]:
    return pictures.picture_of(read_picture(path, pictures.SIDE)), ""


def _two_passes(
    inputs: Sequence[FeatureInput], reader: _Reader, groups: Mapping[str, FileGroup], seed: int, report: Report
) -> FileRows:
    learned = [group for group in groups.values() if isinstance(group, LearnedGroup)]
    share = LEARNING_SHARE if learned else 0.0
    if learned:
        _learn(inputs, reader, learned, seed, lambda part, words: report(share * part, words))
    rows = {kind: RowFile(group.width) for kind, group in groups.items()}
    files = FileRows(rows, np.zeros(len(inputs), dtype=np.bool_))
    for position, item in enumerate(inputs):
        report(
            share + (1 - share) * position / len(inputs),
            f"Measuring {position + 1:,} of {len(inputs):,} {reader.noun}s",
        )
        content = _open(item, reader, files.faults)
        files.readable[position] = content is not None
        for kind, group in groups.items():
            row = np.zeros(group.width, dtype=np.float32) if content is None else _finite(group.row(content))
            rows[kind].append(row)
    return files


def _open(item: FeatureInput, reader: _Reader, faults: list[tuple[str, str]]) -> Any | None:
    """Return the content of an item's file; None, with a fault added, where it cannot be read."""
    if item.medium != reader.medium or item.path is None:
        faults.append((item.key, f"it has no {reader.noun}; its features are those of the average item"))
        return None
    try:
        content, remark = reader.open(item.path)
    except (ValueError, OSError) as error:
        faults.append(
            (item.key, f"{with_subject(f'the {reader.noun}', error)}; its features are those of the average item")
        )
        return None
    if remark:
        faults.append((item.key, remark))
    return content


def _learn(
    inputs: Sequence[FeatureInput], reader: _Reader, groups: list[LearnedGroup], seed: int, report: Report
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
