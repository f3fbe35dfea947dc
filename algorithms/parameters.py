"""Checks of DCRC's parameters, made when a fit begins, as scikit-learn has it."""

from typing import Any

from algorithms.kernels import check_kernel


def check_parameters(model: Any) -> None:
    """Raise ValueError with the name and value of the first parameter that is wrong and what was expected."""
    expected = {
        "n_clusters": (model.n_clusters >= 1, "at least 1"),
        "epsilon": (0 <= model.epsilon < 2 / 3, "in [0, 2/3)"),
        "tau": (model.tau >= 0, "at least 0"),
        "lam": (model.lam >= 0, "at least 0"),
        "n_init": (model.n_init >= 1, "at least 1"),
        "n_moves": (model.n_moves >= 0, "at least 0"),
        "solver": (model.solver in ("profile", "em"), "'profile' or 'em'"),
        "weight": (model.weight in ("balanced", "paper"), "'balanced' or 'paper'"),
        "max_iter": (model.max_iter >= 1, "at least 1"),
        "tol": (model.tol >= 0, "at least 0"),
        "kernel": (check_kernel(model.kernel), "None, 'nystroem', 'rff', a scikit-learn kernel or a callable"),
        "gamma": (model.gamma is None or model.gamma > 0, "None or above 0"),
        "n_components": (model.n_components >= 1, "at least 1"),
        "labeler_tables": (model.labeler_tables in ("fixed", "learn"), "'fixed' or 'learn'"),
        "table_prior": (model.table_prior > 0, "above 0"),
        "bag_epsilon": (0 < model.bag_epsilon < 1 / 2, "in (0, 1/2)"),
    }
    for name, (good, words) in expected.items():
        if not good:
            raise ValueError(f"{name} must be {words}, got {getattr(model, name)!r}")
    if model.labeler_tables == "learn" and model.epsilon == 0:
        raise ValueError("labeler_tables='learn' needs epsilon above 0: hard answers leave nothing to learn")
