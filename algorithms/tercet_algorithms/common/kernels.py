"""Kernels as features: a map phi whose inner products are the kernel's values, exactly or nearly.

DCRC with a kernel k has scores f_c(x) = sum_i a_ci k(x_i, x) + b_c and the penalty a_c' K a_c. That is linear DCRC
on any Phi with Phi Phi' = K, so a kernel is a change of features and needs no solver of its own. Exact features are
V S^(1/2) of K = V S V', and those of a new x are k(x, X) V S^(-1/2); Nystroem and random Fourier features put fewer
points, or random waves, in the place of all the items.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels

from tercet_algorithms.answers.patterns import Array

Kernel = str | Callable[..., float]
# Kernels that stand for the Gaussian one with a number of features that does not grow with the items.
APPROXIMATE = ("nystroem", "rff")
# All names that `kernel` may have.
KERNELS = tuple(sorted({*kernel_metrics(), *APPROXIMATE}))
# Exact kernels take memory as the square and time as the cube of the number of items.
MOST_EXACT = 10_000
# Eigenvalues below this share of the largest are rounding, or as good as nothing to a penalised model.
_TINY = 1e-8


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """A fitted map; `points` are items (landmarks) or, for "rff", directions, `basis` makes features of them."""

    kernel: Kernel
    gamma: float | None
    params: Mapping[str, Any]
    points: Array  # (n, D)
    basis: Array  # (n, R), or the phases (R,) of "rff"

    @property
    def width(self) -> int:
        return int(self.basis.shape[-1])

    def transform(self, Z: Array) -> Array:
        """Return features (n, R) of standardised rows (n, D)."""
        features: Array
        if self.kernel == "rff":
            features = np.cos(Z @ self.points.T + self.basis) * np.sqrt(2 / self.width)
        else:
            features = kernel_values(Z, self.points, self.kernel, self.gamma, self.params) @ self.basis
        return features

    def to_arrays(self) -> dict[str, Array]:
        """Return plain arrays; the estimator stores the kernel's name and further parameters."""
        gamma = np.array(np.nan if self.gamma is None else self.gamma)
        return {"kernel_points": self.points, "kernel_basis": self.basis, "kernel_gamma": gamma}

    @classmethod
    def from_arrays(cls, kernel: Kernel, params: Mapping[str, Any], arrays: Mapping[str, Array]) -> "FeatureMap":
        gamma = float(arrays["kernel_gamma"])
        return cls(kernel, None if np.isnan(gamma) else gamma, params, arrays["kernel_points"], arrays["kernel_basis"])


def kernel_values(A: Array, B: Array, kernel: Kernel, gamma: float | None, params: Mapping[str, Any]) -> Array:
    """Return k(a, b) for all rows of A and B; raises ValueError where a kernel gives no finite numbers."""
    if callable(kernel):
        values = pairwise_kernels(A, B, metric=kernel, **params)
    else:
        metric = "rbf" if kernel == "nystroem" else kernel
        values = pairwise_kernels(A, B, metric=metric, filter_params=True, gamma=gamma, **params)
    if not np.isfinite(values).all():
        raise ValueError(f"kernel {_name(kernel)} gives values that are not finite numbers")
    finite: Array = np.asarray(values, dtype=np.float64)
    return finite


def check_size(n_items: int, kernel: Kernel) -> None:
    """Raise ValueError where there are too many items for an exact kernel."""
    if n_items > MOST_EXACT:
        raise ValueError(
            f"kernel={_name(kernel)} compares every item with every other; {n_items} items are more than "
            f"{MOST_EXACT}: use kernel='nystroem' or 'rff'"
        )


def exact_map(Z: Array, kernel: Kernel, gamma: float | None, params: Mapping[str, Any]) -> FeatureMap:
    """Return Phi with Phi Phi' = K for standardised rows Z (N, D); the negative part of an indefinite K is lost."""
    K = kernel_values(Z, Z, kernel, gamma, params)
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    positive = values > _TINY * np.abs(values).max()
    if not positive.any():
        if values[0] < 0:
            raise ValueError(f"kernel {_name(kernel)} is not positive: its largest eigenvalue is {values[-1]:.3g}")
        return FeatureMap(kernel, gamma, params, Z, np.zeros((len(Z), 1)))  # items that are all 0 to the kernel
    values, vectors = values[positive], vectors[:, positive]
    # An eigenvector's sign is anyone's; a fit that another machine resumes needs it to be the same.
    largest = np.abs(vectors).argmax(axis=0)
    vectors *= np.sign(vectors[largest, np.arange(len(values))])
    return FeatureMap(kernel, gamma, params, Z, vectors / np.sqrt(values))


def approximate_map(
    sample: Array, kernel: Kernel, gamma: float | None, n_components: int, rng: np.random.RandomState
) -> FeatureMap:
    """Return Nystroem's map with the standardised rows `sample` for landmarks, or random Fourier features."""
    width = 1 / sample.shape[1] if gamma is None else gamma
    if kernel == "rff":
        waves = RBFSampler(gamma=width, n_components=n_components, random_state=rng).fit(sample)
        return FeatureMap(kernel, width, {}, waves.random_weights_.T.copy(), waves.random_offset_)
    fitted = Nystroem("rbf", gamma=width, n_components=len(sample), random_state=rng).fit(sample)
    return FeatureMap(kernel, width, {}, fitted.components_, fitted.normalization_.T.copy())


def _name(kernel: Kernel) -> str:
    return getattr(kernel, "__name__", "callable") if callable(kernel) else repr(kernel)
