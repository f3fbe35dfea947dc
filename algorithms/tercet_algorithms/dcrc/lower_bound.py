"""The lower bound of DCRC's objective (Eqs 9 and 10) and its gradient, for one data set.

One softmax serves the bound, the E-step and the gradient. Logits are stored cluster by item, so that every
reduction over clusters runs along memory; constrained items come first, so that "constrained" and
"unconstrained" are slices; and items are processed in blocks that fit the processor's cache. The paper's gradient is
corrected as in its newer version: the balance term holds log p_hat_k.

Bag labels (beyond the paper) give each item of a labelled bag a factor r_k for each cluster k. For a constrained item
the factors multiply p(y | x) in the E-step and in the bound. For any other item the best q is
p_k r_k / sum_l p_l r_l, so that its part of the bound is log sum_k p_k r_k. Like constrained items, such items have no
entropy term.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.feature_space import blocks
from tercet_algorithms.dcrc.bag_evidence import NO_LABELS, NO_WITNESSES, BagEvidence, LabelFactors
from tercet_algorithms.dcrc.mean_field import MeanField, entropy
from tercet_algorithms.dcrc.softmax_loops import derivatives, softmax

# Measured: posteriors this near a fixed point give the same bounds and clusters as nearer ones. With a million items a
# tolerance three times as large gave lower bounds: L-BFGS stops where its objective is not smooth.
_E_STEP_TOL = 1e-2
_E_STEP_SWEEPS = 100


class Softmax(NamedTuple):
    """p(y | x; W) of all items (Eq 6)."""

    P: Array  # (K, N)
    log_p: Array  # (K, N)
    mass: Array  # (K,) sum of P over the items


@dataclass(frozen=True, eq=False)
class Evidence:
    """Answers, links and bag labels in one stage of a fit: under its epsilon or under the learned tables."""

    field: MeanField | None  # answers and links
    factors: LabelFactors | None  # bag labels
    log_prior: float  # of the labelers' tables, 0 where these are not learned


class LowerBound:
    """LB(W, q) over N items: those of `field` come first, then those whose only evidence are bag labels.

    Its only state are buffers. Weights W (K, D + 1), posteriors q (n, K) of the constrained items and the `Evidence`
    are arguments; only the E-step changes q, in place.
    """

    def __init__(
        self,
        X: Array,
        field: MeanField | None,
        *,
        tau: float,
        lam: float,
        balance: bool,
        weight: float,
        bags: BagEvidence | None = None,
    ):
        """The last column of X (N, D + 1) is ones; its first rows are those of `field.items`, in that order."""
        self.X, self.field, self.bags = X, field, bags
        self.tau, self.lam, self.balance, self.weight = tau, lam, balance, weight
        self.n_constrained = 0 if field is None else len(field.items)
        n_labelled = 0 if bags is None else int(np.count_nonzero(bags.labelled[self.n_constrained :]))
        self.n_evident = self.n_constrained + n_labelled
        # Weight of the negative entropy of each item; 0 for those with evidence.
        self._scale: Array = np.zeros(len(X), X.dtype)
        self._scale[self.n_evident :] = tau / max(len(X) - self.n_evident, 1)
        self._buffers: tuple[Array, Array] | None = None

    def separate(self) -> "LowerBound":
        """Return the same bound with buffers of its own, so that two threads can climb at once."""
        bound = copy(self)
        bound._buffers = None
        return bound

    def with_features(self, X: Array) -> "LowerBound":
        """Return the same bound of other features (N, D + 1) of the same items."""
        bound = self.separate()
        bound.X = X
        return bound

    def evidence(
        self,
        cluster_labels: Array = NO_LABELS,
        witnesses: Array = NO_WITNESSES,
        field: MeanField | None = None,
        log_prior: float = 0.0,
    ) -> Evidence:
        """Return the evidence, given the bag labels matched to each cluster (K, C), and the labels' witnesses, if any.

        `field` replaces that of the bound where likelihoods are others, as under learned tables with their `log_prior`.
        """
        factors = None
        if self.bags is not None:
            n_items = self.n_constrained, self.n_evident
            factors = self.bags.factors(cluster_labels, witnesses, *n_items, self.X.dtype)
        return Evidence(self.field if field is None else field, factors, log_prior)

    def softmax(self, W: Array) -> Softmax:
        """Return p(y | x; W) of all items, in buffers that the next call overwrites.

        Allocating new memory each time would cost about as much as filling it.
        """
        W = W.astype(self.X.dtype)
        if self._buffers is None:
            shape = len(W), len(self.X)
            self._buffers = np.empty(shape, W.dtype), np.empty(shape, W.dtype)
        P, log_p = self._buffers
        mass = np.zeros(len(W))
        for rows in blocks(len(self.X)):
            logits = W @ self.X[rows].T
            softmax(logits, logits.max(axis=0), rows.start, P, log_p, mass)
        return Softmax(P, log_p, mass)

    def profile(self, W: Array, q: Array, evidence: Evidence) -> tuple[float, Array]:
        """Return max over q of LB(W, q), and its gradient with respect to W; q becomes the maximizer, in place.

        By the envelope theorem the gradient is that of LB at this q.
        """
        p = self.softmax(W)
        self.refresh(q, p, evidence)
        return self._bound_and_gradient(W, p, q, evidence)

    def at_fixed_q(self, W: Array, q: Array, evidence: Evidence) -> tuple[float, Array]:
        """Return LB(W, q) and its gradient with respect to W: the objective of the M-step."""
        return self._bound_and_gradient(W, self.softmax(W), q, evidence)

    def refresh(self, q: Array, p: Softmax, evidence: Evidence, tol: float = _E_STEP_TOL, hard: bool = False) -> None:
        """Update the posteriors q of the constrained items to a fixed point, in place (the E-step)."""
        if evidence.field is not None:
            log_p = np.ascontiguousarray(p.log_p[:, : self.n_constrained].T)
            if evidence.field.stand_ins is not None:
                evidence.field.stand_ins.add_factors(log_p, p.P[:, : self.n_constrained])
            if evidence.factors is not None:
                log_p += evidence.factors.log_constrained.T
            evidence.field.settle(q, log_p, tol, _E_STEP_SWEEPS, hard)

    def first_posteriors(self, W: Array, evidence: Evidence) -> Array:
        """Return initial posteriors q of the constrained items: p(y | x; W), times the factors of bag labels."""
        if evidence.field is None:
            return np.empty((0, len(W)))
        P = self.softmax(W).P[:, : self.n_constrained]
        if evidence.factors is not None:
            P = _joint(P, evidence.factors.factors[:, : self.n_constrained])[0]
        return np.array(P.T, evidence.field.dtype, order="C")

    def posterior(self, W: Array, q: Array, evidence: Evidence) -> Array:
        """Return the posteriors of all items, (K, N): q of the constrained, p(y | x, label set; W) of the others."""
        P = self.softmax(W).P.copy()
        if evidence.factors is not None:
            P[:, : self.n_evident] = _joint(P[:, : self.n_evident], evidence.factors.factors)[0]
        if evidence.field is not None:
            P[:, : self.n_constrained] = q.T
        return P

    def _bound_and_gradient(self, W: Array, p: Softmax, q: Array, evidence: Evidence) -> tuple[float, Array]:
        bound = -self.lam * float(np.vdot(W[:, :-1], W[:, :-1]))
        gradient = np.zeros(W.shape)
        gradient[:, :-1] -= 2 * self.lam * W[:, :-1]
        pull = np.zeros(len(W))  # derivative of the balance term with respect to p, the same for every item
        if self.balance:
            mean = p.mass / len(self.X)
            log_mean = np.log(np.maximum(mean, np.finfo(p.P.dtype).tiny))
            bound -= self.tau * float(mean @ log_mean)
            pull = -self.tau / len(self.X) * log_mean
        of_links, link_pull = _of_stand_ins(q, p.P[:, : self.n_constrained], evidence)
        bound += self.weight * (_constant_evidence(q, evidence) + of_links)
        pull, link_pull = pull.astype(p.P.dtype), (self.weight * link_pull).astype(p.P.dtype)
        for rows in blocks(len(self.X)):
            V = np.empty((len(p.P), rows.stop - rows.start), p.P.dtype)
            bound += derivatives(p.P, p.log_p, rows.start, self._scale[rows], pull, V)
            bound += self.weight * self._evidence_of_items(rows, p, q, evidence, V)
            pull_of_rows = link_pull[:, rows]
            V[:, : pull_of_rows.shape[1]] += pull_of_rows
            gradient += V @ self.X[rows]
        return bound, gradient

    def _evidence_of_items(self, rows: slice, p: Softmax, q: Array, evidence: Evidence, V: Array) -> float:
        """Return the evidence's part of the bound for a block of items; add its derivative by logits to V (K, n)."""
        P, log_p = p.P[:, rows], p.log_p[:, rows]
        # Of the block, the first n items are constrained, and the first m have evidence of any kind.
        n, m = (min(max(first - rows.start, 0), P.shape[1]) for first in (self.n_constrained, self.n_evident))
        value = 0.0
        if evidence.field is not None and n:
            q = q[rows.start : rows.start + n].T
            value += _inner(q, log_p[:, :n])
            V[:, :n] += P.dtype.type(self.weight) * (q - P[:, :n])
        if evidence.factors is not None and n < m:
            factors = evidence.factors.factors[:, rows.start + n : rows.start + m]
            joint, likelihood = _joint(P[:, n:m], factors)
            value += float(np.log(likelihood).sum(dtype=np.float64))
            V[:, n:m] += P.dtype.type(self.weight) * (joint - P[:, n:m])
        return value


def _constant_evidence(q: Array, evidence: Evidence) -> float:
    """Return the terms of the evidence that do not depend on W."""
    value, factors = 0.0, evidence.factors
    if factors is not None:
        value += factors.log_without_witness
    if evidence.field is not None:
        value += evidence.field.expected_log_likelihood(q) + entropy(q) + evidence.log_prior
        if factors is not None:
            value += _inner(q.T, factors.log_constrained)
    return value


def _of_stand_ins(q: Array, P: Array, evidence: Evidence) -> tuple[float, Array]:
    """Return the part of the bound of links with items that stand for a cluster, and its derivative by logits, (K, n).

    `P` (K, n) are p(y | x; W) of the constrained items. Without such links the derivative has no columns.
    """
    if evidence.field is None or evidence.field.stand_ins is None:
        return 0.0, np.zeros((len(P), 0))
    return evidence.field.stand_ins.expected(q, P)


def climb(
    objective: Callable[[Array], tuple[float, Array]], W: Array, max_steps: int, tol: float
) -> tuple[Array, float, bool]:
    """Maximize from W by up to `max_steps` steps of L-BFGS.

    Return the new W, its value, and whether the steps ended because one gained less than `tol`.
    """

    def descend(flat: Array) -> tuple[float, Array]:
        value, gradient = objective(flat.reshape(W.shape))
        return -value, -gradient.ravel()

    result: OptimizeResult = minimize(
        descend,
        W.ravel(),
        method="L-BFGS-B",
        jac=True,
        options={"maxiter": max_steps, "ftol": tol, "gtol": 1e-7, "maxls": 20},
    )
    return result.x.reshape(W.shape), -float(result.fun), result.nit < max_steps


def fit_classifier(X: Array, labels: Array, n_clusters: int, lam: float) -> Array:
    """Return W (K, D + 1) of a logistic classifier for these labels, by mean log loss and the penalty lam.

    A start needs only a few digits, so the fit stops early.
    """
    model = LowerBound(X, None, tau=0.0, lam=lam, balance=False, weight=0.0)
    targets = np.zeros((n_clusters, len(X)), dtype=X.dtype)
    targets[labels, np.arange(len(X))] = 1

    def objective(W: Array) -> tuple[float, Array]:
        P, log_p, _ = model.softmax(W)
        value = _inner(targets, log_p) / len(X) - lam * float(np.vdot(W[:, :-1], W[:, :-1]))
        gradient = ((targets - P) @ X).astype(np.float64) / len(X)
        gradient[:, :-1] -= 2 * lam * W[:, :-1]
        return value, gradient

    return climb(objective, np.zeros((n_clusters, X.shape[1])), max_steps=50, tol=1e-4)[0]


def _joint(P: Array, factors: Array) -> tuple[Array, Array]:
    """Return P(y | x, label set), (K, n), and P(label set | x), (n,)."""
    joint = P * factors
    total = joint.sum(axis=0)
    joint /= total
    return joint, total


def _inner(a: Array, b: Array) -> float:
    """Return the sum of a * b, without an array for the product."""
    return float(np.einsum("kn,kn->", a, b))
