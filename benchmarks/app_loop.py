"""The loop of the app in one process: the functions of the worker, with a queue and screens in place of a database.

What a run fits, reports and queues is what the app's job calls, with its parameters and seeds. The queue ages as there:
a labeler holds one question of it and gets the next the moment that it is answered, so that what is on screens when a
run begins is of the run before; the others give way to the new ones. This leaves out of the app answers that come while
a run is computed, hardly any where labelers think for as long as people do and a run takes a second; leases that end;
and random questions that top up a queue which ran short.
"""

from typing import Any

import numpy as np

from tercet.catalogue.algorithms import ALGORITHMS
from tercet.labeling.refill import MOST, SCREEN, TOP_UP, Demand, Queued
from tercet.models import Project, Run, Source
from tercet.runs.results import Array, LabelerReport
from tercet.worker.fits.dcrc import fit_dcrc
from tercet.worker.inputs import JobInputs, PreviousResult, answer_weights
from tercet.worker.job import cluster
from tercet.worker.outputs import answering, first_clusters, queued, reports, supported
from tercet.worker.outputs.metrics import measure

LABELERS = 3  # those of the simulated demonstration


def default(column: str) -> Any:
    """What a new project has."""
    return Project.__table__.c[column].default.arg


class AppLoop:
    """A project with labelers who answer by turns; each run is computed when so many answers have come."""

    def __init__(
        self,
        X: Array,
        n_clusters: int,
        *,
        one_scale: bool,
        seed: int,
        n_labelers: int = LABELERS,
        repeats: int | None = None,
        candidates: str = "auto",
    ) -> None:
        self.repeats = default("repeats_in_doubt") if repeats is None else repeats
        dcrc = ALGORITHMS["dcrc"].parameters(n_clusters=n_clusters, random_state=seed, candidates=candidates)
        self.parameters = dcrc.model_dump()
        self.X, self.one_scale = X, one_scale
        self.people = list(range(1, n_labelers + 1))
        self.triplets, self.values, self.by, self.drawn = np.empty((0, 3), dtype=np.int64), [], [], []
        self.screens: dict[int, Queued] = {}
        self.queue: list[Queued] = []
        self.previous: PreviousResult | None = None
        self.labelers: list[LabelerReport] = []
        self.labels = self.fitted = np.empty(0, dtype=np.int64)  # clusters that people see, and those of the fit
        self.run()

    def run(self) -> None:
        """Fit, and fill the queue anew."""
        before = self.previous
        run = Run(
            number=1 if before is None else before.run.number + 1,
            algorithm="dcrc",
            parameters=self.parameters,
            reason="answers",
            feature_set_id=1,
            answers_from=0 if before is None else before.run.answers_to,
            answers_to=len(self.values),
        )
        inputs = self._inputs()
        outcome = fit_dcrc(run, inputs, None, lambda state: None)
        clusters = cluster(run, inputs, outcome)
        result, fitted, foreseen = clusters.shown, clusters.fitted, clusters.foreseen
        report = reports.report(inputs, outcome, fitted.posterior, foreseen, answering.learn(inputs, foreseen))
        run.metrics = measure(inputs, outcome, result) | first_clusters.measure(inputs, clusters.withheld)
        run.metrics |= supported.measure(inputs, outcome, fitted.posterior)
        places = np.zeros((len(self.X), 2))
        withheld, calibration = clusters.withheld, clusters.calibration
        self.previous = PreviousResult(run, result, places, outcome.state, None, report.answers, withheld, calibration)
        self.labelers, self.labels, self.fitted = report.labelers, result.labels, fitted.labels
        self.queue = queued.choose(run, inputs, outcome, fitted, calibration, self.labelers, self._demand(run))

    def answer(self, n: int, replies: Any) -> None:
        """Let labelers answer n questions by turns; `replies` gives the answers to triplets (1, 3) as 1, -1, 0."""
        for _ in range(n):
            person = self.people[len(self.values) % len(self.people)]
            question = self.screens.pop(person, None) or self._next(person)
            self.triplets = np.concatenate([self.triplets, [question.triplet]])
            self.values.append({1: "yes", -1: "no", 0: "dnk"}[int(replies(self.triplets[-1:])[0])])
            self.by.append(person)
            self.drawn.append(question.source == Source.RANDOM)
            self.screens[person] = self._next(person)

    def _next(self, person: int) -> Queued:
        """The first question that waits for this labeler or for anybody, and that they have not answered."""
        answered = {tuple(triplet) for triplet, by in zip(self.triplets.tolist(), self.by, strict=True) if by == person}
        for place, question in enumerate(self.queue):
            if question.asked_of in (None, person) and question.triplet not in answered:
                return self.queue.pop(place)
        raise ValueError("the queue has no question left: answer fewer between two runs")

    def _inputs(self) -> JobInputs:
        by = np.array(self.by, dtype=np.int64)
        return JobInputs(
            kind="relative",
            features=self.X,
            item_ids=np.arange(len(self.X)),
            triplets=self.triplets,
            answers=np.array(self.values, dtype="<U3"),
            labelers=by,
            numbers=np.arange(len(by)) + 1,
            previous=self.previous,
            one_scale=self.one_scale,
            drawn=np.array(self.drawn, dtype=bool),
            weights=answer_weights(self.labelers, by, set()),
        )

    def _demand(self, run: Run) -> Demand:
        """What `refill.demand` says of a project with the defaults of new ones."""
        expected = max(default("rerun_answers"), len(self.values) - run.answers_from)
        screens = [question.triplet for question in self.screens.values()]
        return Demand(
            n_questions=min(expected + SCREEN * max(len(self.screens), 1), MOST),
            n_spare=TOP_UP,
            random_share=1 - default("informative_share"),
            pending=np.array(screens, dtype=np.int64).reshape(-1, 3),
            labelers=sorted(self.screens),
            most_answers=default("redundancy") + self.repeats,
            known_share=default("known_share"),
        )
