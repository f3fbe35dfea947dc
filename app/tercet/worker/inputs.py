"""Loads the inputs of a run: features, answers, bag labels, the previous result."""

import hashlib
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.items.queries import item_count, positions_set_aside
from tercet.labeling import holds
from tercet.models import Answer, FeatureSet, Item, Project, Purpose, Run, Source, Triplet
from tercet.runs import bag_labels, known_clusterings, results
from tercet.runs.bag_labels import BagLabels
from tercet.runs.queries import last_done
from tercet.runs.results import AnswerReport, Array, LabelerReport, Result
from tercet.runs.typical import typical_items
from tercet.storage import Storage
from tercet.worker import hand_edits
from tercet.worker.hand_edits import NO_EDITS, Edits
from tercet_algorithms.answers.patterns import ANSWERS, Kind
from tercet_algorithms.answers.temperature import tempered


class Withheld(NamedTuple):
    """A fit whose clusters are not shown yet, and the one without answers that they have to beat.

    `worker/outputs/first_clusters.py` says why.
    """

    first: Array  # (N, K) posteriors of the fit without answers
    fitted: Array  # (N, K) those of the newest fit
    # How much more probable answers were by the fits' clusters than by the first ones, as a logarithm; 0 at least.
    log_ratio: float


class Calibration(NamedTuple):
    """How sure posteriors are made, and what says so; `worker/outputs/calibration.py` says why."""

    temperature: float  # that the log odds of the fit are divided by
    log_likelihoods: Array  # (T,) of answers foreseen at each of the temperatures compared, older ones faded


@dataclass(frozen=True)
class PreviousResult:
    """The newest result before this run."""

    run: Run
    result: Result
    coordinates: Array
    state: dict[str, Array]  # what a warm start continues from
    resolutions: Array | None  # (K_max - 1, N), where the algorithm has them
    report: AnswerReport | None = None  # what it found of the answers that it used
    withheld: Withheld | None = None  # None: its clusters are those of its fit
    calibration: Calibration | None = None  # None: its posteriors are as sure as its fit

    @property
    def fitted(self) -> Array:
        """The posteriors (N, K) of its fit, as sure as that was, whether or not these are what it shows."""
        if self.withheld is not None:
            return self.withheld.fitted
        return tempered(self.result.posterior, 1 / self.temperature)

    @property
    def temperature(self) -> float:
        """What the log odds of its fit were divided by."""
        return 1.0 if self.calibration is None else self.calibration.temperature


@dataclass(frozen=True)
class JobInputs:
    """Everything a task reads; arrays are by item position, answers in the order in which they were given."""

    kind: Kind  # of the project's question
    features: Array  # (N, D), memory-mapped; with or of points that were learned from the answers, if a run asks
    item_ids: Array  # (N,)
    triplets: Array  # (M, 3) positions
    answers: Array  # (M,) as stored: yes, no, dnk or 1, 2, 3, dnk
    labelers: Array  # (M,) user ids
    numbers: Array  # (M,) the answers' numbers in their project
    previous: PreviousResult | None
    bags: BagLabels | None = None  # where a bag has labels
    points: Array | None = None  # (N, d) learned from the answers, where they are among the features or all of them
    known_clusterings: Array | None = None  # (N, c) codes of the known clusterings that CMBC shall differ from
    # (n,) which positions are in use, N of them; None: all. Everything else here is of the items in use alone.
    in_use: Array | None = None
    # Whether the columns of the features have one scale already, which says what they tell: those of a recipe do.
    one_scale: bool = False
    feature_groups: list[str] | None = None  # (D,) of each column, where a recipe has made the features
    drawn: Array | None = None  # (M,) whether each answer is to a question drawn at random; None: nobody knows
    # (M,) how much each answer counts, from 0 to 1: less where the previous run doubts that the labeler looks at the
    # items. None: all answers count in full.
    weights: Array | None = None
    known: Array | None = None  # (M,) whether an analyst said that each answer is right; None: of none
    edits: Edits = NO_EDITS  # what analysts changed by hand
    typical: Array | None = None  # positions of the items that analysts call typical of their clusters; None: no items

    @property
    def n_labelled_bags(self) -> int:
        """The number of bags with labels."""
        return 0 if self.bags is None else len(self.bags.labels)

    def scaling(self) -> dict[str, bool]:
        """Return the parameter by which estimators leave the scale of features alone; empty where they set it."""
        return {"standardize": False} if self.one_scale else {}

    def answer_arguments(self) -> dict[str, Any]:
        """Return the answers as arguments of an estimator's `fit`."""
        return {
            "triplets": self.triplets,
            "answers": self.answers,
            "kinds": self.kind,
            "labelers": self.labelers.tolist(),
            "weights": self.weights,
        }

    def bag_arguments(self) -> dict[str, Any]:
        """Return bags and their labels as arguments of an estimator's `fit`; empty where there are none."""
        return {} if self.bags is None else self.bags.fit_arguments()

    def digest(self) -> str:
        """Return a hash of items, answers, bag labels and edits: all may change, and a checkpoint is for the same."""
        parts = [self.item_ids.tobytes(), self.triplets.tobytes(), self.answers.tobytes(), self.labelers.tobytes()]
        parts += [] if self.bags is None else [self.bags.digest()]
        parts += [] if self.weights is None else [self.weights.tobytes()]
        parts += [array.tobytes() for array in self.edits.fit_arguments().values()]
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def by_position(self, result: Result) -> Result:
        """Return a result with a row for every position; items that are set aside have label -1."""
        if self.in_use is None:
            return result
        labels = self.spread(result.labels, -1)
        return Result(labels, self.spread(result.confidence, 0), self.spread(result.posterior, 0))

    def withheld_arrays(self, withheld: Withheld | None) -> dict[str, Array]:
        """Return what is withheld, by position, for the state that the next run reads; empty where nothing is."""
        if withheld is None:
            return {}
        first, fitted = self.spread(withheld.first, 0), self.spread(withheld.fitted, 0)
        return {
            "withheld_first": first,
            "withheld_fitted": fitted,
            "withheld_log_ratio": np.array(withheld.log_ratio),
        }

    def spread(self, rows: Array, filler: float) -> Array:
        """Return rows of the items in use (N, ...) with a row for every position (n, ...)."""
        if self.in_use is None:
            return rows
        everywhere = np.full((len(self.in_use), *rows.shape[1:]), filler, dtype=rows.dtype)
        everywhere[self.in_use] = rows
        return everywhere

    def known_here(self, rows: Array | None) -> Array | None:
        """Return those rows of an array by position, of which the last may be missing, that are of items in use."""
        return rows if rows is None or self.in_use is None else rows[self.in_use[: len(rows)]]


def load(database: Database, storage: Storage, run: Run) -> JobInputs:
    """Read the features and answers that the run was started with."""
    with database.reading() as session:
        project = session.get_one(Project, run.project_id)
        features = None if run.feature_set_id is None else session.get_one(FeatureSet, run.feature_set_id)
        n_items = item_count(session, project.id) if features is None else features.n
        recipe = None if features is None else features.recipe
        bags = bag_labels.load(session, project.id, n_items)
        in_use = _in_use(session, project.id, n_items)
        codes = None
        if run.algorithm == "cmbc":
            codes = known_clusterings.load(session, storage, project.id, run.parameters, n_items)
        item_ids = _item_ids(session, project.id, n_items)
        rows = _answer_rows(session, run)
        before = last_done(session, project.id, before=run.number) if run.purpose == Purpose.CURRENT else None
        trusted = holds.put_back(session, project.id)
        links = hand_edits.read(session, project.id)
        typical = typical_items(session, project.id)
    values: Array = np.empty((n_items, 0)) if features is None else storage.memory_map(features.blob)
    if in_use is not None:
        # Answers about items that are set aside find no position, and are left out with them.
        values, item_ids = values[in_use], item_ids[in_use]
        codes = None if codes is None else codes[in_use]
        bags = None if bags is None else bags.of_those(in_use)
    previous = None if before is None else _previous(storage, before, in_use)
    triplets, has_features = positions(rows[:, :3].astype(np.int64), item_ids)
    labelers = rows[has_features, 4].astype(np.int64)
    return JobInputs(
        kind="outlier" if project.question_kind == "outlier" else "relative",
        features=values,
        one_scale=recipe is not None,
        feature_groups=None if recipe is None else recipe.get("group_of_column"),
        item_ids=item_ids,
        triplets=triplets,
        answers=rows[has_features, 3].astype(str),
        labelers=labelers,
        numbers=rows[has_features, 5].astype(np.int64),
        drawn=rows[has_features, 6] == Source.RANDOM,
        known=rows[has_features, 7].astype(bool),
        previous=previous,
        bags=bags,
        known_clusterings=codes,
        in_use=in_use,
        weights=None if before is None else answer_weights(results.labeler_report(storage, before), labelers, trusted),
        typical=np.flatnonzero(np.isin(np.arange(n_items) if in_use is None else np.flatnonzero(in_use), typical)),
        edits=hand_edits.place(
            links,
            partial(positions, item_ids=item_ids),
            None if before is None or previous is None else (before.started_at, previous.result.labels),
        ),
    )


def answer_weights(reports: list[LabelerReport], labelers: Array, trusted: set[int]) -> Array | None:
    """Return how much each answer counts: the probability that its labeler looks at the items; 1 for the `trusted`.

    None if all answers count in full.
    """
    doubts = {report.labeler: report.doubt for report in reports if report.doubt and report.labeler not in trusted}
    return np.array([1 - doubts.get(labeler, 0.0) for labeler in labelers.tolist()]) if doubts else None


def _in_use(session: Session, project_id: int, n: int) -> Array | None:
    """Return which of the first n positions are in use; None if all are."""
    aside = [position for position in positions_set_aside(session, project_id) if position < n]
    if not aside:
        return None
    in_use = np.ones(n, dtype=bool)
    in_use[aside] = False
    return in_use


def _item_ids(session: Session, project_id: int, n: int) -> Array:
    statement = select(Item.id).where(Item.project_id == project_id, Item.position < n).order_by(Item.position)
    return np.array(session.scalars(statement).all(), dtype=np.int64)


def _answer_rows(session: Session, run: Run) -> Array:
    ids = (Triplet.anchor_id, Triplet.left_id, Triplet.right_id)
    columns = (*ids, Answer.value, Answer.labeler_id, Answer.number, Triplet.source, Answer.known_at.is_not(None))
    statement = (
        select(*columns)
        .join(Triplet, Triplet.id == Answer.triplet_id)
        .where(Answer.project_id == run.project_id, Answer.number <= run.answers_to)
        .where(Answer.counts)
        .order_by(Answer.number)
    )
    rows: list[Any] = [tuple(row) for row in session.execute(statement)]
    return np.array(rows, dtype=object).reshape(-1, len(columns))


def positions(ids: Array, item_ids: Array) -> tuple[Array, Array]:
    """Return the positions of triplets, or pairs, of item ids (M, 3), and which of the M have features for all three.

    Items that came after the features wait for the next ones.
    """
    order = np.argsort(item_ids)
    ranks = np.searchsorted(item_ids, ids, sorter=order)
    positions = order[np.minimum(ranks, len(item_ids) - 1)]
    has_features = (item_ids[positions] == ids).all(axis=1)
    return positions[has_features], has_features


def _previous(storage: Storage, run: Run, in_use: Array | None) -> PreviousResult:
    """Read the previous result, of the items in use; no warm start goes on where others were in use then."""
    key = run.result
    assert key is not None, "a run that is done has a result"
    result = results.load(storage, key)
    stored = results.load_resolutions(storage, key)
    rows = None if stored is None else np.frombuffer(stored, np.uint8).reshape(-1, len(result.labels))
    coordinates, state = results.coordinates(storage, key), results.load_state(storage, key)
    withheld, calibration = _withheld(state), _calibration(state)
    in_use_then = result.labels > 0
    in_use_now = np.ones(len(in_use_then), bool) if in_use is None else in_use[: len(in_use_then)]
    if not np.array_equal(in_use_then[: len(in_use_now)], in_use_now):
        state = {}
    if in_use is not None:
        there = np.zeros(len(in_use_then), dtype=bool)
        there[: len(in_use_now)] = in_use_now
        result = Result(result.labels[there], result.confidence[there], result.posterior[there])
        coordinates, rows = coordinates[there], None if rows is None else rows[:, there]
        if withheld is not None:
            withheld = withheld._replace(first=withheld.first[there], fitted=withheld.fitted[there])
    report = results.answer_report(storage, run)
    return PreviousResult(run, result, coordinates, state, rows, report, withheld, calibration)


def _withheld(state: dict[str, Array]) -> Withheld | None:
    """Read, by position, what the state of a run holds of a fit that it does not show."""
    if "withheld_log_ratio" not in state:
        return None
    return Withheld(state["withheld_first"], state["withheld_fitted"], float(state["withheld_log_ratio"]))


def _calibration(state: dict[str, Array]) -> Calibration | None:
    """Read how sure the posteriors of a run were made; None of a run from before that was done."""
    if "calibration_temperature" not in state:
        return None
    return Calibration(float(state["calibration_temperature"]), state["calibration_log_likelihoods"])


def answer_columns(answers: Array, kind: Kind) -> Array:
    """Return the column of every answer in a table of its kind, (M,)."""
    columns = np.zeros(len(answers), dtype=np.int64)
    for column, name in enumerate(ANSWERS[kind]):
        columns[answers == name] = column
    return columns
