"""The lower bound of DCRC's objective (Eqs 9 and 10) and its gradient, for one data set and one set of answers.

One softmax serves the bound, the E-step and the gradient. Logits are kept cluster by item, so that every
reduction over clusters runs along memory; constrained items come first, so that "constrained" and
"unconstrained" are slices; and items pass in blocks that stay in the processor's cache. The paper's gradient is
corrected as its newer version has it: the balance term holds log p_hat_k.

Bag labels (beyond the paper) give each item of a labelled bag a factor r_k of its cluster k. An item in answers has
it beside p(y | x) in the E-step and in the bound. Of any other the best q is p_k r_k / sum_l p_l r_l, so that its
part of the bound is log sum_k p_k r_k. Like items in answers such items have no entropy term.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from algorithms.bag_evidence import BagEvidence
from algorithms.feature_space import blocks
from algorithms.mean_field import MeanField
from algorithms.patterns import Array
from algorithms.softmax_loops import derivatives, softmax

# Posteriors this near a fixed point give the same bounds and clusters as nearer ones. Of a million items those three
# times as far off gave lower ones, because climbing stops where what it climbs is not smooth.
_E_STEP_TOL = 1e-2
_E_STEP_SWEEPS = 100
# What stands for the witnesses of bag labels where there are none.
NO_WITNESSES: Array = np.empty(0, dtype=np.int64)


class LowerBound:
    """LB(W, q) over N items, the constrained ones of `field` first, then those that only bag labels tell about."""

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
        """X (N, D + 1) holds a column of ones last and its first rows in the order of `field.items`."""
        self.X = X
        self.field = field
        self.bags = bags
        self.goes: Array = np.empty((0, 0))
        self.tau, self.lam, self.balance, self.weight = tau, lam, balance, weight
        self.n_constrained = 0 if field is None else len(field.items)
        n_told = 0 if bags is None else int(np.count_nonzero(bags.told[self.n_constrained :]))
        self.n_evident = self.n_constrained + n_told
        # What the negative entropy of each item counts: of the free ones only.
        self._scale: Array = np.zeros(len(X), X.dtype)
        self._scale[self.n_evident :] = tau / max(len(X) - self.n_evident, 1)
        self._kept: tuple[Array, Array] | None = None
        self._mass: Array = np.zeros(0)  # what each cluster has of all items in the last log_posteriors
        self.log_prior = 0.0  # of the answer tables, where they are learned

    def use_labels(self, goes: Array, witnesses: Array = NO_WITNESSES) -> None:
        """Let the clusters go with these bag labels, 0 and 1, (K, C), and, if wanted, labels have these witnesses."""
        self.goes = goes
        if self.bags is not None:
            logs = self.bags.log_factors(goes)[:, self.bags.place[: self.n_evident]]
            if len(witnesses):
                np.add.at(logs.T, witnesses, self.bags.log_factors_of_witnesses(goes))
            self._log_factors = logs[:, : self.n_constrained].astype(self.X.dtype)
            self._factors = np.exp(logs).astype(self.X.dtype)
            self._unheard = self.bags.unheard if len(witnesses) else 0.0

    def call_witnesses(self, W: Array) -> Array:
        """The best witnesses of bag labels for the posteriors as they are, from now on used; none without bags."""
        if self.bags is None:
            return NO_WITNESSES
        witnesses = self.bags.witnesses(self.posterior(W), self.goes)
        self.use_labels(self.goes, witnesses)
        return witnesses

    def log_posteriors(self, W: Array) -> tuple[Array, Array]:
        """p(y | x; W) and its logarithm (Eq 6), both (K, N); the next call writes over them.

        Fresh memory for them would cost about as much as filling it.
        """
        W = W.astype(self.X.dtype)
        if self._kept is None:
            self._kept = np.empty((len(W), len(self.X)), W.dtype), np.empty((len(W), len(self.X)), W.dtype)
        P, log_p = self._kept
        self._mass = np.zeros(len(W))
        for rows in blocks(len(self.X)):
            logits = W @ self.X[rows].T
            softmax(logits, logits.max(axis=0), rows.start, P, log_p, self._mass)
        return P, log_p

    def profile(self, W: Array) -> tuple[float, Array]:
        """max over q of LB(W, q), and its gradient: by the envelope theorem that of LB at the refreshed q."""
        P, log_p = self.log_posteriors(W)
        self.refresh(log_p)
        return self._bound_and_gradient(W, P, log_p)

    def at_fixed_q(self, W: Array) -> tuple[float, Array]:
        """LB(W, q) with q as it is, and its gradient: what the M-step climbs."""
        return self._bound_and_gradient(W, *self.log_posteriors(W))

    def refresh(self, log_p: Array, tol: float = _E_STEP_TOL, hard: bool = False) -> None:
        """The E-step: sweep the posteriors of the constrained items until they settle."""
        if self.field is not None:
            constrained = np.ascontiguousarray(log_p[:, : self.n_constrained].T)
            if self.bags is not None:
                constrained += self._log_factors.T
            self.field.settle(constrained, tol, _E_STEP_SWEEPS, hard)

    def expect_posteriors(self, W: Array) -> None:
        """Start the posteriors of constrained items at p(y | x; W), or what bag labels make of it."""
        if self.field is not None:
            q = self.log_posteriors(W)[0][:, : self.n_constrained]
            if self.bags is not None:
                q = _joint(q, self._factors[:, : self.n_constrained])[0]
            self.field.q[:] = q.T

    def posterior(self, W: Array) -> Array:
        """What is known of every item, (K, N): q, p(y | x; W) and the bag labels, or p(y | x; W) alone."""
        P = self.log_posteriors(W)[0].copy()
        if self.bags is not None:
            P[:, : self.n_evident] = _joint(P[:, : self.n_evident], self._factors)[0]
        if self.field is not None:
            P[:, : self.n_constrained] = self.field.q.T
        return P

    def _bound_and_gradient(self, W: Array, P: Array, log_p: Array) -> tuple[float, Array]:
        bound = -self.lam * float(np.vdot(W[:, :-1], W[:, :-1]))
        gradient = np.zeros(W.shape)
        gradient[:, :-1] -= 2 * self.lam * W[:, :-1]
        pull = np.zeros(len(W))  # derivative of the balance term by p, the same for every item
        if self.balance:
            mean = self._mass / len(self.X)
            log_mean = np.log(np.maximum(mean, np.finfo(P.dtype).tiny))
            bound -= self.tau * float(mean @ log_mean)
            pull = -self.tau / len(self.X) * log_mean
        if self.bags is not None:
            bound += self.weight * self._unheard
        if self.field is not None:
            evidence = self.field.expected_log_likelihood() + self.field.entropy() + self.log_prior
            if self.bags is not None:
                evidence += _inner(self.field.q.T, self._log_factors)
            bound += self.weight * evidence
        pull = pull.astype(P.dtype)
        for rows in blocks(len(self.X)):
            V = np.empty((len(P), rows.stop - rows.start), P.dtype)
            bound += derivatives(P, log_p, rows.start, self._scale[rows], pull, V)
            bound += self.weight * self._evidence(rows, P[:, rows], log_p[:, rows], V)
            gradient += V @ self.X[rows]
        return bound, gradient

    def _evidence(self, rows: slice, P: Array, log_p: Array, V: Array) -> float:
        """What the evidence adds to the bound, and to its derivative V (K, n) by the logits, for a block of items."""
        # So many of the block are constrained, and so many have evidence of any kind.
        n, m = (min(max(first - rows.start, 0), P.shape[1]) for first in (self.n_constrained, self.n_evident))
        value = 0.0
        if self.field is not None and n:
            q = self.field.q[rows.start : rows.start + n].T
            value += _inner(q, log_p[:, :n])
            V[:, :n] += P.dtype.type(self.weight) * (q - P[:, :n])
        if self.bags is not None and n < m:
            q, likelihood = _joint(P[:, n:m], self._factors[:, rows.start + n : rows.start + m])
            value += float(np.log(likelihood).sum(dtype=np.float64))
            V[:, n:m] += P.dtype.type(self.weight) * (q - P[:, n:m])
        return value


def climb(
    objective: Callable[[Array], tuple[float, Array]], W: Array, max_steps: int, tol: float
) -> tuple[Array, float, bool]:
    """Up to `max_steps` of L-BFGS from W; the new W, its value and whether a step gained less than `tol`."""

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
    """W (K, D + 1) of a logistic classifier for given labels: mean log loss and the same penalty lam.

    A start needs no more than a few digits, so it stops early.
    """
    model = LowerBound(X, None, tau=0.0, lam=lam, balance=False, weight=0.0)
    targets = np.zeros((n_clusters, len(X)), dtype=X.dtype)
    targets[labels, np.arange(len(X))] = 1

    def objective(W: Array) -> tuple[float, Array]:
        P, log_p = model.log_posteriors(W)
        value = _inner(targets, log_p) / len(X) - lam * float(np.vdot(W[:, :-1], W[:, :-1]))
        gradient = ((targets - P) @ X).astype(np.float64) / len(X)
        gradient[:, :-1] -= 2 * lam * W[:, :-1]
        return value, gradient

    return climb(objective, np.zeros((n_clusters, X.shape[1])), max_steps=50, tol=1e-4)[0]


def _joint(P: Array, factors: Array) -> tuple[Array, Array]:
    """P(y | x, label set), (K, n), and P(label set | x), (n,)."""
    joint = P * factors
    total = joint.sum(axis=0)
    joint /= total
    return joint, total


def _inner(a: Array, b: Array) -> float:
    """Sum of a * b, without the wide intermediate."""
    return float(np.einsum("kn,kn->", a, b))
