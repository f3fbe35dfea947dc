"""What a comparison may compare and how lightly each system is fitted in it; read by the web process too."""

from typing import Any

KMEANS = "kmeans"
KMEANS_TITLE = "K-means, the plain baseline"
# Other clusterings by the purpose of CMBC cannot be judged by answers about the one that is wanted.
COMPARED = ("dcrc", "dcrc-cv", "sklr", "bags", KMEANS)
READ_NO_ANSWERS = ("bags", KMEANS)
FOLDS, SEEDS = 5, 3
# With fewer answers a difference between systems is luck.
LEAST_ANSWERS = 20
# A comparison makes eight fits of each system, so each has fewer starts than a run, at most these.
_AT_MOST: dict[str, dict[str, int]] = {
    "dcrc": {"n_init": 4, "n_moves": 0},
    "dcrc-cv": {"n_init": 2, "n_moves": 0, "cv": 3},
    "sklr": {"n_init": 4},
    "bags": {"n_init": 4},
}


def lightly(system: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Give the parameters with which a system is fitted in a comparison."""
    fewer = {name: min(parameters[name], most) for name, most in _AT_MOST.get(system, {}).items()}
    return {**parameters, **fewer}
