"""What comes in and goes out about runs and clusters, as JSON."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tercet.items.schemas import PlacedItem
from tercet.models import Run
from tercet.web.texts import Text

RUN_EXAMPLE: dict[str, Any] = {
    "number": 41,
    "purpose": "current",
    "name": "",
    "status": "done",
    "algorithm": "dcrc",
    "parameters": {"n_clusters": 13, "epsilon": 0.05, "tau": 1.0},
    "reason": "answers",
    "progress": 1.0,
    "starved": False,
    "attempts": 1,
    "answers_from": 1194,
    "answers_to": 1204,
    "created_at": "2026-05-02T09:30:00Z",
    "started_at": "2026-05-02T09:30:04Z",
    "finished_at": "2026-05-02T09:30:05Z",
    "seconds": 0.6,
    "metrics": {
        "n_items": 4998,
        "n_clusters": 13,
        "n_answers": 1204,
        "answers_satisfied": 0.91,
        "prequential_accuracy": 0.8,
        "prequential_answers": 10,
        "random_answers": 61,
        "random_accuracy": 0.84,
        "random_accuracy_interval": [0.72, 0.91],
        "random_expected": 0.87,
        "items_moved": 4,
        "clusters_supported": {"n_clusters": 12, "alike": [[5, 9]]},
        "first_clusters": {"shown": False, "factor": 18200.0, "needed": 10000.0, "items_as_fitted": 340},
        "mean_confidence": 0.88,
        "temperature": 1.42,
        "lower_bound": -0.61,
        "expected_gain": [
            {
                "answers": 50,
                "moved": {"low": 5.2, "median": 14.0, "high": 31.8},
                "predicted": {"low": 0.001, "median": 0.012, "high": 0.034},
            },
            {
                "answers": 200,
                "moved": {"low": 15.1, "median": 40.3, "high": 81.0},
                "predicted": {"low": 0.004, "median": 0.031, "high": 0.077},
            },
        ],
        "levels_off": {"low": 80, "median": 120, "high": 210},
        "confused_pairs": [{"first": 3, "second": 12, "items": 14}],
        "accuracy_curve": {
            "points": [[602, 0.71, 0.53, 0.84], [1204, 0.84, 0.67, 0.93]],
            "chance": 0.5,
            "ceiling": 0.93,
        },
        "agreement": {"questions": 40, "agreement": 0.78, "ceiling": 0.8832},
        "error_rates": {"unsure": 0.24, "mixed_up": 0.03, "invented": 0.06, "n_clear": 530.1, "n_unclear": 673.9},
        "n_iter": 3,
        "converged": True,
        "warm_start": True,
        "seconds": 0.6,
    },
    "error": None,
}
ITEM_EXAMPLE: dict[str, Any] = {
    "key": "song-17",
    "position": 16,
    "confidence": 0.99,
    "called_typical": False,
    "text": "",
    "media_type": "audio/wav",
    "media_url": "/api/v1/projects/forest-songs/media/media/song-17",
    "picture_url": "/api/v1/projects/forest-songs/media/picture/song-17",
    "thumbnail_url": "/api/v1/projects/forest-songs/media/thumbnail/song-17",
}
CLUSTER_EXAMPLE: dict[str, Any] = {
    "cluster": 1,
    "name": "Swainson's thrush?",
    "note": "",
    "size": 412,
    "mean_confidence": 0.93,
    "bag_labels": [{"label": "Swainson's thrush", "share": 0.87}],
    "words": ["0.5 s", "3.1–5 kHz", "rising", "mostly recorder B"],
    "exemplars": [ITEM_EXAMPLE],
    "uncertain": [{**ITEM_EXAMPLE, "key": "song-99", "position": 98, "confidence": 0.34}],
}


class RunIn(BaseModel):
    """The run to start; fields left out are as the project has them."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"algorithm": "dcrc", "parameters": {"n_clusters": 13, "epsilon": 0.05}}]},
    )

    algorithm: str | None = None
    parameters: dict[str, Any] | None = None


class RunOut(BaseModel):
    """One run; `seconds` is from its start to its end, waiting for a worker included.

    Its `purpose` is `current` for the project's own clusterings, `alternative` for another one that stands beside, and
    `comparison` for figures about several algorithms, without clusters. Where the number of clusters was chosen,
    `clusters_curve` of its `metrics` has the mean held-out score of each number and the standard error of that mean.

    `attempts` is how often a worker has begun with it since it last came further: more than one where workers were
    killed, and after five losses at the same place it is given up. While a run is computed, `starved` says that it
    mostly waits for a processor that other programs use.

    Further `metrics`, each missing where it is not known: `answers_satisfied` is the share of the answers used that
    the clusters agree with, so high by nature; `prequential_accuracy` that of new answers which the run before had
    predicted. `expected_gain` is what the next 50 and 200 answers are expected to buy, with an interval of 80 %: items
    that move to another cluster, and by how much a larger share of answers to random questions is predicted.
    `agreement` is how far two people agree on questions that several answered, and the share of answers that any
    clusters could predict at most then. `error_rates` are the shares of clear cases with "don't know" (`unsure`) or
    a wrong item (`mixed_up`), and of others where an item was named (`invented`), as learned from the project's
    answers. `first_clusters` says whether the clusters are still those of the fit without answers (`shown`), with some
    items where answers or edits place them (`items_as_fitted`): until new answers were `needed` times
    as probable by the fit's clusters. `factor` is how many times they were so far; it begins anew at 1 when it falls
    below. All this is missing once the clusters are the fit's, after the run that changed it. `clusters_supported` is
    how many clusters of the fit the answers support: fewer than there are if some are nearly empty, or if answers do
    not tell them apart, and `alike` lists these. `temperature` is what the log odds of the fit's posteriors were
    divided by, so that they are as sure as earlier ones were right to be about the newest answers.

    `accuracy_curve` is of answers that name an item: its `points` have the number of answers, the share of those since
    the point before that were foreseen, and its 95 % interval; `ceiling` is set by how far labelers agree.
    `confused_pairs` are up to three pairs of clusters between which most items are probably in the wrong one,
    `cluster_words` what separates each cluster, and `levels_off` after how many answers 50 further ones move fewer than
    one item in a hundred, null beyond 800.
    """

    model_config = ConfigDict(from_attributes=True, json_schema_extra={"examples": [RUN_EXAMPLE]})

    number: int
    purpose: str
    name: str
    status: str
    algorithm: str
    parameters: dict[str, Any]
    reason: str
    progress: float
    starved: bool
    attempts: int
    answers_from: int
    answers_to: int | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    seconds: float | None = None
    metrics: dict[str, Any]
    error: str | None

    @classmethod
    def of(cls, run: Run) -> "RunOut":
        """Return a run as it goes out."""
        out = cls.model_validate(run)
        if run.started_at is not None and run.finished_at is not None:
            out.seconds = (run.finished_at - run.started_at).total_seconds()
        return out


class RunList(BaseModel):
    """A page of runs, newest first; `next` is the `after` of the next page."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"runs": [RUN_EXAMPLE], "next": None}]})

    runs: list[RunOut]
    next: int | None


class MapItem(PlacedItem):
    """An item with its row in the map, which is its position."""

    tags: list[str] = Field(description="words that analysts put on it")


class ClusterItem(PlacedItem):
    """One item of a cluster."""

    confidence: float
    called_typical: bool = Field(False, description="an analyst says that it is typical of the cluster that it is in")


class BagLabelShare(BaseModel):
    """A bag label, and the share of a cluster's items that it probably belongs to."""

    label: str
    share: float


class ClusterOut(BaseModel):
    """One cluster: `exemplars` are its most typical items, those that analysts call so first.

    `uncertain` are those it is least sure of.

    `bag_labels` are up to three that go with it, largest share first; empty where bags have none. `words` say what
    separates it from the other items: medians of sounds, telling words of texts, columns of the table; empty where
    nothing does.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [CLUSTER_EXAMPLE]})

    cluster: int
    name: str
    note: str
    size: int
    mean_confidence: float | None
    bag_labels: list[BagLabelShare]
    words: list[str]
    exemplars: list[ClusterItem]
    uncertain: list[ClusterItem]


class ClusterList(BaseModel):
    """All clusters of a run, by number."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"run": 41, "clusters": [CLUSTER_EXAMPLE]}]})

    run: int
    clusters: list[ClusterOut]


class ItemsBetween(BaseModel):
    """Items that a run puts into one of two clusters and is sure of neither, the most doubtful first."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"run": 41, "clusters": [3, 12], "items": [ITEM_EXAMPLE]}]}
    )

    run: int
    clusters: tuple[int, int]
    items: list[ClusterItem]


class ClusterName(BaseModel):
    """What people call a cluster, from this run on; empty takes the name away."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "Swainson's thrush?", "note": "Two songs of one bird, perhaps."}]},
    )

    name: Text = Field("", max_length=200)
    note: Text = Field("", max_length=20_000)


class NamedCluster(ClusterName):
    """A cluster's name and note as they are now."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"cluster": 1, "name": "Swainson's thrush?", "note": ""}]}
    )

    cluster: int
