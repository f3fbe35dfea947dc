"""Which system serves a project best: each is fitted several times, and judged by answers that it has not seen.

The job of a comparison run. Answers are divided into folds, equal triplets together, the same for all systems; each
fold is predicted by a fit to the others. Fits with other seeds tell how much of a result is luck. All this takes many
fits, so the run gives way to those that people wait for, between two fits and in the midst of one, and goes on where
it was.
"""

import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from algorithms.held_out import answer_folds, as_given
from algorithms.patterns import Kind
from algorithms.validation import Constraints, read_constraints
from app.clustering import claims, fitting, queries, results
from app.clustering.baseline import fit_kmeans
from app.clustering.claims import Superseded
from app.clustering.fitted import Callback, Fit, State
from app.clustering.material import Material
from app.clustering.reporting import answer_chances, answer_columns
from app.clustering.results import Array
from app.clustering.systems import KMEANS, LEAST_ANSWERS, READ_NO_ANSWERS
from app.database import Database
from app.models import Run, RunStatus, now
from app.storage import Storage

TELL_SECONDS = 0.5
# A fit that was left is made again from its beginning, so it is left so often at most, that it ends one day.
MOST_LEFT = 2
# For so long the comparison stands back: longer than a project rests after a run, or it would be claimed again first.
STAND_BACK = timedelta(seconds=2)
# A fit of one system takes about so many times as long as one of another.
_WORK = {"dcrc-cv": 8, "sklr": 2}


class Unit(NamedTuple):
    """One fit: of a system with all answers and a seed, or without those of a fold."""

    system: str
    kind: str  # "seed" or "fold"
    number: int

    @property
    def name(self) -> str:
        """How its arrays are stored."""
        return "/".join(map(str, self))


@dataclass(frozen=True)
class Plan:
    """What is compared: the parameters of every system, on which answers, in which folds, with how many seeds."""

    systems: dict[str, dict[str, Any]]
    material: Material
    answers: Constraints
    folds: list[Array]  # rows of the answers held out; none where answers are too few
    n_seeds: int

    @property
    def kind(self) -> Kind:
        """The project's question."""
        return "outlier" if self.material.kind == "outlier" else "relative"

    def units(self) -> Iterator[Unit]:
        """Every fit, the cheap ones of each system together."""
        for name in self.systems:
            for seed in range(self.n_seeds):
                yield Unit(name, "seed", seed)
            for fold in range(0 if name in READ_NO_ANSWERS else len(self.folds)):
                yield Unit(name, "fold", fold)

    def held_out(self, fold: int) -> Array:
        """Which answers are held out in a fold, (M,)."""
        out = np.zeros(len(self.answers), dtype=bool)
        out[self.folds[fold]] = True
        return out

    def only(self, chosen: Array) -> Material:
        """The material with some of the answers."""
        given = as_given(self.answers.select(chosen))
        labelers = np.array(given["labelers"], dtype=np.int64)
        several = {"triplets": given["triplets"], "answers": given["answers"], "labelers": labelers}
        return replace(self.material, **several, numbers=np.arange(len(labelers)))


class Telling:
    """What the comparison says to the world while it computes, and where it keeps the fits that are done."""

    def __init__(
        self, database: Database, storage: Storage, run: Run, lost: threading.Event, digest: str, lease_seconds: float
    ) -> None:
        """Remember where to write."""
        self.database, self.storage, self.run, self.lost = database, storage, run, lost
        self.digest, self.lease_seconds = digest, lease_seconds
        self.next_at = time.monotonic() + TELL_SECONDS

    def resume(self) -> dict[str, Array]:
        """Read the fits that were done before this copy of the task, if answers are still the very same."""
        if self.run.checkpoint is None or not self.storage.exists(self.run.checkpoint):
            return {}
        arrays = self.storage.get_arrays(self.run.checkpoint)
        return arrays if str(arrays.pop("digest")) == self.digest else {}

    def tell(self, done: dict[str, Array], unit: Unit, begun: float, fraction: float) -> None:
        """Write now and then how far the comparison is, or end it when the run is lost or cancelled.

        If people wait for another run leave this fit, unless it was left too often, and let that one go first.
        """
        if self.lost.is_set():
            raise Superseded(self.run.id)
        if time.monotonic() < self.next_at:
            return
        self.next_at = time.monotonic() + TELL_SECONDS
        left = int(done.get(f"{unit.name}/left", 0))
        if left < MOST_LEFT and self._waited_for():
            self._give_way({**done, f"{unit.name}/left": np.array(left + 1)}, begun)
        self._write(progress=fraction, lease_expires_at=now() + timedelta(seconds=self.lease_seconds))

    def keep(self, done: dict[str, Array], fraction: float) -> None:
        """Store what is done; if people wait for another run, let that one go first."""
        if self._waited_for():
            self._give_way(done, fraction)
        self._write(checkpoint=self._store(done), progress=fraction)

    def _waited_for(self) -> bool:
        with self.database.reading() as session:
            return queries.is_waited_for(session, self.run)

    def _give_way(self, done: dict[str, Array], fraction: float) -> NoReturn:
        again = {"status": RunStatus.QUEUED, "due_at": now() + STAND_BACK, "attempts": 0, "lease_expires_at": None}
        self._write(checkpoint=self._store(done), progress=fraction, **again)
        raise Superseded(self.run.id)

    def _store(self, done: dict[str, Array]) -> str:
        key = results.checkpoint_key(self.run, self.run.token)
        self.storage.put_arrays(key, {**done, "digest": np.array(self.digest)})
        return key

    def _write(self, **values: Any) -> None:
        with self.database.transaction() as session:
            claims.write(session, self.run, **values)


def compare(run: Run, material: Material, telling: Telling) -> tuple[Plan, dict[str, Array]]:
    """Make all fits, and give what each found: labels and seconds of seeds, chances of held-out answers of folds."""
    plan = plan_of(run, material)
    units, done = list(plan.units()), telling.resume()
    work = [_WORK.get(unit.system, 1) / sum(_WORK.get(one.system, 1) for one in units) for unit in units]
    begun = 0.0
    for unit, share in zip(units, work, strict=True):
        if f"{unit.name}/done" not in done:
            found = _compute(plan, unit, partial(_tell, telling, done, unit, begun, share))
            done |= {f"{unit.name}/{name}": array for name, array in found.items()}
            done[f"{unit.name}/done"] = np.array(True)
            telling.keep(done, begun + share)
        begun += share
    return plan, done


def plan_of(run: Run, material: Material) -> Plan:
    """Divide the answers."""
    given = (material.triplets, material.answers, material.kind, material.labelers.tolist())
    answers = read_constraints(*given, n_items=len(material.features))
    rng = np.random.RandomState(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few triplets make few folds, and so be it
        folds = answer_folds(answers, run.parameters["folds"], rng) if len(answers) >= LEAST_ANSWERS else []
    systems = {name: run.parameters["parameters"][name] for name in run.parameters["systems"]}
    return Plan(systems, material, answers, folds, run.parameters["seeds"])


def _tell(telling: Telling, done: dict[str, Array], unit: Unit, begun: float, share: float, state: State) -> None:
    telling.tell(done, unit, begun, begun + share * state.fraction)


def _compute(plan: Plan, unit: Unit, callback: Callback) -> dict[str, Array]:
    if unit.kind == "fold":
        out = plan.held_out(unit.number)
        return _judged(plan, _fit(plan, unit.system, plan.only(~out), 0, callback), out)
    begun = time.perf_counter()
    found = _fit(plan, unit.system, plan.material, unit.number, callback)
    arrays = {"labels": found.labels.astype(np.int16), "seconds": np.array(time.perf_counter() - begun)}
    if plan.folds and unit.system in READ_NO_ANSWERS:
        arrays |= _judged(plan, found, np.ones(len(plan.answers), dtype=bool))
    return arrays


def _fit(plan: Plan, system: str, material: Material, seed: int, callback: Callback) -> Fit:
    parameters = {**plan.systems[system], "random_state": seed}
    if system == KMEANS:
        return fit_kmeans(parameters, material)
    # A run that is in no table: fitters read its parameters and why it came, nothing else.
    return fitting.fit(
        Run(algorithm=system, parameters=parameters, number=0, reason="request"), material, None, callback
    )


def _judged(plan: Plan, found: Fit, out: Array) -> dict[str, Array]:
    """Log probability of each answer held out, and whether it was the most probable one.

    Under the posteriors that a run would show: with what bag labels and the other answers say of the items.
    """
    material = plan.only(out)
    chances = answer_chances(material, found, found.posterior, plan.kind)
    given = chances[np.arange(len(chances)), answer_columns(material.answers, plan.kind)]
    return {"logs": np.log(given), "hits": given >= chances.max(axis=1)}
