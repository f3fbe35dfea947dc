"""The constraints on parameters that estimators share, in the form that scikit-learn checks.

Each estimator declares `_parameter_constraints`, a constraint for every parameter; `check_parameters` compares.
Rules that concern several parameters at once stay plain checks of the estimator.
"""

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

Constraint = list[Any]

BOOLEAN: Constraint = ["boolean"]
RANDOM_STATE: Constraint = ["random_state"]
VERBOSE: Constraint = ["verbose"]
N_JOBS: Constraint = [None, Integral]
POSITIVE_INTEGER: Constraint = [Interval(Integral, 1, None, closed="left")]
INTEGER_FROM_0: Constraint = [Interval(Integral, 0, None, closed="left")]
POSITIVE_NUMBER: Constraint = [Interval(Real, 0, None, closed="neither")]
NUMBER_FROM_0: Constraint = [Interval(Real, 0, None, closed="left")]


def one_of(*names: str) -> Constraint:
    """Return the constraint of a parameter that is one of these strings."""
    return [StrOptions(set(names))]


def number_between(low: float, high: float, closed: str) -> Constraint:
    """Return the constraint of a number in an interval; `closed` is "left", "right", "both" or "neither"."""
    return [Interval(Real, low, high, closed=closed)]


def _is_number(constraint: Constraint) -> bool:
    return "boolean" not in constraint and any(isinstance(part, Interval) for part in constraint)


def check_parameters(estimator: Any) -> None:
    """Raise a ValueError that names the first wrong parameter of an estimator, its value and what was expected."""
    parameters = estimator.get_params(deep=False)
    for name, value in parameters.items():  # True is an integer to Python, and so to scikit-learn
        if isinstance(value, bool | np.bool_) and _is_number(estimator._parameter_constraints[name]):
            raise ValueError(f"The {name!r} parameter of {type(estimator).__name__} must not be a bool. Got {value}")
    validate_parameter_constraints(estimator._parameter_constraints, parameters, type(estimator).__name__)
