"""scikit-learn's own checks of every estimator; answers are optional, so they apply as to any clusterer,
and a subclass that answers for itself lets them see fits with answers."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.algorithms.estimators import CHECKED


def expected_to_fail(estimator):
    """Checks that do not hold, each with its reason."""
    if getattr(estimator, "balance", True):
        return {}
    empty = "without answers nothing but the balance keeps a cluster from being empty"
    return {"check_clustering": empty}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(CHECKED, expected_failed_checks=expected_to_fail)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
