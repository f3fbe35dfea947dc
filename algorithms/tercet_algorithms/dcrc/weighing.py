"""Compares candidates by held-out answers: those of one fold after another.

First, quick fits to the other folds choose the candidates that get a fit with all starts and moves. Each of these is
then judged by fits that continue from its weights without the answers of a fold. The weights have seen these answers,
so all candidates look better than they are; but quick fits would judge other models than the final ones, and favour
candidates whose clusters are found without a search.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from tercet_algorithms.answers.patterns import Array, Errors, answer_table, log_likelihood, pair_log_odds
from tercet_algorithms.answers.reading import Constraints
from tercet_algorithms.common.feature_space import FeatureSpace
from tercet_algorithms.common.model_selection import answer_folds
from tercet_algorithms.dcrc.answer_starts import PairOdds, start_from_answers
from tercet_algorithms.dcrc.belief import sampled_answers
from tercet_algorithms.dcrc.candidates import HOPELESS, TEMPERATURES, held_out_score

# With more items the choice gets no better, and takes longer.
_MOST_ITEMS = 2000
_N_FOLDS = 5
# How much answers count against features in the starts of a fold's fits.
_KAPPAS = (0.3, 1.0)


def best_two(
    model: Any, features: Array, space: FeatureSpace, columns: Mapping[str, Array], constraints: Constraints
) -> tuple[str, ...]:
    """Return the two candidates that predict held-out answers best after quick fits to the others; all if two or fewer.

    Parameters
    ----------
    model : DCRC
        With the parameters of the fit, but for features already in coordinates of the space, and one start without
        moves.
    features : array of shape (N, D)
    space : FeatureSpace
        With a graph.
    columns : mapping of str to array
        The columns of the space that each candidate sees.
    constraints : Constraints
    """
    if len(columns) > 2:
        constraints, X, folds = _sampled(features, space, constraints)
        tables = _of_folds(model, {name: X[:, seen] for name, seen in columns.items()}, constraints, folds)
        return tuple(sorted(tables, key=lambda name: -held_out_score(tables[name]))[:2])
    return tuple(columns)


def weigh(
    model: Any,
    features: Array,
    space: FeatureSpace,
    columns: Mapping[str, Array],
    fitted: Mapping[str, Array],
    penalties: Mapping[str, float],
    constraints: Constraints,
) -> Array:
    """Return how well each candidate predicts held-out answers, as in `Weighing.tables`.

    Parameters
    ----------
    model, features, space, columns, constraints
        As in `best_two`.
    fitted : mapping of str to array of shape (K, d + 1)
        The weights of each candidate, fitted to all answers. For every fold a fit continues from them without the
        answers of the fold.
    penalties : mapping of str to float
        Of the weights of each candidate.
    """
    constraints, X, folds = _sampled(features, space, constraints)
    tables = []
    for name, W in fitted.items():
        model.set_params(lam=penalties[name])
        tables.append([_without(model, X[:, columns[name]], W, constraints, fold) for fold in folds])
    return np.stack(tables)


def _sampled(features: Array, space: FeatureSpace, constraints: Constraints) -> tuple[Constraints, Array, list[Array]]:
    """Return a sample of the answers, the coordinates of their items and some others, and the folds."""
    rng = np.random.RandomState(0)  # the comparison depends on the answers only, not on the seed of the fit
    constraints, items = sampled_answers(constraints, len(features), rng, _MOST_ITEMS)
    return constraints, space.transform(features[items]), answer_folds(constraints, _N_FOLDS, rng)


def _without(model: Any, X: Array, W: Array, constraints: Constraints, fold: Array) -> Array:
    """Return how well a fit that continues from W without the answers of a fold predicts these, at each temperature."""
    held_out = np.isin(np.arange(len(constraints)), fold)
    none: Array = np.empty(0, dtype=np.int64)
    state = {"coef_": W[:, :-1], "intercept_": W[:, -1], "mean_": np.zeros(X.shape[1]), "scale_": np.ones(X.shape[1])}
    # No posteriors: those of the fit have seen the fold.
    state |= {"posterior_": np.empty((0, len(W))), "constrained_": none, "labels_": none, "lower_bound_": np.array(0.0)}
    model.set_state_arrays(state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fits that are only compared need not converge
        model.set_params(warm_start=True).fit(X, **constraints.select(~held_out).fit_arguments())
    return judge(X @ model.coef_.T + model.intercept_, constraints.select(held_out), model.epsilon)


def judge(scores: Array, answers: Constraints, epsilon: Errors) -> Array:
    """Return the sum of log P(answer) at each temperature, (T,), from the scores (N, K) of the items."""
    asked, rows = np.unique(answers.triplets, return_inverse=True)
    return np.array(
        [
            log_likelihood(
                np.exp(log_softmax(scores[asked] / temperature, axis=1)),
                rows.reshape(-1, 3),
                answers.answers,
                answers.kinds,
                lambda kind: answer_table(kind, epsilon),
                answers.counts(),
            )
            for temperature in TEMPERATURES
        ]
    )


def _of_folds(
    model: Any, places: Mapping[str, Array], constraints: Constraints, folds: list[Array]
) -> dict[str, Array]:
    """Return the tables of the candidates; those that fall far behind after some folds are left out."""
    first = {name: KMeans(model.n_clusters, n_init=3, random_state=0).fit(X).labels_ for name, X in places.items()}
    rows: dict[str, list[Array]] = {name: [] for name in places}
    for fold in folds:
        held_out = np.isin(np.arange(len(constraints)), fold)
        answers, unseen = constraints.select(~held_out), constraints.select(held_out)
        for name, row in rows.items():
            row.append(judge(_scores(model, places[name], answers, first[name]), unseen, model.epsilon))
        best = {name: float(np.max(np.sum(row, axis=0))) for name, row in rows.items()}
        behind = max(best.values()) + HOPELESS
        rows = {name: row for name, row in rows.items() if best[name] >= behind}
    return {name: np.stack(row) for name, row in rows.items()}


def _scores(model: Any, X: Array, answers: Constraints, labels: Array) -> Array:
    """Return the scores (N, K) of the best of three quick fits: from K-means clusters, and twice from answers."""
    odds = answers.counts()[:, None] * pair_log_odds(answers.likelihoods(model.epsilon), model.n_clusters)
    pairs = PairOdds(answers.triplets, odds)
    starts = [start_from_answers(X, slice(None), pairs, model.n_clusters, kappa, seed=0) for kappa in _KAPPAS]
    fits = []
    for init in (labels, *starts):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fits that are only compared need not converge
            model.set_params(warm_start=False).fit(X, **answers.fit_arguments(), init=init)
        fits.append((model.lower_bound_, model.coef_, model.intercept_))
    _, coef, intercept = max(fits, key=lambda fit: fit[0])
    scores: Array = X @ coef.T + intercept
    return scores
