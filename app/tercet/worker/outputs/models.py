"""The fitted estimator as plain arrays, with which `tercet.prediction` predicts new items.

DCRC, SKLR and CMBC's mixture all come down to scores that are linear in some inputs, of which the softmax is taken.
Fitted items that the inputs compare new ones with are named by their positions: their rows are in the features anyway.
"""

import numpy as np

from tercet.runs.results import Array
from tercet_algorithms import CMBC, DCRC, SKLR, BagSpectralClustering
from tercet_algorithms.cmbc.coding import make_coding

Model = dict[str, Array]


def model_of_dcrc(model: DCRC) -> Model:
    """Return the scores w_c' phi(x) + b_c."""
    state = model.state_arrays()
    arrays = {name: state[f"{name}_"] for name in ("mean", "scale", "intercept")}
    if "graph_points" in state:
        graph = {"points": state["graph_points"], "vectors": state["graph_vectors"]}
        return {"kind": np.array("graph"), "weights": state["coef_"].T, **graph, **arrays}
    if "kernel_points" not in state:
        return {"kind": np.array("linear"), "weights": state["coef_"].T, **arrays}
    points, basis = state["kernel_points"], state["kernel_basis"]
    if model.kernel == "rff":
        return {"kind": np.array("waves"), "points": points, "phases": basis, "weights": state["coef_"].T, **arrays}
    width = float(state["kernel_gamma"])
    arrays |= {
        "gamma": np.array(1 / points.shape[1] if np.isnan(width) else width),
        "weights": basis @ state["coef_"].T,
    }
    rows = {"points": points} if model.kernel == "nystroem" else {"points_items": np.arange(len(points))}
    return {"kind": np.array("rbf"), **arrays, **rows}


def model_of_sklr(model: SKLR) -> Model:
    """Return the scores of round clusters in the learned space: y_x' c / v - |c|^2 / 2v, without |y_x|^2 / 2v.

    y_x is linear in the kernel values with the base items, so that the whole learned space need not be stored.
    """
    kernel_map, centers = model.map_, model.centers_
    variance = model.variance_ if model.variance_ > 0 else 1.0
    state = kernel_map.to_arrays()
    n_items, references = len(kernel_map.Z), state["references"]
    return {
        "kind": np.array("adaptive"),
        "mean": state["mean"],
        "scale": state["scale"],
        "points_items": kernel_map.base,
        "point_widths": state["base_rows"][:, -1],
        **({"references_items": np.arange(n_items)} if len(references) == n_items else {"references": references}),
        "neighbours": np.array(int(state["bandwidth"][0])),
        "floor": np.array(state["bandwidth"][1]),
        "weights": kernel_map.weights @ model.transformation_ @ centers.T / variance,
        "intercept": -np.square(centers).sum(axis=1) / (2 * variance),
        "is_hard": np.array(model.variance_ <= 0),
    }


def model_of_cmbc(model: CMBC, features: Array) -> Model | None:
    """Return the scores log p(bits | c) of the mixture; None of methods that need the known clusters of new items."""
    if model.method not in ("cmbc", "em"):
        return None
    coding, off = make_coding(features, model.binarize), np.log1p(-model.theta_)
    return {
        "kind": np.array("bits"),
        "mean": np.zeros(features.shape[1]),
        "columns": coding.columns,
        "thresholds": coding.thresholds,
        "weights": (np.log(model.theta_) - off).T,
        "intercept": off.sum(axis=1),
    }


def model_of_bags(model: BagSpectralClustering, mean: Array, scale: Array) -> Model:
    """Return what the nearest fitted items vote with; their features were standardised by this mean and scale."""
    return {
        "kind": np.array("vote"),
        "mean": mean,
        "scale": scale,
        "points_items": np.arange(len(model.labels_)),
        "point_widths": model.sigma_,
        "neighbours": np.array(model.local_k),
        "labels": model.labels_,
    }


def numbered(model: Model, numbers: Array, temperature: float = 1.0) -> Model:
    """Return the model with its clusters, 0 to K - 1, numbered as the result has them; `numbers` (K,) are from 0.

    Its scores are divided by the temperature, as those of the result were.
    """
    changed = {"n_clusters": np.array(len(numbers))}
    order = np.argsort(numbers)
    if "labels" in model:
        changed["labels"] = numbers[model["labels"]]
    else:
        scores = {"weights": model["weights"][:, order], "intercept": model["intercept"][order]}
        changed |= {name: values / temperature for name, values in scores.items()}
    return model | changed
