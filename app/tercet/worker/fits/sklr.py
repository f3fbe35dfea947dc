"""Fits of SKLR, the learned kernel: its multipliers go on from the previous run."""

from dataclasses import replace
from typing import Any

import numpy as np

from tercet.models import Run
from tercet.runs.results import Array
from tercet.worker import hand_edits
from tercet.worker.fits.outcome import Callback, FitOutcome
from tercet.worker.fits.warm_start import edited_clusters, plan_search, warm_outcome, warm_state
from tercet.worker.inputs import JobInputs
from tercet.worker.outputs.models import model_of_sklr
from tercet_algorithms import SKLR
from tercet_algorithms.sklr.sklr import ANSWER_EPSILON


def fit_sklr(run: Run, inputs: JobInputs, resume: Any, callback: Callback) -> FitOutcome:
    """Fit SKLR: multipliers of the answers go on from the previous run; its clusters compete with fresh starts."""
    state = warm_state(run, inputs, ())
    plan = plan_search(run, inputs, state is not None)
    model = SKLR(**{**run.parameters, "n_init": plan.starts, **inputs.scaling()}, warm_start=state is not None)
    edited = edited_clusters(run, inputs)
    if state is not None:
        model.set_state_arrays(state)
        if edited is not None:
            model.labels_ = edited  # from which its clusters go on
    arguments = inputs.answer_arguments() | inputs.edits.fit_arguments()
    model.fit(np.asarray(inputs.features), **arguments, callback=callback, resume=resume)
    outcome = warm_outcome(
        model,
        plan,
        epsilon=ANSWER_EPSILON,
        suspects=model.suspect_answers_,
        embedding=model.embedding_,
        model=model_of_sklr(model),
        figures={
            "rank": int(model.rank_),
            "divergence": float(model.divergence_),
            "feasible": bool(model.feasible_),
            "suggested_clusters": int(model.suggest_n_clusters()),
        },
    )
    # A kernel that fits most links may leave some items where their features are.
    posterior = hand_edits.placed(inputs.edits, outcome.posterior)
    return outcome if posterior is outcome.posterior else _as_placed(outcome, posterior)


def _as_placed(outcome: FitOutcome, posterior: Array) -> FitOutcome:
    return replace(outcome, posterior=posterior, labels=posterior.argmax(axis=1))
