"""How answers are believed: the weight by what it stands for, and the choice by whose answers they are."""

import numpy as np
import pytest

from tercet_algorithms import DCRC
from tercet_algorithms.answers.patterns import answer_table
from tercet_algorithms.answers.simulated_labelers import noisy_answers, random_triplets, true_answers
from tercet_algorithms.dcrc.belief import BELIEFS
from tests.tercet_algorithms.estimators import SMALL, X, Y, questions

PEOPLE = answer_table("relative", "people")[[3, 2, 0]]  # given the right answers yes, no and dnk
ONE_START = {"n_init": 1, "n_moves": 0, "random_state": 0}


def groups(n_items=300, n_clusters=4, seed=0):
    """Groups that lie well apart, so that answers alone decide how they are believed."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_clusters, size=n_items)
    return 6 * np.eye(n_clusters)[y] + rng.normal(size=(n_items, n_clusters)), y


def asked(y, n_answers, *, people=False, seed=1):
    rng = np.random.default_rng(seed)
    triplets = random_triplets(len(y), n_answers, rng)
    answers = noisy_answers(y, triplets, PEOPLE, rng) if people else true_answers(y, triplets)
    return {"triplets": triplets, "answers": answers}


def test_half_a_weight_of_all_answers_is_half_the_weight_of_each():
    answered = questions(Y, 40)
    halved = DCRC(3, epsilon=0.1, answer_weight=0.5, **ONE_START).fit(X, **answered)
    each = DCRC(3, epsilon=0.1, answer_weight=1.0, **ONE_START).fit(X, **answered, weights=np.full(40, 0.5))
    assert halved.lower_bound_ == pytest.approx(each.lower_bound_, rel=1e-6)
    assert np.allclose(halved.posterior_, each.posterior_, atol=1e-4)


@pytest.mark.parametrize(
    ("parameters", "belief"),
    [
        ({"epsilon": "people"}, ("people", 0.5)),
        ({"epsilon": "people", "answer_weight": 0.8}, ("people", 0.8)),
        ({"epsilon": 0.2}, (0.2, 1.0)),
        ({"epsilon": 0}, (0, 1.0)),
    ],
    ids=str,
)
def test_what_is_set_is_believed(parameters, belief):
    model = DCRC(3, **parameters, **ONE_START).fit(X, **questions(Y, 40))
    assert (model.epsilon_, model.answer_weight_) == belief
    assert np.array_equal(model.answer_table(), answer_table("relative", belief[0]))


def test_right_answers_are_believed_as_such_and_peoples_as_peoples():
    features, y = groups()
    right = DCRC(4, **ONE_START).fit(features, **asked(y, 150))
    people = DCRC(4, **ONE_START).fit(features, **asked(y, 150, people=True))
    assert (right.epsilon_, right.answer_weight_) == BELIEFS[2]
    assert people.epsilon_ == "people"


def test_few_answers_are_believed_as_peoples():
    features, y = groups()
    model = DCRC(4, **ONE_START).fit(features, **asked(y, 5))
    assert (model.epsilon_, model.answer_weight_) == BELIEFS[0]
    model.fit(features)
    assert (model.epsilon_, model.answer_weight_) == BELIEFS[0]


def test_a_weight_that_is_set_is_kept_when_the_table_is_chosen():
    features, y = groups()
    model = DCRC(4, answer_weight=0.7, **ONE_START).fit(features, **asked(y, 150))
    assert (model.epsilon_, model.answer_weight_) == (0.05, 0.7)


@pytest.mark.parametrize("parameters", [{"kernel": "rbf"}, {"use_dnk": False}, {"standardize": False}], ids=str)
def test_the_choice_is_made_in_the_space_of_the_fit(parameters):
    features, y = groups(120, 3)
    model = DCRC(3, **parameters, **SMALL).fit(features, **asked(y, 60))
    assert (model.epsilon_, model.answer_weight_) in BELIEFS


def test_a_warm_start_goes_on_with_what_was_chosen_until_answers_have_doubled():
    features, y = groups()
    right, people = asked(y, 60), asked(y, 260, people=True)
    model = DCRC(4, **ONE_START).fit(features, **right)
    later = DCRC(4, warm_start=True, **ONE_START).set_state_arrays(model.state_arrays())
    few = {name: values[:100] for name, values in people.items()}
    assert later.fit(features, **few).epsilon_ == model.epsilon_ == 0.05
    assert later.fit(features, **people).epsilon_ == "people"


def test_the_state_of_an_older_version_is_a_warm_start_too():
    features, y = groups()
    answered = asked(y, 60)
    arrays = DCRC(4, epsilon=0.05, **ONE_START).fit(features, **answered).state_arrays()
    older = {name: values for name, values in arrays.items() if name not in ("epsilon_", "answer_weight_")}
    model = DCRC(4, warm_start=True, **ONE_START).set_state_arrays(older)
    assert np.array_equal(model.answer_table(), answer_table("relative", "people")), "until a fit chooses"
    assert model.fit(features, **answered).epsilon_ == 0.05


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:DCRC stopped after")
@pytest.mark.parametrize("tables", ["fixed", "learn"])
def test_the_bound_never_drops_with_peoples_table_and_half_the_weight(tables):
    features, y = groups(120, 3)
    answered = asked(y, 120, people=True)
    model = DCRC(3, epsilon="people", labeler_tables=tables, solver="em", tol=1e-9, max_iter=30, **ONE_START)
    model.fit(features + np.random.default_rng(0).normal(scale=3, size=features.shape), **answered)
    bounds = model.lower_bounds_
    assert len(bounds) > 2
    assert (np.diff(bounds) > -1e-5 * np.abs(bounds[1:])).all()
