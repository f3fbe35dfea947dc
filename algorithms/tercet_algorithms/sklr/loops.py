"""The loops of SKLR, by loops.c."""

from typing import NamedTuple

import numpy as np

from tercet_algorithms.answers.patterns import Array
from tercet_algorithms.common.compiled import loops


class Terms(NamedTuple):
    """Constraints g d(a, b) - h d(a, e) <= t, grouped by the three items i, j, k that they involve."""

    starts: Array  # (n + 1,) where the constraints of each triple begin
    number: Array  # (m,) position of the constraint in the problem
    g: Array  # (m,)
    h: Array  # (m,)
    t: Array  # (m,)
    ab: Array  # (m,) which of d(i, j), d(i, k), d(j, k) is d(a, b)
    ae: Array  # (m,) which of them is d(a, e)
    low: Array  # (m,) lower bound of the multiplier
    high: Array  # (m,) upper bound of the multiplier
    only_violated: Array  # (m,) the multiplier moves only where the constraint is violated, as in Algorithm 1


_loops = loops(__file__)


def add_differences(rows: Array, i: Array, j: Array, weights: Array, out: Array) -> None:
    """Add A rows (n, s) to `out`, with A the sum of weights (P,) times (e_i - e_j)(e_i - e_j)'."""
    _loops.add_differences(len(i), rows.shape[1], rows, i, j, weights, out)


def difference_products(left: Array, right: Array, i: Array, j: Array, out: Array) -> None:
    """Write (l_i - l_j)'(r_i - r_j) for rows l and r (n, s) of every pair (P,)."""
    _loops.difference_products(len(i), left.shape[1], left, right, i, j, out)


def fill_symmetric(upper: Array, items: Array, K: Array) -> None:
    """Write the rows and columns of some items, in ascending order, of the matrix with this upper triangle into K."""
    _loops.fill_symmetric(len(items), len(upper), upper, items, K)


def fill_curvature(K: Array, places: Array, g: Array, h: Array, H: Array) -> None:
    """Write tr(K C_c K C_d) into the upper triangle of H (w, w), for constraints on items (w, 3) of K (n, n).

    C_c is g xx' - h yy' with the differences x = a - b and y = a - e. Numpy would need several arrays of the size of H.
    """
    room = np.empty(len(K)), np.empty(len(K))
    _loops.fill_curvature(len(H), len(K), K, places, g, h, H, *room)


def project_block(
    triples: Array, terms: Terms, lam: Array, relaxation: float, products: Array, squares: Array, signs: Array
) -> tuple[int, float]:
    """Project on the constraints of k triples; the left half of `products` (2k, 4k) is G, the right half the identity.

    `squares` receives the rank-one terms by which the kernel changes and `signs` their signs, 1 where a term is
    subtracted and -1 where it is added. In both arrays (2k, 4k) the left half is inner products with the present and
    later differences, the right half the coefficients of the present and earlier differences. Return the number of
    terms and the gain of f; `lam` is changed in place.
    """
    gain = np.zeros(1)
    n_squares: int = _loops.project_block(
        len(triples), triples, *terms, lam, relaxation, products, squares, signs, gain
    )
    return n_squares, float(gain[0])
