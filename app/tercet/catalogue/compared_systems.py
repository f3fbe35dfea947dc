"""The systems that a comparison may include, and the smaller number of starts that it gives each of them."""

from typing import Any

KMEANS = "kmeans"
KMEANS_TITLE = "K-means, the plain baseline"
# Not CMBC: it looks for alternatives, which answers about the current clustering cannot judge.
COMPARED = ("dcrc", "dcrc-cv", "sklr", "bags", KMEANS)
READ_NO_ANSWERS = ("bags", KMEANS)
FOLDS, SEEDS = 5, 3
# With fewer answers a difference between systems would be luck.
LEAST_ANSWERS = 20
# A comparison fits each system eight times, or three where it reads no answers, so each fit has fewer starts than a
# run, at most these.
_AT_MOST: dict[str, dict[str, int]] = {
    "dcrc": {"n_init": 4, "n_moves": 0},
    "dcrc-cv": {"n_init": 2, "n_moves": 0, "cv": 3},
    "sklr": {"n_init": 4},
    "bags": {"n_init": 4},
}


def light_parameters(system: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters with which a comparison fits a system."""
    fewer = {name: min(parameters[name], most) for name, most in _AT_MOST.get(system, {}).items()}
    return {**parameters, **fewer}
