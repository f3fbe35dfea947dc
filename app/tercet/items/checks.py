"""Checks items before people label them; each finding says what is wrong and what to do."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SILENT_PEAK = 10 ** (-70 / 20)  # below the noise of any recorder
MOST_CLIPPED = 0.001  # of all samples; a loud peak touches full scale now and then
OTHER_LENGTH = 8  # times longer or shorter than the median
FEWEST_A_CLUSTER = 3
ROWS_AT_ONCE = 65_536
FEWEST_ITEMS = 3


@dataclass(frozen=True)
class ItemFacts:
    """Facts about an item's content; lengths, rates and levels are of sounds only.

    `peak` is the largest sample, 1 at full scale; `clipped_share` the share of samples at full scale.
    """

    key: str
    has_media: bool
    text: str = ""
    content_hash: str | None = None
    seconds: float | None = None
    rate: int | None = None
    peak: float | None = None
    clipped_share: float | None = None


@dataclass(frozen=True)
class Finding:
    """A problem of the items: what it is, how to mend it, and which items; no keys where it concerns all."""

    kind: str
    sentence: str
    what_to_do: str
    keys: tuple[str, ...] = ()


def find_problems(
    items: Sequence[ItemFacts],
    n_clusters: int,
    features: NDArray[np.floating] | None = None,
    feature_names: Sequence[str] = (),
    others: int = 0,
    rates: Mapping[int, int] | None = None,
) -> list[Finding]:
    """Return the problems of items, the gravest first; `others` is the number of further items in the project.

    `rates` counts the recordings by their rate where the items do not tell it.
    """
    return [
        *_about_numbers(len(items) + others, n_clusters),
        *_about_silence(items),
        *_about_clipping(items),
        *_about_duplicates(items),
        *_about_missing_media(items),
        *_about_rates(items, rates or Counter(item.rate for item in items if item.rate is not None)),
        *_about_lengths(items),
        *(_about_features(features, feature_names) if features is not None else ()),
    ]


def _count(keys: Sequence[str], one: str, many: str) -> str:
    return f"1 item {one}" if len(keys) == 1 else f"{len(keys):,} items {many}"


def _about_numbers(n: int, n_clusters: int) -> Iterator[Finding]:
    """Compare K with N: a cluster needs a few items, a question three."""
    if n < FEWEST_ITEMS:
        there = "There is 1 item" if n == 1 else f"There are {n} items"
        todo = "Add items, or cut long recordings into the sounds within them."
        yield Finding("few_items", f"{there}; a question needs {FEWEST_ITEMS}.", todo)
    elif n_clusters * FEWEST_A_CLUSTER > n:
        sentence = f"{n_clusters} clusters of {n} items have fewer than {FEWEST_A_CLUSTER} items each on average."
        if n_clusters >= n:
            sentence = f"{n_clusters} clusters are asked for, but there are only {n} items."
        fewer = max(2, n // FEWEST_A_CLUSTER)
        advice = f"Ask for {fewer} clusters or fewer, or add items."
        yield Finding("clusters", sentence, advice if fewer < n_clusters else "Add items.")


def _about_silence(items: Sequence[ItemFacts]) -> Iterator[Finding]:
    keys = tuple(item.key for item in items if item.peak is not None and item.peak < SILENT_PEAK)
    if keys:
        sentence = f"{_count(keys, 'is', 'are')} silent: nothing can be heard or seen in them."
        yield Finding("silent", sentence, "Delete or set them aside, or send the recordings again.", keys)


def _about_clipping(items: Sequence[ItemFacts]) -> Iterator[Finding]:
    keys = tuple(item.key for item in items if (item.clipped_share or 0.0) > MOST_CLIPPED)
    if keys:
        sentence = f"{_count(keys, 'is', 'are')} clipped: recorded so loud that the tops of the waves are cut off."
        todo = (
            "Their overtones are not real. Leave them out, or tell the labelers to pay no heed to faint copies above."
        )
        yield Finding("clipped", sentence, todo, keys)


def _about_duplicates(items: Sequence[ItemFacts]) -> Iterator[Finding]:
    """Find items of the same media, or of the same text where there are no media."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for item in items:
        if content := item.content_hash or (None if item.has_media else item.text.strip()):
            groups["media" if item.has_media else "text", content].append(item.key)
    repeated = [keys for keys in groups.values() if len(keys) > 1]
    if repeated:
        keys = tuple(key for group in repeated for key in group)
        example = f"'{repeated[0][0]}' and '{repeated[0][1]}'"
        sentence = f"{len(keys):,} items are copies of each other, {example} for one: the same content, other names."
        yield Finding("duplicates", sentence, "Keep one of each: copies count twice in every cluster.", keys)


def _about_missing_media(items: Sequence[ItemFacts]) -> Iterator[Finding]:
    """Find items that have nothing to show although others have."""
    keys = tuple(item.key for item in items if not item.has_media)
    if keys and len(keys) < len(items):
        sentence = (
            f"{_count(keys, 'has', 'have')} neither sound nor picture, the other {len(items) - len(keys):,} have."
        )
        yield Finding("no_media", sentence, "Import the missing files under the names of these items.", keys)
    empty = tuple(item.key for item in items if not item.has_media and not item.text.strip())
    if empty and len(keys) == len(items):
        sentence = f"{_count(empty, 'has', 'have')} nothing to show: no sound, no picture and no text."
        yield Finding(
            "nothing_to_show", sentence, "Labelers see only the key. Import sounds, pictures or texts.", empty
        )


def _about_rates(items: Sequence[ItemFacts], rates: Mapping[int, int]) -> Iterator[Finding]:
    if len(rates) > 1:
        listed = ", ".join(f"{count:,} at {rate:,} Hz" for rate, count in sorted(rates.items()))
        lowest = min(rates)
        sentence = f"The recordings have {len(rates)} sampling rates: {listed}."
        todo = (
            f"Above {lowest / 2:,.0f} Hz only some hold any sound, which would part them by their recorder: let the "
            f"frequency range of the project end there."
        )
        yield Finding("rates", sentence, todo, tuple(item.key for item in items if item.rate == lowest))


def _about_lengths(items: Sequence[ItemFacts]) -> Iterator[Finding]:
    """Find items of another class of length: they fill or vanish in pictures of one time scale."""
    lengths = {item.key: item.seconds for item in items if item.seconds}
    if len(lengths) < FEWEST_ITEMS:
        return
    middle = float(np.median(list(lengths.values())))
    long = tuple(key for key, seconds in lengths.items() if seconds > OTHER_LENGTH * middle)
    short = tuple(key for key, seconds in lengths.items() if seconds < middle / OTHER_LENGTH)
    if long:
        sentence = f"{_count(long, 'is', 'are')} more than {OTHER_LENGTH} times as long as most ({middle:.2g} s)."
        yield Finding("long", sentence, "Cut them by a selection table, or into segments.", long)
    if short:
        sentence = f"{_count(short, 'is', 'are')} less than an eighth as long as most ({middle:.2g} s)."
        yield Finding("short", sentence, "Look at them: a cut that failed is nothing that people can compare.", short)


def _about_features(values: NDArray[np.floating], names: Sequence[str]) -> Iterator[Finding]:
    """Find columns of features that are the same for all items."""
    if len(values) < 2:
        return
    first = np.asarray(values[0])
    constant = np.ones(values.shape[1], dtype=bool)
    for start in range(0, len(values), ROWS_AT_ONCE):
        constant &= (values[start : start + ROWS_AT_ONCE] == first).all(axis=0)
    places = np.flatnonzero(constant)
    if len(places):
        listed = ", ".join(f"'{names[place]}'" if place < len(names) else f"column {place + 1}" for place in places[:5])
        more = f" and {len(places) - 5} more" if len(places) > 5 else ""
        sentence = f"{len(places)} of {values.shape[1]} features are the same for all items: {listed}{more}."
        todo = "They do no harm and tell nothing apart; if all are, no cluster can come of them: send other features."
        yield Finding("constant_features", sentence, todo)
