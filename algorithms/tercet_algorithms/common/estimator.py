"""What all estimators of this package have in common: parameters declared as fields, and their check.

Estimators are dataclasses, so that each parameter is named once, with its type and default. What scikit-learn asks of
an `__init__` holds by itself: it does nothing but store its arguments, unchanged.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from tercet_algorithms.common.parameters import N_JOBS, RANDOM_STATE, VERBOSE, Constraint, check_parameters


# Compared by identity and printed as scikit-learn prints estimators.
@dataclass(eq=False, repr=False, kw_only=True)
class Estimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Base of the estimators; subclasses add their parameters as fields, and a constraint for each."""

    n_jobs: int | None = None
    verbose: int | bool = False
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Constraint | str]] = {
        "n_jobs": N_JOBS,
        "verbose": VERBOSE,
        "random_state": RANDOM_STATE,
    }

    def _check_parameters(self) -> None:
        """Raise ValueError naming the first wrong parameter; subclasses add rules that concern several at once."""
        check_parameters(self)
