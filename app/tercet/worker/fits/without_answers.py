"""Fits of the systems that read no answers.

CMBC finds an alternative to known clusterings, BagSpectralClustering clusters by bag labels, and k-means is the plain
baseline of comparisons. They begin anew, but where analysts have edited the clusters they go on from these.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from tercet.models import Purpose, Run
from tercet.runs import known_clusterings
from tercet.runs.results import Array
from tercet.worker import hand_edits
from tercet.worker.fits.outcome import Callback, FitOutcome
from tercet.worker.fits.warm_start import continued_clusters
from tercet.worker.inputs import JobInputs
from tercet.worker.outputs.models import model_of_bags, model_of_cmbc
from tercet_algorithms import CMBC, BagSpectralClustering
from tercet_algorithms.common.kernel_kmeans import soft_assignments, within_variance
from tercet_algorithms.sklr.sklr import ANSWER_EPSILON


def fit_cmbc(run: Run, inputs: JobInputs, resume: Any, callback: Callback) -> FitOutcome:
    """Fit CMBC: a clustering that shares little with the known ones, which the run's parameters name."""
    parameters = {name: value for name, value in run.parameters.items() if name not in ("known_runs", "known_columns")}
    if inputs.known_clusterings is None and parameters["method"] != "em":
        raise ValueError(known_clusterings.NOTHING_KNOWN)
    edits = _edit_arguments(run, inputs)
    if "start" in edits and inputs.previous is not None and parameters["gamma"] == "auto":
        parameters["gamma"] = inputs.previous.run.metrics["gamma"]  # another one would find another clustering
    model = CMBC(**{**parameters, **inputs.scaling()})
    model.fit(np.asarray(inputs.features), known=inputs.known_clusterings, **edits, callback=callback, resume=resume)
    names = known_clusterings.names(run.parameters)
    figures = {
        "gamma": float(model.gamma_),
        "objective": float(model.objective_),
        "known_nmi": dict(zip(names, map(float, model.known_nmi_), strict=True)),
        "clusters_found": int(model.n_clusters_),
    }
    arrays = model_of_cmbc(model, np.asarray(inputs.features))
    outcome = _outcome(model, inputs, model.posterior_, bool(model.converged_), figures, arrays)
    return _as_edited(outcome, inputs, edits)


def fit_bags(run: Run, inputs: JobInputs, resume: Any, callback: Callback) -> FitOutcome:
    """Fit BagSpectralClustering."""
    model = BagSpectralClustering(**run.parameters)
    scaler = StandardScaler(with_std=not inputs.one_scale)  # its graph needs columns of one scale
    edits = _edit_arguments(run, inputs)
    features = scaler.fit_transform(inputs.features)
    model.fit(features, **inputs.bag_arguments(), **edits, callback=callback, resume=resume)
    figures = {"objective": float(model.eigenvalues_.sum())}
    arrays = model_of_bags(model, scaler.mean_, np.ones_like(scaler.mean_) if inputs.one_scale else scaler.scale_)
    outcome = _outcome(model, inputs, model.posterior_, bool(model.converged_), figures, arrays)
    return _as_edited(outcome, inputs, edits)


def fit_kmeans(parameters: dict[str, Any], inputs: JobInputs) -> FitOutcome:
    """Fit k-means to features of one scale; confidence assumes round clusters of equal width."""
    features = StandardScaler(with_std=not inputs.one_scale).fit_transform(inputs.features)
    model = KMeans(parameters["n_clusters"], n_init=10, random_state=parameters["random_state"]).fit(features)
    variance = within_variance(features, model.cluster_centers_)
    return _outcome(model, inputs, soft_assignments(features, model.cluster_centers_, variance), True, {})


def _edit_arguments(run: Run, inputs: JobInputs) -> dict[str, Any]:
    """Return the links of edits, and the clusters to go on from, as arguments of `fit`; empty where nobody edited.

    Edits are about the project's own clusters, not about alternatives beside them.
    """
    links = inputs.edits.fit_arguments() if run.purpose == Purpose.CURRENT else {}
    start = continued_clusters(run, inputs) if links else None
    return links if start is None else {**links, "start": start}


def _as_edited(outcome: FitOutcome, inputs: JobInputs, edits: dict[str, Any]) -> FitOutcome:
    """Return the outcome with edited items where they were put; a fit that began anew may have the links otherwise."""
    if not edits or "start" in edits:
        return outcome
    posterior = hand_edits.placed(inputs.edits, outcome.posterior)
    return replace(outcome, posterior=posterior, labels=posterior.argmax(axis=1))


def _outcome(
    model: Any,
    inputs: JobInputs,
    posterior: Array,
    converged: bool,
    figures: dict[str, Any],
    arrays: dict[str, Array] | None = None,
) -> FitOutcome:
    return FitOutcome(
        labels=model.labels_,
        posterior=posterior,
        state={},
        lower_bound=None,
        n_iter=int(model.n_iter_),
        converged=converged,
        warm_start=False,
        searched_answers=len(inputs.answers),
        epsilon=ANSWER_EPSILON,
        model=arrays,
        figures=figures,
    )
