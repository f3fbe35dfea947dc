"""The E-step: mean-field posteriors of the items that occur in constraints (section IV.A of the paper).

It depends on P(observed answer | pattern) only, so that the code is the same for both kinds of questions and for any
table. With L_p = log P(answer | pattern p), the expected log likelihood of one triplet is multilinear in its three
posteriors, and the message to item i of a triplet whose other items are j and l is

    (L[l apart] - L[all different]) q_jk + (L[j apart] - L[all different]) q_lk
    + (L[all alike] - L[1 apart] - L[2 apart] - L[3 apart] + 2 L[all different]) q_jk q_lk + const.
"""

from copy import copy

import numpy as np

from tercet_algorithms.answers.patterns import ALL_ALIKE, ALL_DIFFERENT, Array
from tercet_algorithms.dcrc import e_step_loops as loops
from tercet_algorithms.dcrc.e_step_loops import Messages
from tercet_algorithms.dcrc.stand_ins import StandIns

# Messages closer than this, relative to the largest coefficient, are ties in the hard update (Eq 14).
_TIE = 1e-9
_NO_COUNTS: Array = np.empty(0)


class MeanField:
    """Triplets with P(observation | pattern), and the mean-field updates of posteriors q (n, K) of their items."""

    def __init__(
        self, triplets: Array, log_likelihoods: Array, dtype: type = np.float64, stand_in_counts: Array = _NO_COUNTS
    ):
        """`triplets` (M, 3) are item positions, `log_likelihoods` (M, 5) log P(observation | pattern).

        The last of them are links whose second item stands for a cluster; `stand_in_counts` (L,) is how many each
        counts as.
        """
        self.items, rows = np.unique(triplets, return_inverse=True)  # (n,) item position of each row of q
        self.triplets: Array = rows.reshape(-1, 3).astype(np.int32)  # in rows of q
        self.dtype, self.stand_in_counts = dtype, stand_in_counts
        self._first, self._others, self._places = _neighbours(self.triplets, len(self.items))
        self._set_log_likelihoods(log_likelihoods)

    def with_log_likelihoods(self, log_likelihoods: Array) -> "MeanField":
        """Return the same triplets with other log P(observation | pattern), (M, 5)."""
        field = copy(self)
        field._set_log_likelihoods(log_likelihoods)
        return field

    def _set_log_likelihoods(self, log_likelihoods: Array) -> None:
        log_likelihoods, links = np.split(log_likelihoods, [len(log_likelihoods) - len(self.stand_in_counts)])
        self.stand_ins: StandIns | None = None
        if len(links):
            pairs, likelihoods = self.triplets[len(log_likelihoods) :, :2], np.exp(links)
            of_links = likelihoods[:, ALL_ALIKE], likelihoods[:, ALL_DIFFERENT], self.stand_in_counts
            self.stand_ins = StandIns.of_links(pairs, *of_links, len(self.items))
        # Their triplets send no messages.
        log_likelihoods = np.concatenate([log_likelihoods, np.zeros(links.shape)])
        linear, product = _coefficients(log_likelihoods)
        self._constant = float(log_likelihoods[:, ALL_DIFFERENT].sum())
        self._linear: Array = linear.astype(self.dtype)  # (M, 3)
        self._product: Array = product.astype(self.dtype)
        self._tie = _TIE * float(np.abs(linear).max(initial=0) + np.abs(product).max(initial=0))
        # The coefficient of q_j is that of "l apart", and that of q_l is "j apart": hence the crossed columns.
        of_left, of_right = linear[:, [2, 2, 1]].T.ravel(), linear[:, [1, 0, 0]].T.ravel()
        weights: Array = np.column_stack([of_left, of_right, np.tile(product, 3)])[self._places].astype(self.dtype)
        self.messages = Messages(self._first, self._others, weights)

    def settle(self, q: Array, log_p: Array, tol: float, max_sweeps: int, hard: bool = False) -> int:
        """Update the rows of q in place, one after the other, until none moves by `tol`; return the number of sweeps.

        An update is Eq 13, or Eq 14 when `hard`; `log_p` (n, K) is log p(y | x) of the items. After the first sweep
        only items whose neighbours have moved are updated, since updates depend on nothing else.
        """
        log_p = np.ascontiguousarray(log_p, self.dtype)
        return loops.settle(q, log_p, self.messages, hard, self._tie, tol, max_sweeps)

    def expected_log_likelihood(self, q: Array) -> float:
        """Return E_Q[log P(L | Y)], summed over the triplets."""
        return self._constant + loops.expected_log_likelihood(q, self.triplets, self._linear, self._product)


def evident_first(field: MeanField | None, labelled: Array) -> tuple[Array, int]:
    """Return item positions in the order of the objective, and how many of them have evidence; these come first.

    First the items in answers and links, in the order of the E-step, then others in labelled bags, then all others.
    """
    answered = np.empty(0, dtype=np.int64) if field is None else field.items
    others = np.ones(len(labelled), dtype=bool)
    others[answered] = False
    only_labelled = np.flatnonzero(others & labelled)
    order = np.concatenate([answered, only_labelled, np.flatnonzero(others & ~labelled)])
    return order, len(answered) + len(only_labelled)


def entropy(q: Array) -> float:
    """Return the sum of the entropies of the rows of q."""
    return -float(np.vdot(q, np.log(np.maximum(q, np.finfo(q.dtype).tiny))))


def _coefficients(log_likelihoods: Array) -> tuple[Array, Array]:
    """Return each triplet's coefficients of "all but item r are alike", (M, 3), and of the triple product, (M,)."""
    linear = log_likelihoods[:, 1:4] - log_likelihoods[:, [ALL_DIFFERENT]]
    product = log_likelihoods[:, ALL_ALIKE] - log_likelihoods[:, 1:4].sum(axis=1)
    return linear, product + 2 * log_likelihoods[:, ALL_DIFFERENT]


def _neighbours(triplets: Array, n_items: int) -> tuple[Array, Array, Array]:
    """Return the other items of the triplets of each item, item after item.

    Three arrays: where each item begins, (n + 1,); the other two items, (3 M, 2); and the place of the triplet among
    all triplets, in each of the three roles of the item, (3 M,).
    """
    item, left, right = (triplets[:, roles].T.ravel() for roles in ([0, 1, 2], [1, 0, 0], [2, 2, 1]))
    places = np.argsort(item, kind="stable")
    first = np.searchsorted(item[places], np.arange(n_items + 1)).astype(np.int32)
    return first, np.column_stack([left, right])[places], places
