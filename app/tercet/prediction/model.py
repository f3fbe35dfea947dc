"""The model of a run as an object that predicts clusters of new items, and its file: .npz, never a pickle."""

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO

import numpy as np

from tercet.prediction.inputs import Array, inputs, squared_distances, standardised

FORMAT = "tercet cluster model"
VERSION = 1
ROWS_AT_ONCE = 1024
RECIPE = "recipe/"  # before the names of arrays that a feature recipe learned
# What numpy and zipfile raise on damaged files.
DAMAGED = (OSError, ValueError, EOFError, SyntaxError, TokenError, RuntimeError, zlib.error, zipfile.BadZipFile)
# Arrays of rows of fitted items that may be stored as positions instead, and the names of these.
ROWS_OF_ITEMS = {"points": "points_items", "references": "references_items"}


class ClusterModel:
    """Predicts the clusters of new items, as the fitted estimator of the run does.

    Attributes
    ----------
    n_features_in_ : int
        Number of features of an item.
    feature_names_in_ : array of str, shape (D,)
        Their names, if the features have names.
    classes_ : array of int, shape (K,)
        Numbers of the clusters, from 1, as pages and exports show them.
    cluster_names_ : list of str
        The names that people gave them; empty for those without a name.
    about_ : dict
        Project, run, algorithm and version of Tercet.
    recipe_ : dict
        What the feature recipe learned from the run's items; empty where their features were uploaded.
    """

    def __init__(
        self,
        arrays: Mapping[str, Array],
        about: Mapping[str, Any] | None = None,
        recipe: Mapping[str, Array] | None = None,
    ) -> None:
        """Take the arrays of a model that is complete, see `with_rows_of_items`, and those that its recipe learned."""
        self.arrays = dict(arrays)
        self.recipe_ = dict(recipe or {})
        self.about_ = dict(about or {})
        self.n_features_in_ = len(self.arrays["mean"])
        self.classes_ = np.arange(1, int(self.arrays["n_clusters"]) + 1)
        self.cluster_names_ = [str(name) for name in self.arrays.get("cluster_names", [""] * len(self.classes_))]
        if len(names := self.arrays.get("feature_names", ())):
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def predict(self, X: Any) -> Array:
        """Return the number of the most probable cluster of every row of X (n, D), from 1."""
        labels: Array = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of every cluster for the rows of X, (n, K); column j is cluster j + 1.

        X is an array or a DataFrame of features, not standardised. Raises ValueError where it is not finite, or has
        other columns than were fitted.
        """
        features = self._checked(X)
        P = np.empty((len(features), len(self.classes_)))
        for start in range(0, len(features), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            P[rows] = self._votes(features[rows]) if self._is_vote else self._probabilities(features[rows])
        return P

    @property
    def _is_vote(self) -> bool:
        return str(self.arrays["kind"]) == "vote"

    def _probabilities(self, X: Array) -> Array:
        scores = inputs(X, self.arrays) @ self.arrays["weights"] + self.arrays["intercept"]
        scores -= scores.max(axis=1, keepdims=True)
        if self.arrays.get("is_hard", np.array(False)):
            odds: Array = (scores == 0).astype(np.float64)
        else:
            odds = np.exp(scores)
        odds /= odds.sum(axis=1, keepdims=True)
        return odds

    def _votes(self, X: Array) -> Array:
        """Return the shares of the nearest fitted items' votes, by affinity; a fitted item keeps its cluster."""
        Z, points, widths = standardised(X, self.arrays), self.arrays["points"], self.arrays["point_widths"]
        n_voters = min(int(self.arrays["neighbours"]), len(points))
        nearest = np.argsort(squared_distances(Z, points), axis=1, kind="stable")[:, :n_voters]
        squared = np.square(Z[:, None] - points[nearest]).sum(axis=2)
        width = np.maximum(np.sqrt(squared[:, -1:]), 1e-12)
        logs = -squared / (2 * width * widths[nearest])
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights = np.where((squared == 0).any(axis=1, keepdims=True), squared == 0, weights)
        votes = np.zeros((len(X), len(self.classes_)))
        np.add.at(votes, (np.arange(len(X))[:, None], self.arrays["labels"][nearest]), weights)
        votes /= votes.sum(axis=1, keepdims=True)
        return votes

    def _checked(self, X: Any) -> Array:
        names = getattr(X, "columns", None)
        if names is not None and hasattr(self, "feature_names_in_"):
            columns, expected = [str(name) for name in names], self.feature_names_in_.tolist()
            if columns != expected:
                raise ValueError(
                    f"X has the columns {_some(columns)}; the model was fitted to {_some(expected)}, in this order"
                )
        features = np.asarray(X)
        if features.dtype.kind not in "biuf":
            raise ValueError(f"X holds {features.dtype}, not numbers")
        if features.ndim != 2 or features.shape[1] != self.n_features_in_:
            raise ValueError(f"X has the shape {features.shape}; the model takes {self.n_features_in_} numbers a row")
        bad = ~np.isfinite(features)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(f"X row {row}, column {column} is {features[row, column]}: expected a finite number")
        return features


def _some(names: list[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def with_rows_of_items(arrays: Mapping[str, Array], features: Array) -> dict[str, Array]:
    """Return complete arrays: positions of fitted items are replaced by their rows, from the run's features."""
    complete = dict(arrays)
    for name, positions in ROWS_OF_ITEMS.items():
        if positions in complete:
            complete[name] = standardised(features[complete.pop(positions)], arrays)
    return complete


def model_file(
    arrays: Mapping[str, Array], about: Mapping[str, Any], recipe: Mapping[str, Array] | None = None
) -> bytes:
    """Return a complete model, with what its feature recipe learned, as the bytes of an .npz file."""
    out = io.BytesIO()
    header = {"format": FORMAT, "version": VERSION, **about}
    learned = {f"{RECIPE}{name}": array for name, array in (recipe or {}).items()}
    np.savez_compressed(out, about=np.array(json.dumps(header)), **arrays, **learned)  # type: ignore[arg-type]
    return out.getvalue()


def read_model(file: str | Path | BinaryIO) -> ClusterModel:
    """Read what `model_file` wrote; raise ValueError where it is something else. Nothing is ever unpickled."""
    try:
        with np.load(file, allow_pickle=False) as stored:
            arrays = dict(stored) if hasattr(stored, "files") else {}
    except DAMAGED as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"this is not a model file of Tercet: {error}") from error
    try:
        about = json.loads(str(arrays.pop("about")))
    except (KeyError, ValueError) as error:
        raise ValueError("this is not a model file of Tercet: it has no entry 'about'") from error
    if about.get("format") != FORMAT or about.get("version") != VERSION:
        raise ValueError(f"the file is '{about.get('format')}' of version {about.get('version')}; this reads {VERSION}")
    recipe = {name.removeprefix(RECIPE): arrays.pop(name) for name in list(arrays) if name.startswith(RECIPE)}
    return ClusterModel(arrays, about, recipe)
