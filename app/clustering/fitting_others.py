"""Fits of the systems beside DCRC: a learned kernel, another clustering, and clusters from bag labels."""

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from algorithms import CMBC, SKLR, BagSpectralClustering
from algorithms.sklr import ANSWER_EPSILON
from app.clustering import known
from app.clustering.fitted import Callback, Fit, found, given, plan_of, warm_state
from app.clustering.material import Material
from app.models import Run


def fit_sklr(run: Run, material: Material, resume: Any, callback: Callback) -> Fit:
    """Fit SKLR: multipliers of the answers go on from the previous run; the clusters compete with fresh starts."""
    state = warm_state(run, material, ())
    plan = plan_of(run, material, state is not None)
    model = SKLR(**{**run.parameters, "n_init": plan.starts}, warm_start=state is not None)
    if state is not None:
        model.set_state_arrays(state)
    model.fit(np.asarray(material.features), **given(material), callback=callback, resume=resume)
    return found(
        model,
        plan,
        epsilon=ANSWER_EPSILON,
        suspects=model.suspect_answers_,
        embedding=model.embedding_,
        figures={
            "rank": int(model.rank_),
            "divergence": float(model.divergence_),
            "feasible": bool(model.feasible_),
            "suggested_clusters": int(model.suggest_n_clusters()),
        },
    )


def fit_cmbc(run: Run, material: Material, resume: Any, callback: Callback) -> Fit:
    """Fit CMBC: a clustering that tells little of those which the run's parameters name. It reads no answers."""
    own = {name: value for name, value in run.parameters.items() if name not in ("known_runs", "known_columns")}
    codes = material.known
    if codes is None and own["method"] != "em":
        raise ValueError(known.NOTHING)
    model = CMBC(**own)
    model.fit(np.asarray(material.features), known=codes, callback=callback, resume=resume)
    names = known.names(run.parameters)
    return _unasked(
        model,
        material,
        gamma=float(model.gamma_),
        objective=float(model.objective_),
        known_nmi=dict(zip(names, map(float, model.known_nmi_), strict=True)),
        clusters_found=int(model.n_clusters_),
    )


def fit_bags(run: Run, material: Material, resume: Any, callback: Callback) -> Fit:
    """Fit BagSpectralClustering. It reads no answers."""
    model = BagSpectralClustering(**run.parameters)
    features = StandardScaler().fit_transform(material.features)  # its graph needs columns of one scale
    model.fit(features, **material.said(), callback=callback, resume=resume)
    return _unasked(model, material, objective=float(model.eigenvalues_.sum()))


def _unasked(model: Any, material: Material, **figures: Any) -> Fit:
    """What an estimator found that has nothing to learn from answers, and so begins anew each time."""
    return Fit(
        labels=model.labels_,
        posterior=model.posterior_,
        state={},
        lower_bound=None,
        n_iter=int(model.n_iter_),
        converged=bool(model.converged_),
        warm_start=False,
        searched_answers=len(material.answers),
        epsilon=ANSWER_EPSILON,
        figures=figures,
    )
