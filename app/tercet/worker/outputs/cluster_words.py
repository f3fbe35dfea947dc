"""Clusters in words: the length, pitch and shape of sounds, telling words of texts, columns of the table.

Of pictures nothing is said: their features are patterns and colours that have no short names.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import select

from tercet.features.measured import NOTES, contour, sounds_in_units
from tercet.features.tables import DAY, PARSERS, Column, learn_columns, parsed
from tercet.features.texts import PIECES
from tercet.models import Bag, FeatureSet, Item
from tercet.runs.results import Array, Result
from tercet.worker.checkpoints import Job
from tercet.worker.inputs import JobInputs
from tercet.worker.outputs.separation import Interval, telling_interval, telling_values

MOST_ITEMS = 20_000  # evenly spaced ones of more: they say the same
AT_ONCE = 1_000
MOST_CLUSTERS = 100
MOST_SOUND_WORDS, MOST_TERMS, MOST_COLUMNS = 3, 3, 2
MOST_FEATURES = 200  # columns of uploaded features with names; of more, nobody knows what the names mean
LEAST_SHARE = 0.1  # of a cluster's texts that have a telling word
MOSTLY = 0.5
BAG = "bag"


class Items(NamedTuple):
    """What is known of n items: their clusters from 1, texts, metadata with the bag, and named measures (n,)."""

    labels: Array
    texts: list[str]
    details: list[dict[str, object]]
    sounds: Mapping[str, Array]
    features: Mapping[str, Array]


@dataclass(frozen=True)
class Aspect:
    """One thing to say of sounds: the measures that may tell clusters apart in it, and what is said then.

    `words` gets the cluster's medians of all measures, and which of the aspect's measures separate it; it returns an
    empty text where they say nothing that is easily put into words.
    """

    measures: tuple[str, ...]
    words: Callable[[Mapping[str, float], Mapping[str, Interval]], str]


def measure(job: Job, inputs: JobInputs, result: Result) -> dict[str, Any]:
    """Return the words of each cluster as a metric; empty where nothing separates any, or there are too many."""
    if result.n_clusters > MOST_CLUSTERS:
        return {}
    words_of = describe(_read(job, inputs, result), result.n_clusters)
    return {"cluster_words": {str(cluster): words for cluster, words in words_of.items() if words}}


def describe(items: Items, n_clusters: int) -> dict[int, list[str]]:
    """Return what separates each cluster from the other items in a few words, most telling kinds first."""
    parts = [
        _of_sounds(items, n_clusters),
        _of_texts(items, n_clusters),
        _of_features(items, n_clusters),
        _of_columns(items, n_clusters),
    ]
    return {cluster: [word for part in parts for word in part.get(cluster, [])] for cluster in _clusters(n_clusters)}


def _clusters(n_clusters: int) -> range:
    return range(1, n_clusters + 1)


def _read(job: Job, inputs: JobInputs, result: Result) -> Items:
    """Read what is known of the items in use, evenly spaced ones where there are many."""
    step = -(-len(inputs.item_ids) // MOST_ITEMS)
    chosen = np.arange(0, len(inputs.item_ids), step)
    places = np.arange(len(inputs.item_ids)) if inputs.in_use is None else np.flatnonzero(inputs.in_use)
    with job.database.reading() as session:
        contents: dict[int, Any] = dict.fromkeys(inputs.item_ids[chosen].tolist(), ("", {}, None))
        ids = list(contents)
        statement = select(Item.id, Item.text, Item.details, Bag.key).outerjoin(Bag, Bag.id == Item.bag_id)
        for start in range(0, len(ids), AT_ONCE):
            rows = session.execute(statement.where(Item.id.in_(ids[start : start + AT_ONCE])))
            contents |= {item: content for item, *content in rows}
        number = job.run.feature_set_id
        features = None if number is None else session.get_one(FeatureSet, number)
    return Items(
        labels=result.labels[chosen],
        texts=[text for text, _, _ in contents.values()],
        details=[details if bag is None else {**details, BAG: bag} for _, details, bag in contents.values()],
        sounds={} if features is None else sounds_in_units(job.storage, features, places[chosen]),
        features={} if features is None else _named_features(job, features, places[chosen]),
    )


def _named_features(job: Job, features: FeatureSet, places: Array) -> dict[str, Array]:
    """Return uploaded features that have names."""
    names = features.feature_names
    if features.recipe is not None or not 0 < len(names) <= MOST_FEATURES:
        return {}
    return dict(zip(names, job.storage.memory_map(features.blob)[places].T.astype(np.float64), strict=True))


def _of_sounds(items: Items, n_clusters: int) -> dict[int, list[str]]:
    names = [name for aspect in ASPECTS for name in aspect.measures if name in items.sounds]
    words = {}
    for cluster, intervals in _intervals({name: items.sounds[name] for name in names}, items, n_clusters).items():
        is_member = items.labels == cluster
        medians = {name: float(np.median(values[is_member])) for name, values in items.sounds.items() if intervals}
        telling = [{name: intervals[name] for name in aspect.measures if name in intervals} for aspect in ASPECTS]
        texts = [aspect.words(medians, these) if these else "" for aspect, these in zip(ASPECTS, telling, strict=True)]
        outside = [max((interval.outside for interval in these.values()), default=0.0) for these in telling]
        best = sorted((place for place, text in enumerate(texts) if text), key=lambda place: -outside[place])
        words[cluster] = [texts[place] for place in sorted(best[:MOST_SOUND_WORDS])]
    return words


def _intervals(measures: Mapping[str, Array], items: Items, n_clusters: int) -> dict[int, dict[str, Interval]]:
    """Return the intervals of the measures that separate each cluster, those that separate it best first."""
    n_comparisons = max(1, len(measures) * n_clusters)
    intervals_of = {}
    for cluster in _clusters(n_clusters):
        is_member = items.labels == cluster
        tried = {name: telling_interval(values, is_member, n_comparisons) for name, values in measures.items()}
        telling = [(name, interval) for name, interval in tried.items() if interval is not None]
        intervals_of[cluster] = dict(sorted(telling, key=lambda pair: -pair[1].outside))
    return intervals_of


def _of_features(items: Items, n_clusters: int) -> dict[int, list[str]]:
    return {
        cluster: [f"{name} {_range(interval)}" for name, interval in list(intervals.items())[:MOST_COLUMNS]]
        for cluster, intervals in _intervals(items.features, items, n_clusters).items()
    }


def _of_texts(items: Items, n_clusters: int) -> dict[int, list[str]]:
    from sklearn.feature_extraction.text import CountVectorizer

    try:
        vectorizer = CountVectorizer(binary=True, min_df=2, **PIECES["words"])
        has_word = vectorizer.fit_transform(items.texts)
    except ValueError:  # no word is in two texts, or there are no texts
        return {}
    terms = vectorizer.get_feature_names_out()
    members, sizes = _members(items.labels, n_clusters)
    telling = telling_values(np.asarray(has_word.T.dot(members.T)).T, sizes, LEAST_SHARE)
    return {
        cluster: [f"“{terms[term]}”" for term in telling[cluster - 1][:MOST_TERMS]] for cluster in _clusters(n_clusters)
    }


def _members(labels: Array, n_clusters: int) -> tuple[Array, Array]:
    """Return which items are in each cluster (K, n), and how many (K,)."""
    members = (labels == np.arange(1, n_clusters + 1)[:, None]).astype(np.int64)
    return members, members.sum(axis=1)


def _of_columns(items: Items, n_clusters: int) -> dict[int, list[str]]:
    columns = learn_columns(items.details).columns
    words = _of_values(items, [column for column in columns if column.sort == "category"], n_clusters)
    measured = [column for column in columns if column.sort != "category"]
    cells = {c.name: parsed([row.get(c.name) for row in items.details], PARSERS[c.sort]) for c in measured}
    ranges = {column.name: _days if column.sort == "date" else _range for column in measured}
    for cluster, intervals in _intervals(cells, items, n_clusters).items():
        more = [f"{name} {ranges[name](interval)}" for name, interval in intervals.items()]
        words[cluster] = [*words[cluster], *more][:MOST_COLUMNS]
    return words


def _of_values(items: Items, columns: Sequence[Column], n_clusters: int) -> dict[int, list[str]]:
    """Return the values of categories that most items of a cluster have, and few others."""
    pairs = [(column.name, value) for column in columns for value in column.values]
    cells = {c.name: np.array([str(row.get(c.name, "")).strip() for row in items.details]) for c in columns}
    members, sizes = _members(items.labels, n_clusters)
    has_value = np.array([cells[name] == value for name, value in pairs], dtype=np.int64).reshape(
        len(pairs), len(items.details)
    )
    telling = telling_values(members @ has_value.T, sizes, MOSTLY)
    words = [f"mostly {'from' if name == BAG else name} {value}" for name, value in pairs]
    return {cluster: [words[pair] for pair in telling[cluster - 1]] for cluster in _clusters(n_clusters)}


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low}–{high}"


def _range(interval: Interval) -> str:
    return _between(_number(interval.low), _number(interval.high))


def _days(interval: Interval) -> str:
    low, high = (datetime.fromtimestamp(days * DAY, UTC).date().isoformat() for days in (interval.low, interval.high))
    return _between(low, high)


def _side(telling: Mapping[str, Interval], higher: str, lower: str) -> str:
    """Return a word for more, or for less, than the other items have; empty where some have more and some less."""
    [interval] = list(telling.values())[:1]
    return higher if interval.below > 2 * interval.above else lower if interval.above > 2 * interval.below else ""


def _band(medians: Mapping[str, float], telling: Mapping[str, Interval]) -> str:
    low, high = (f"{medians[name]:.2g}" for name in ("quantile05_khz", "quantile95_khz"))
    return f"{_between(low, high)} kHz"


def _notes(medians: Mapping[str, float], telling: Mapping[str, Interval]) -> str:
    notes = round(medians[NOTES])
    return f"{notes} note{'' if notes == 1 else 's'}"


def _trill(medians: Mapping[str, float], telling: Mapping[str, Interval]) -> str:
    return _side(telling, f"trilled at {medians['frequency_modulation_hz']:.0f} Hz", "without trill")


ASPECTS = (
    Aspect(("duration_s",), lambda medians, _: f"{medians['duration_s']:.2g} s"),
    Aspect(("quantile05_khz", "quantile50_khz", "quantile95_khz", "peak_khz"), _band),
    Aspect(("contour_rise_octaves", "contour_bend_octaves"), lambda medians, _: contour(medians)),
    Aspect(("frequency_modulation_depth_octaves",), _trill),
    Aspect((NOTES,), _notes),
    Aspect(("momentary_bandwidth_khz", "momentary_entropy"), lambda _, telling: _side(telling, "noisy", "pure")),
    Aspect(("harmonicity",), lambda _, telling: _side(telling, "with harmonics", "")),
)
