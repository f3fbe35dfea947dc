"""Comparisons as JSON."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tercet.catalogue.algorithms import ALGORITHMS
from tercet.catalogue.compared_systems import COMPARED, KMEANS, KMEANS_TITLE
from tercet.comparisons.verdict import sentence
from tercet.models import Run
from tercet.web.texts import Text

TITLES = {name: system.title.replace(", parameters", " with parameters") for name, system in ALGORITHMS.items()}
TITLES[KMEANS] = KMEANS_TITLE
COMPARISON_EXAMPLE: dict[str, Any] = {
    "run": 42,
    "status": "done",
    "progress": 1.0,
    "starved": False,
    "created_at": "2026-05-02T09:30:00Z",
    "finished_at": "2026-05-02T09:31:40Z",
    "answers": 300,
    "folds": 5,
    "seeds": 3,
    "systems": [
        {
            "name": "dcrc",
            "title": "DCRC",
            "held_out_log_score": -0.52,
            "held_out_accuracy": 0.81,
            "answers_satisfied": 0.9,
            "stability": 0.93,
            "seconds": 1.4,
        },
        {
            "name": "kmeans",
            "title": KMEANS_TITLE,
            "held_out_log_score": -0.81,
            "held_out_accuracy": 0.62,
            "answers_satisfied": 0.6,
            "stability": 0.88,
            "seconds": 0.2,
        },
    ],
    "guess_log_score": -0.98,
    "recommended": "dcrc",
    "sentence": "DCRC predicts answers best.",
    "error": None,
}


class ComparisonIn(BaseModel):
    """The systems to compare; if left out, K-means and all that the project can use."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"systems": ["dcrc", "sklr", KMEANS]}]})

    systems: list[Text] | None = Field(
        None, min_length=2, max_length=20, description=f"two or more of {', '.join(COMPARED)}"
    )


class SystemFigures(BaseModel):
    """One system; figures about answers are missing where there are too few.

    `held_out_log_score` is the mean log probability of answers that a fit had not seen, 0 at best, and
    `held_out_accuracy` the share that it predicted, from features, bag labels and the other answers, as far as the
    system reads them; `answers_satisfied` is the share of all yes and no answers that
    the clusters of a fit to all answers agree with; `stability` the mean adjusted Rand index between fits with
    different seeds; `seconds` the time of one such fit.
    """

    name: str
    title: str
    held_out_log_score: float | None = None
    held_out_accuracy: float | None = None
    answers_satisfied: float | None = None
    stability: float
    seconds: float


class ComparisonOut(BaseModel):
    """A comparison; without systems until it is done.

    `starved` says that it mostly waits for a processor that other programs use; `guess_log_score` is that of guessing
    by the frequencies of answers.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [COMPARISON_EXAMPLE]})

    run: int
    status: str
    progress: float
    starved: bool
    created_at: datetime
    finished_at: datetime | None
    answers: int | None
    folds: int | None
    seeds: int | None
    systems: list[SystemFigures]
    guess_log_score: float | None
    recommended: str | None
    sentence: str
    error: str | None

    @classmethod
    def of(cls, run: Run) -> "ComparisonOut":
        """Return the schema of a comparison."""
        metrics = run.metrics
        return cls(
            run=run.number,
            status=run.status,
            progress=run.progress,
            starved=run.starved,
            created_at=run.created_at,
            finished_at=run.finished_at,
            answers=metrics.get("n_answers"),
            folds=metrics.get("n_folds"),
            seeds=metrics.get("n_seeds"),
            systems=[SystemFigures(title=TITLES[row["name"]], **row) for row in metrics.get("systems", [])],
            guess_log_score=metrics.get("guess_log_score"),
            recommended=metrics.get("recommended"),
            sentence=sentence(metrics, TITLES),
            error=run.error,
        )
