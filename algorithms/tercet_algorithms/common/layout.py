"""The map of a clustering: two coordinates per item that an analyst can trust from run to run.

Each cluster is a disc whose area is its share of the items; discs lie as near as their clusters are similar and
never overlap; an item lies inside its disc near the items it resembles, and between discs as far as its
posterior is undecided. A new map starts from the previous one and is turned to match it, so that the picture
moves only where the clustering did.
"""

from typing import Any

import numpy as np

from tercet_algorithms.answers.patterns import Array

# The discs together cover this share of the circle they spread over.
_COVER = 0.3
# Discs are kept apart by this multiple of the sum of their radii.
_GAP = 1.08
_EMPTY = 1e-6
_MAX_FEATURES = 64


def cluster_map(X: Any, posterior: Any, previous: Any = None) -> Array:
    """Return coordinates of every item, (N, 2) float32.

    `posterior` (N, K); `previous` (N, 2) is the map of an earlier run, NaN in the rows of items it did not have.
    Deterministic.
    """
    P = np.asarray(posterior, dtype=np.float64)
    sizes = P.sum(axis=0)
    alive = sizes > _EMPTY * len(P)
    P = P[:, alive] / P[:, alive].sum(axis=1, keepdims=True)
    sizes = sizes[alive]
    Z = _standard(np.asarray(X, dtype=np.float64))
    means = (P.T @ Z) / sizes[:, None]
    deviations = Z - P @ means
    distances = _pairwise(_whiten(means, deviations))
    radii = np.sqrt(_COVER * sizes / sizes.sum())
    before = None if previous is None else np.asarray(previous, dtype=np.float64)
    centres_before = None if before is None else _centres_on(before, P)
    first = _main_plane(means) if centres_before is None else centres_before
    centres = _spread(_scaled(_smacof(distances, first), radii), radii)
    inside = _discs(deviations, P) * (P @ radii)[:, None]
    if before is not None and centres_before is not None:
        inside = inside @ _turn(inside, before - P @ centres_before)
    points = P @ centres + inside
    points -= points.mean(axis=0)
    return (points if before is None else _turned_to(points, before)).astype(np.float32)


def _standard(X: Array) -> Array:
    """Return columns of variance 1, at most 64 principal directions of them, which bounds the cost in D."""
    spread = X.std(axis=0)
    Z: Array = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
    if Z.shape[1] > _MAX_FEATURES:
        Z = Z @ _principal(Z, _MAX_FEATURES)
    return Z


def _principal(Z: Array, n: int) -> Array:
    """Return the n leading principal directions (D, n), each with its largest entry positive."""
    directions: Array = np.linalg.eigh(Z.T @ Z)[1][:, ::-1][:, :n]
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])]
    return directions * np.where(largest < 0, -1.0, 1.0)


def _whiten(means: Array, deviations: Array) -> Array:
    """Return the means in the space where clusters are round, so that distances measure how far clusters differ."""
    scatter = deviations.T @ deviations / len(deviations)
    values, directions = np.linalg.eigh(scatter)
    floor = 0.1 * max(float(values.mean()), 1e-12)
    whitened: Array = (means @ directions) / np.sqrt(np.maximum(values, floor))
    return whitened


def _pairwise(points: Array) -> Array:
    """Return distances with large ones compressed: one odd cluster must not squeeze all others into a corner."""
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    roots: Array = squares**0.25
    return roots


def _centres_on(before: Array, P: Array) -> Array | None:
    """Return the clusters' places on the previous map; None unless every cluster has items there."""
    mapped = np.isfinite(before).all(axis=1)
    weights = P[mapped].sum(axis=0)
    if np.any(weights <= _EMPTY * len(P)):
        return None
    centres: Array = (P[mapped].T @ before[mapped]) / weights[:, None]
    return centres


def _main_plane(means: Array) -> Array:
    """Return the clusters' places on their first two principal directions."""
    plane = np.zeros((len(means), 2))
    centred = means - means.mean(axis=0)
    directions = _principal(centred, 2)
    plane[:, : directions.shape[1]] = centred @ directions
    return plane


def _smacof(distances: Array, points: Array, n_iterations: int = 200) -> Array:
    """Return points whose distances come near the given ones: metric scaling by majorization (Guttman transform)."""
    n = len(points)
    # Points that coincide have no direction to part in; a small fixed ring gives them one.
    angles = 2 * np.pi * np.arange(n) / n
    points = points + 1e-3 * (distances.mean() + 1e-9) * np.column_stack([np.cos(angles), np.sin(angles)])
    for _ in range(n_iterations):
        mapped = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
        ratio = -distances / np.maximum(mapped, 1e-12)
        np.fill_diagonal(ratio, 0)
        np.fill_diagonal(ratio, -ratio.sum(axis=1))
        points = ratio @ points / n
    return points


def _scaled(centres: Array, radii: Array) -> Array:
    """Return the centres spread over a circle of radius 1, the discs included."""
    centres = centres - centres.mean(axis=0)
    reach = np.linalg.norm(centres, axis=1)
    furthest = reach.max()
    room = max(1 - radii[reach.argmax()], 0.3)
    scaled: Array = centres * (room / furthest) if furthest > 0 else centres
    return scaled


def _spread(centres: Array, radii: Array, n_rounds: int = 200) -> Array:
    """Push discs apart until none overlaps another, each pair by half the overlap a round."""
    least = _GAP * (radii[:, None] + radii[None])
    np.fill_diagonal(least, 0)
    for _ in range(n_rounds):
        offsets = centres[:, None] - centres[None]
        mapped = np.sqrt((offsets**2).sum(axis=2))
        overlap = np.maximum(least - mapped, 0)
        if overlap.max() < 1e-4:
            break
        centres = centres + 0.5 * (offsets * (overlap / np.maximum(mapped, 1e-9))[:, :, None]).sum(axis=1)
    return centres


def _discs(deviations: Array, P: Array) -> Array:
    """Return each item's place in a unit disc: its deviation from its cluster in two directions that all share.

    Gaussian deviations fill the disc evenly.
    """
    directions = _principal(deviations, 2)
    plane = np.zeros((len(deviations), 2))
    plane[:, : directions.shape[1]] = deviations @ directions
    spread = np.sqrt((P.T @ plane**2) / P.sum(axis=0)[:, None])
    plane /= np.maximum(P @ spread, 1e-12)
    reach = np.linalg.norm(plane, axis=1, keepdims=True)
    filled: Array = plane * (np.sqrt(-np.expm1(-(reach**2) / 2)) / np.maximum(reach, 1e-12))
    return filled


def _turned_to(points: Array, before: Array) -> Array:
    """Return the points rotated, reflected, scaled and shifted onto the previous map, by the items that both have.

    The scale is the ratio of the spreads, not the least-squares one, which would shrink the map at every run.
    """
    mapped = np.isfinite(before).all(axis=1)
    if mapped.sum() < 2:
        return points
    here, there = points[mapped].mean(axis=0), before[mapped].mean(axis=0)
    now, then = np.linalg.norm(points[mapped] - here), np.linalg.norm(before[mapped] - there)
    scale = then / now if now > 0 and then > 0 else 1.0
    turned: Array = (points - here) @ _turn(points - here, before - there) * scale + there
    return turned


def _turn(points: Array, target: Array) -> Array:
    """Return the rotation or reflection (2, 2) that brings points nearest to their targets, where these are finite."""
    mapped = np.isfinite(target).all(axis=1)
    u, _, vt = np.linalg.svd(points[mapped].T @ target[mapped])
    turn: Array = u @ vt
    return turn
