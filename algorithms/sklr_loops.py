"""The loops of SKLR's projections and of its Hessian, one constraint at a time.

Of projections, whoever comes later sees what those before have moved. All constraints on the same three items speak
of the same two differences, u = i - j and v = i - k, so that they are projected on by arithmetic on their three inner
products. The Hessian needs numbers from all over the kernel, for which numpy would make several arrays of its size.
"""

import math
from typing import NamedTuple

import numpy as np

from algorithms.compiled import compiled, part
from algorithms.patterns import Array

# Rounds over the constraints on three items.
_ROUNDS = 2
# Where nothing stops a multiplier (the answer cannot hold) it grows by so much, which ends the fit as infeasible.
_ENDLESS = 1e12


class Terms(NamedTuple):
    """Constraints g d(a, b) - h d(a, e) <= t, those on the same three items i, j, k together."""

    starts: Array  # (n + 1,) where the constraints on each three begin
    number: Array  # (m,) which constraint it is
    g: Array  # (m,)
    h: Array  # (m,)
    t: Array  # (m,)
    near: Array  # (m,) which of d(i, j), d(i, k), d(j, k) is d(a, b)
    far: Array  # (m,) and which is d(a, e)
    least: Array  # (m,) bounds of the multiplier
    most: Array  # (m,)
    once: Array  # (m,) moves only where violated, as in Algorithm 1


@part
def best_step(near: float, excess: float, t: float, area: float) -> float:
    """How far a multiplier must move for its constraint to hold with equality."""
    if t != 0:  # a link, which has no far distance: near / (1 + alpha near) = t
        return 1 / t - 1 / near if near != 0 else 0.0
    if 2 * area <= abs(excess) / _ENDLESS:
        return math.copysign(_ENDLESS, excess)
    return excess / (2 * area)


@part
def project(three: int, terms: Terms, lam: Array, p: float, s: float, q: float) -> tuple[float, float, float, float]:
    """Project in turn on the constraints on three items, of whose differences p, s and q are the inner products.

    Returned are the change of Z'AZ between the differences, and that of f; `lam` is changed in place.
    """
    first = mixed = last = gain = 0.0
    for _ in range(_ROUNDS):
        n_moved = 0
        for term in range(terms.starts[three], terms.starts[three + 1]):
            g, h, t, near, far = terms.g[term], terms.h[term], terms.t[term], terms.near[term], terms.far[term]
            distances = p, q, p + q - 2 * s
            excess = g * distances[near] - h * distances[far]
            if terms.once[term] and excess <= t:
                continue  # another projection has mended it
            was, area = lam[terms.number[term]], p * q - s * s
            aim = was + best_step(g * distances[near], excess, t, g * h * area)
            alpha = min(max(aim, terms.least[term]), terms.most[term]) - was
            if alpha == 0:
                continue
            n_moved += 1
            lam[terms.number[term]] = was + alpha
            determinant = 1 + alpha * excess - alpha * alpha * g * h * area
            gain += math.log(determinant) - alpha * t
            of_u = alpha * (g * (near == 0) - h * (far == 0))
            of_v = alpha * (g * (near == 1) - h * (far == 1))
            of_both = alpha * (g * (near == 2) - h * (far == 2))
            a, b, d = of_u + of_both, -of_both, of_v + of_both
            first, mixed, last = first + a, mixed + b, last + d
            p, s, q = (p + area * d) / determinant, (s - area * b) / determinant, (q + area * a) / determinant
        if n_moved < 2:
            break
    return first, mixed, last, gain


@part
def respond(first: float, mixed: float, last: float, p: float, s: float, q: float) -> tuple[float, float, float]:
    """T, by which K becomes K - [u v] T [u v]' where its inverse moves by first, mixed and last between u and v."""
    area = first * last - mixed * mixed
    determinant = 1 + p * first + 2 * s * mixed + q * last + area * (p * q - s * s)
    return (first + area * q) / determinant, (mixed - area * s) / determinant, (last + area * p) / determinant


@compiled
def project_block(
    threes: Array, terms: Terms, lam: Array, whole: Array, done: Array, signs: Array
) -> tuple[int, float]:
    """Project on the constraints on k threes; `whole` (2k, 4k) holds the inner products of their differences.

    `done` gets the squares by which the kernel changes and `signs` their signs, 1 where a square is taken away and
    -1 where it is added. Of both arrays (2k, 4k) the left half is products with a difference and those after it, the
    right half what the row is made of: differences up to it. Returned are the number of squares, and by how much f
    has grown; `lam` is changed.
    """
    size, moved, gain = len(whole), 0, 0.0
    for place in range(len(threes)):
        u, v, end = 2 * place, 2 * place + 1, size + 2 * place + 2
        for earlier in range(moved):
            of_u, of_v = signs[earlier] * done[earlier, u], signs[earlier] * done[earlier, v]
            for column in range(u, end):
                whole[u, column] -= of_u * done[earlier, column]
                whole[v, column] -= of_v * done[earlier, column]
        p, s, q = whole[u, u], whole[u, v], whole[v, v]
        first, mixed, last, grown = project(threes[place], terms, lam, p, s, q)
        if first == 0 and mixed == 0 and last == 0:
            continue
        # T is the sum of two squares, its eigenvectors, each with the sign of its eigenvalue.
        first, mixed, last = respond(first, mixed, last, p, s, q)
        middle, radius = (first + last) / 2, math.hypot((first - last) / 2, mixed)
        angle = math.atan2(2 * mixed, first - last) / 2
        for turn, value in ((0.0, middle + radius), (math.pi / 2, middle - radius)):
            length = math.sqrt(abs(value))
            of_u, of_v = length * math.cos(angle + turn), length * math.sin(angle + turn)
            for column in range(u, end):
                done[moved, column] = of_u * whole[u, column] + of_v * whole[v, column]
            signs[moved] = math.copysign(1.0, value)
            moved += 1
        gain += grown
    return moved, gain


@compiled
def fill_curvature(K: Array, places: Array, g: Array, h: Array, H: Array) -> None:
    """Write tr(K C_c K C_d) into the upper triangle of H (w, w), for constraints on items (w, 3) of K (n, n).

    C_c is g times the squared difference x = a - b less h times y = a - e, so that all follows from the squares of
    the four inner products of one's differences with another's.
    """
    of_x, of_y = np.empty(len(K)), np.empty(len(K))
    for c in range(len(H)):
        a, b, e = places[c, 0], places[c, 1], places[c, 2]
        for i in range(len(K)):
            of_x[i], of_y[i] = K[a, i] - K[b, i], K[a, i] - K[e, i]
        for d in range(c, len(H)):
            a, b, e = places[d, 0], places[d, 1], places[d, 2]
            xx, xy, yx, yy = of_x[a] - of_x[b], of_x[a] - of_x[e], of_y[a] - of_y[b], of_y[a] - of_y[e]
            of_g, of_h = g[d] * xx * xx - h[d] * xy * xy, g[d] * yx * yx - h[d] * yy * yy
            H[c, d] = g[c] * of_g - h[c] * of_h


@compiled
def fill_symmetric(upper: Array, items: Array, K: Array) -> None:
    """Write the symmetric matrix of this upper triangle between some items, in ascending order, into K."""
    for i in range(len(items)):
        for j in range(i, len(items)):
            K[i, j] = K[j, i] = upper[items[i], items[j]]
