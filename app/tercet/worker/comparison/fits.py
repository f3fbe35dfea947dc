"""All fits of a comparison: every system with several seeds, and without the answers of each fold.

Answers are divided into folds, equal triplets together, the same for all systems; each fold is predicted by a fit to
the others. All this takes many fits, so the run gives way to those that people wait for, between two fits and in the
middle of one, and later goes on where it was.
"""

import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tercet.catalogue.compared_systems import KMEANS, LEAST_ANSWERS, READ_NO_ANSWERS
from tercet.models import Run, RunStatus, now
from tercet.runs import queries
from tercet.runs.lifecycle import Superseded
from tercet.runs.results import Array
from tercet.worker.checkpoints import Job
from tercet.worker.fits import learned_points, systems
from tercet.worker.fits.learned_points import Part
from tercet.worker.fits.outcome import Callback, FitOutcome, FitProgress
from tercet.worker.fits.without_answers import fit_kmeans
from tercet.worker.inputs import JobInputs, answer_columns
from tercet.worker.outputs.reports import answer_probabilities_of
from tercet_algorithms.answers.reading import Constraints, read_constraints
from tercet_algorithms.common.model_selection import answer_folds

REPORT_SECONDS = 0.5
# An interrupted fit begins again, so it is interrupted so often at most; otherwise it might never end.
MOST_INTERRUPTIONS = 2
# How long the comparison stays away: longer than a project rests after a run, or it would be claimed again first.
STAY_AWAY = timedelta(seconds=2)
# A fit of one system takes about so many times as long as one of another.
_RELATIVE_COST = {"dcrc-cv": 8, "sklr": 2}


class PlannedFit(NamedTuple):
    """One fit of a system: with all answers and a seed, or without the answers of a fold."""

    system: str
    kind: str  # "seed" or "fold"
    number: int

    @property
    def name(self) -> str:
        """The prefix under which its arrays are stored."""
        return "/".join(map(str, self))


@dataclass(frozen=True)
class ComparisonPlan:
    """What is compared: the parameters of every system, on which answers, in which folds, with how many seeds."""

    systems: dict[str, dict[str, Any]]
    inputs: JobInputs
    answers: Constraints
    folds: list[Array]  # rows of the answers held out; empty where answers are too few
    n_seeds: int

    def fits(self) -> Iterator[PlannedFit]:
        """Yield every fit, system by system."""
        for name in self.systems:
            for seed in range(self.n_seeds):
                yield PlannedFit(name, "seed", seed)
            for fold in range(0 if name in READ_NO_ANSWERS else len(self.folds)):
                yield PlannedFit(name, "fold", fold)

    def held_out(self, fold: int) -> Array:
        """Return which answers are held out in a fold, (M,)."""
        is_held_out = np.zeros(len(self.answers), dtype=bool)
        is_held_out[self.folds[fold]] = True
        return is_held_out

    def with_answers(self, chosen: Array) -> JobInputs:
        """Return the inputs with some of the answers only."""
        arguments = self.answers.select(chosen).fit_arguments()
        labelers = np.array(arguments["labelers"], dtype=np.int64)
        answers = {"triplets": arguments["triplets"], "answers": arguments["answers"], "labelers": labelers}
        return replace(self.inputs, **answers, numbers=np.arange(len(labelers)))


class ComparisonProgress:
    """Stores the fits that are done and the progress of a comparison, and gives way to runs that people wait for."""

    def __init__(self, job: Job, digest: str) -> None:
        """Remember where to write; the first report comes after the usual time."""
        self.job, self.digest = job, digest
        self.next_at = time.monotonic() + REPORT_SECONDS

    def report(self, done: dict[str, Array], fit: PlannedFit, begun: float, fraction: float) -> None:
        """Write the progress now and then, in the middle of a fit; raise Superseded when the run is lost or cancelled.

        If another run is due, interrupt this fit and give way, unless it was interrupted too often; `begun` is the
        progress at its beginning.
        """
        self.job.stop_if_lost()
        if time.monotonic() < self.next_at:
            return
        self.next_at = time.monotonic() + REPORT_SECONDS
        interruptions = int(done.get(f"{fit.name}/left", 0))
        if interruptions < MOST_INTERRUPTIONS and self._another_is_due():
            self._give_way({**done, f"{fit.name}/left": np.array(interruptions + 1)}, begun)
        self.job.write_progress(fraction)

    def save(self, done: dict[str, Array], fraction: float) -> None:
        """Store the fits that are done; if another run is due, give way."""
        if self._another_is_due():
            self._give_way(done, fraction)
        self.job.write(checkpoint=self.job.save_checkpoint(done, self.digest), progress=fraction)

    def _another_is_due(self) -> bool:
        with self.job.database.reading() as session:
            return queries.another_run_is_due(session, self.job.run)

    def _give_way(self, done: dict[str, Array], fraction: float) -> NoReturn:
        queued = {"status": RunStatus.QUEUED, "due_at": now() + STAY_AWAY, "attempts": 0, "lease_expires_at": None}
        self.job.write(checkpoint=self.job.save_checkpoint(done, self.digest), progress=fraction, **queued)
        raise Superseded(self.job.run.id)


def compare(job: Job, inputs: JobInputs) -> tuple[ComparisonPlan, dict[str, Array]]:
    """Make all fits; return the plan and their arrays by name.

    A seed's arrays are labels and seconds, a fold's the log probabilities of its answers and which of them were the
    most probable ones; of systems that read no answers each seed has the latter too.
    """
    plan, digest = make_plan(job.run, inputs), inputs.digest()
    progress, done = ComparisonProgress(job, digest), job.load_checkpoint(digest) or {}
    fits = list(plan.fits())
    costs = [_RELATIVE_COST.get(fit.system, 1) for fit in fits]
    begun = 0.0
    for fit, cost in zip(fits, costs, strict=True):
        share = cost / sum(costs)
        if f"{fit.name}/done" not in done:
            arrays = _compute(plan, fit, partial(_report, progress, done, fit, begun, share))
            done |= {f"{fit.name}/{name}": array for name, array in arrays.items()}
            done[f"{fit.name}/done"] = np.array(True)
            progress.save(done, begun + share)
        begun += share
    return plan, done


def make_plan(run: Run, inputs: JobInputs) -> ComparisonPlan:
    """Divide the answers into folds, and read what the run compares."""
    columns = (inputs.triplets, inputs.answers, inputs.kind, inputs.labelers.tolist())
    answers = read_constraints(*columns, n_items=len(inputs.features))
    rng = np.random.RandomState(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few triplets make few folds, which is no reason to warn
        folds = answer_folds(answers, run.parameters["folds"], rng) if len(answers) >= LEAST_ANSWERS else []
    parameters = {name: run.parameters["parameters"][name] for name in run.parameters["systems"]}
    return ComparisonPlan(parameters, inputs, answers, folds, run.parameters["seeds"])


def _report(
    progress: ComparisonProgress,
    done: dict[str, Array],
    fit: PlannedFit,
    begun: float,
    share: float,
    state: FitProgress,
) -> None:
    progress.report(done, fit, begun, begun + share * state.fraction)


def _compute(plan: ComparisonPlan, fit: PlannedFit, callback: Callback) -> dict[str, Array]:
    if fit.kind == "fold":
        is_held_out = plan.held_out(fit.number)
        return _judge(plan, _fit(plan, fit.system, plan.with_answers(~is_held_out), 0, callback), is_held_out)
    begun = time.perf_counter()
    outcome = _fit(plan, fit.system, plan.inputs, fit.number, callback)
    arrays = {"labels": outcome.labels.astype(np.int16), "seconds": np.array(time.perf_counter() - begun)}
    if plan.folds and fit.system in READ_NO_ANSWERS:
        arrays |= _judge(plan, outcome, np.ones(len(plan.answers), dtype=bool))
    return arrays


def _fit(plan: ComparisonPlan, system: str, inputs: JobInputs, seed: int, callback: Callback) -> FitOutcome:
    parameters = {**plan.systems[system], "random_state": seed}
    if system == KMEANS:
        return fit_kmeans(parameters, inputs)
    # A run that is in no table: fits read its parameters and reason, nothing else.
    run = Run(algorithm=system, parameters=parameters, number=0, reason="request")
    if learned_points.are_wanted(parameters):
        share = learned_points.SHARE
        learned = learned_points.learn(run, inputs, None, lambda state: callback(Part(state, 0.0, share)))
        inputs = learned_points.with_points(run, inputs, learned)
        return systems.fit(run, inputs, None, lambda state: callback(Part(state, share, 1.0)))
    return systems.fit(run, inputs, None, callback)


def _judge(plan: ComparisonPlan, outcome: FitOutcome, is_held_out: Array) -> dict[str, Array]:
    """Return the log probability of each answer held out, and whether it was the most probable one.

    Under the posteriors that a run would show: with what bag labels and the other answers say about the items.
    """
    inputs = plan.with_answers(is_held_out)
    probabilities = answer_probabilities_of(inputs, outcome, outcome.posterior)
    of_answer = probabilities[np.arange(len(probabilities)), answer_columns(inputs.answers, inputs.kind)]
    return {"logs": np.log(of_answer), "hits": of_answer >= probabilities.max(axis=1)}
