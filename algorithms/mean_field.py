"""The E-step: mean-field posteriors of the items that occur in constraints (section IV.A of the paper).

Written against P(observed answer | pattern) only, so that both question kinds, and any table that comes later,
are the same code. With L_p = log P(answer | pattern p), the expected log likelihood of one triplet is
multilinear in its three posteriors, and the message to item i of a triplet whose other items are j and l is

    (L[l apart] - L[all different]) q_jk + (L[j apart] - L[all different]) q_lk
    + (L[all alike] - L[1 apart] - L[2 apart] - L[3 apart] + 2 L[all different]) q_jk q_lk + const.

Items are updated by colour classes: no two items of one class share a triplet, so updating a class at once
equals updating its items one after another, and the bound can never drop.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from algorithms.patterns import ALL_ALIKE, ALL_DIFFERENT, Array

# Two compatibilities closer than this (relative to log alpha) are equal in the hard update (Eq 14).
_TIE = 1e-9
# From so many items on, keeping account of those that still move costs less than updating all of them.
_MANY = 5000
# exp of float32 is safe within +-87; messages that stay well inside need no row maximum, the dearest step here.
_SAFE = 60.0


@dataclass(frozen=True)
class ColourClass:
    """Items rows.start..rows.stop of the posterior table, which share no triplet."""

    rows: slice
    left: Array  # (n,) the other two items of each triplet that an item of the class is in
    right: Array
    owners: Array  # (n,) the item's row within the class, ascending
    weights: sparse.csr_array  # (items of the class, items + n): from posteriors and their products to messages
    small: bool  # whether no message can be so large that its exponential overflows


class MeanField:
    """Posteriors q of the constrained items, kept in colour order, and the sweeps that improve them."""

    def __init__(self, triplets: Array, log_likelihoods: Array, n_clusters: int, dtype: type = np.float64):
        items, where = np.unique(triplets, return_inverse=True)
        places = where.reshape(-1, 3)
        colours = _greedy_colours(places, len(items))
        order = np.argsort(colours, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        self.items: Array = items[order]  # (n,) item position of each row of q
        self.triplets: Array = rank[places]
        self._columns = tuple(np.ascontiguousarray(column) for column in self.triplets.T)
        self.dtype = dtype
        self._sizes = np.bincount(colours)
        # Rows beyond the items hold the products q_j q_l of the colour class at work.
        self._table: Array = np.zeros((len(items) + int(_class_loads(colours, places).max()), n_clusters), dtype)
        self.set_log_likelihoods(log_likelihoods)

    def set_log_likelihoods(self, log_likelihoods: Array) -> None:
        """Use other log P(observed answer | pattern), shape (M, 5), for the same triplets."""
        linear, product = _coefficients(log_likelihoods)
        self._constant = float(log_likelihoods[:, ALL_DIFFERENT].sum())
        self._linear: Array = linear.T[:, :, None].astype(self.dtype)  # (3, M, 1)
        self._product: Array = product[:, None].astype(self.dtype)
        self._tie = _TIE * float(np.abs(linear).max(initial=0) + np.abs(product).max(initial=0))
        self._classes = _colour_classes(self.triplets, self._sizes, linear, product, self._table)

    @property
    def q(self) -> Array:
        """(n, K) posteriors; a view that sweeps change in place."""
        return self._table[: len(self.items)]

    def messages(self, colour: ColourClass) -> Array:
        """Expected log likelihood of all answers about each item of a class, given its cluster, up to a constant."""
        n_items, n_products = len(self.items), len(colour.left)
        products = self._table[n_items : n_items + n_products]
        np.multiply(self._table.take(colour.left, axis=0), self._table.take(colour.right, axis=0), out=products)
        messages: Array = colour.weights @ self._table
        return messages

    def sweep(self, log_p: Array, hard: bool = False) -> float:
        """Update every item once (Eq 13, or Eq 14 when hard); the largest change of a posterior."""
        largest = 0.0
        for colour in self._classes:
            logits = self.messages(colour)
            if hard:
                worst = logits < logits.max(axis=1, keepdims=True) - self._tie
                logits = np.where(worst, -np.inf, log_p[colour.rows])
            else:
                logits += log_p[colour.rows]
            fresh = _softmax(logits, small=colour.small and not hard)
            current = self._table[colour.rows]
            largest = max(largest, float(np.abs(fresh - current).max()))
            current[:] = fresh
        return largest

    def settle(self, log_p: Array, tol: float, max_sweeps: int, hard: bool = False, rest: float = 0.0) -> None:
        """Sweep until no posterior moves by more than `tol`, at most `max_sweeps` times.

        Of many items all but a few settle at once, so after the first sweep only those are updated again whose
        neighbours have moved: nothing else can have changed what they should be. A share `rest` of many items may
        be left to the next call.
        """
        if hard or len(self.items) < _MANY:
            for _ in range(max_sweeps):
                if self.sweep(log_p, hard) < tol:
                    return
            return
        before = self.q.copy()
        self.sweep(log_p)
        moved = _differ(self.q, before, tol)
        for _ in range(max_sweeps - 1):
            if moved.sum() <= rest * len(moved):
                return
            touched = np.zeros_like(moved)
            anchor, left, right = self._columns
            touched[self.triplets[moved[anchor] | moved[left] | moved[right]]] = True
            moved = self._sweep_some(log_p, touched, tol)

    def _sweep_some(self, log_p: Array, touched: Array, tol: float) -> Array:
        """Update the touched items once; which of all moved by `tol` or more."""
        moved = np.zeros_like(touched)
        for colour in self._classes:
            mine = touched[colour.rows]
            rows = np.flatnonzero(mine)
            if not len(rows):
                continue
            pairs = np.flatnonzero(mine[colour.owners])
            others = self._table.take(colour.left[pairs], axis=0), self._table.take(colour.right[pairs], axis=0)
            self._table[len(self.items) + pairs] = others[0] * others[1]
            places = colour.rows.start + rows
            fresh = _softmax(colour.weights[rows] @ self._table + log_p[places], small=colour.small)
            moved[places] = _differ(fresh, self._table[places], tol)
            self._table[places] = fresh
        return moved

    def expected_log_likelihood(self) -> float:
        """E_Q[log P(L | Y)], summed over the triplets."""
        anchor, left, right = (self._table.take(column, axis=0) for column in self._columns)
        both = left * right
        about_anchor = self._product * both
        about_anchor += self._linear[2] * left
        about_anchor += self._linear[1] * right
        both *= self._linear[0]
        return self._constant + float(np.vdot(anchor, about_anchor)) + float(both.sum(dtype=np.float64))

    def entropy(self) -> float:
        """Sum of the entropies of the posteriors."""
        return -float(np.vdot(self.q, np.log(np.maximum(self.q, np.finfo(self.dtype).tiny))))


def _coefficients(log_likelihoods: Array) -> tuple[Array, Array]:
    """Per triplet: the weight of "all but item r are alike" for r = 0, 1, 2, and that of the triple product."""
    linear = log_likelihoods[:, 1:4] - log_likelihoods[:, [ALL_DIFFERENT]]
    product = log_likelihoods[:, ALL_ALIKE] - log_likelihoods[:, 1:4].sum(axis=1)
    return linear, product + 2 * log_likelihoods[:, ALL_DIFFERENT]


def _colour_classes(triplets: Array, sizes: Array, linear: Array, product: Array, table: Array) -> list[ColourClass]:
    roles = ((0, 1, 2), (1, 0, 2), (2, 0, 1))
    item, left, right = (np.concatenate([triplets[:, role[n]] for role in roles]) for n in range(3))
    # q_j is weighted by what "l apart" says, and q_l by "j apart": hence the crossed columns.
    left_weight = np.concatenate([linear[:, role[2]] for role in roles])
    right_weight = np.concatenate([linear[:, role[1]] for role in roles])
    product = np.tile(product, 3)
    order = np.argsort(item, kind="stable")
    ends = np.searchsorted(item[order], np.cumsum(sizes))
    classes, start, first = [], 0, 0
    for size, end in zip(sizes, ends, strict=True):
        mine, stop = order[start:end], first + int(size)
        n_items = int(sizes.sum())
        columns = np.concatenate([left[mine], right[mine], n_items + np.arange(len(mine))])
        values = np.concatenate([left_weight[mine], right_weight[mine], product[mine]]).astype(table.dtype)
        shape = (int(size), len(table))
        weights = sparse.csr_array((values, (np.tile(item[mine] - first, 3), columns)), shape=shape)
        small = bool(abs(weights).sum(axis=1).max() < _SAFE)
        classes.append(ColourClass(slice(first, stop), left[mine], right[mine], item[mine] - first, weights, small))
        start, first = end, stop
    return classes


def _class_loads(colours: Array, places: Array) -> Array:
    """How many (item, triplet) incidences each colour class has."""
    return np.bincount(colours[places].ravel())


def _greedy_colours(places: Array, n_items: int) -> Array:
    """A colour for every item, the smallest that no item it shares a triplet with has; busiest items first."""
    pairs = np.concatenate([places[:, [a, b]] for a in range(3) for b in range(3) if a != b])
    neighbours = pairs[np.argsort(pairs[:, 0], kind="stable"), 1].tolist()
    degrees = np.bincount(pairs[:, 0], minlength=n_items)
    ends = np.cumsum(degrees).tolist()
    colours = [-1] * n_items
    for item in np.argsort(-degrees, kind="stable").tolist():
        taken = {colours[other] for other in neighbours[ends[item] - degrees[item] : ends[item]]}
        colour = 0
        while colour in taken:
            colour += 1
        colours[item] = colour
    return np.array(colours)


def _softmax(logits: Array, small: bool) -> Array:
    """Row-wise, in place; `small` logits have a row maximum near 0, which then needs no finding."""
    if not small:
        logits -= logits.max(axis=1, keepdims=True)
    np.exp(logits, out=logits)
    logits /= (logits @ np.ones(logits.shape[1], logits.dtype))[:, None]
    return logits


def _differ(a: Array, b: Array, tol: float) -> Array:
    """Which rows differ by `tol` or more in all."""
    differing: Array = np.abs(a - b) @ np.ones(a.shape[1], a.dtype) >= tol
    return differing
