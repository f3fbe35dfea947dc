"""scikit-learn's own checks of every estimator, those of data frames, column names and `set_output` among them.

Answers are optional, so the checks apply as to any clusterer; a subclass that answers for itself lets them see fits
with answers.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from tercet_algorithms import CMBC, DCRC, DCRCCV, SKLR, BagSpectralClustering
from tests.tercet_algorithms.estimators import CHECKED, CHECKED_TOO, SKLR_SMALL, SMALL, X, Y, questions

pytestmark = pytest.mark.uncounted

ALL = [
    DCRC(3, **SMALL),
    DCRCCV(3, **SMALL, tau=1.0, lam=2**-8, epsilon=0.05),
    SKLR(3, **SKLR_SMALL),
    CMBC(2, n_init=1),
    BagSpectralClustering(3, n_init=2),
]
# Not among the checks that `parametrize_with_checks` makes of estimators from other packages.
FURTHER = [
    estimator_checks.check_n_features_in_after_fitting,
    estimator_checks.check_dataframe_column_names_consistency,
    estimator_checks.check_param_validation,
]
OF_TRANSFORMERS = [
    estimator_checks.check_transformer_get_feature_names_out,
    estimator_checks.check_transformer_get_feature_names_out_pandas,
    estimator_checks.check_set_output_transform,
    estimator_checks.check_set_output_transform_pandas,
    estimator_checks.check_global_output_transform_pandas,
]


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


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(CHECKED_TOO, expected_failed_checks=expected_to_fail)
def test_scikit_learn_checks_of_variants(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("check", FURTHER, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", ALL, ids=lambda estimator: type(estimator).__name__)
def test_column_names_and_parameters(estimator, check):
    check(type(estimator).__name__, estimator)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("check", OF_TRANSFORMERS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", [model for model in ALL if hasattr(model, "transform")], ids=str)
def test_set_output_and_names_of_transformers(estimator, check):
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", ALL[:3], ids=lambda estimator: type(estimator).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_answers_may_name_the_rows_of_a_data_frame(estimator):
    estimator.set_params(random_state=0)
    answered = questions(Y, 30)
    labels = estimator.fit(X, **answered).labels_
    names = np.array([f"item {number}" for number in range(len(X))])
    frame = pd.DataFrame(X, index=names, columns=[f"feature {number}" for number in range(X.shape[1])])
    named = {**answered, "triplets": names[answered["triplets"]]}
    assert np.array_equal(estimator.fit(frame, **named).labels_, labels)
    assert estimator.score(frame, **named) == estimator.score(frame, **answered)
    shuffled = frame.sample(frac=1, random_state=0)
    assert estimator.score(shuffled, **named) == estimator.score(frame, **answered), "names stay with their items"
    assert np.array_equal(
        estimator.predict_answers(frame, named["triplets"]), estimator.predict_answers(frame, answered["triplets"])
    )
    with pytest.raises(ValueError, match="must be in the same order"):
        estimator.predict(frame[frame.columns[::-1]])
    assert not hasattr(estimator.fit(X, **answered), "feature_names_in_")
