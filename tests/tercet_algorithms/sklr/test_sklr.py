"""SKLR as its users meet it: one learned kernel, clusters of any number, and the answers that it doubts."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_kernels, roc_auc_score

from tercet_algorithms import SKLR, LearningState
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets
from tercet_algorithms.common.kernel_kmeans import eigengap, soft_assignments, within_variance
from tercet_algorithms.sklr.dual import DualProblem
from tests.tercet_algorithms.callbacks import StopAt
from tests.tercet_algorithms.estimators import hidden, questions, through_npz

X, Y = hidden(90, seed=0)


def fitted(n=90, kind="relative", **parameters):
    return SKLR(3, **{"n_init": 3, "random_state": 0, **parameters}).fit(X, **questions(Y, n, 0, kind))


def cross_answers(n, flipped, seed):
    """Outlier answers about 30 of the items, a share of them wrong; and which are."""
    rng = np.random.default_rng(seed)
    pool, triplets = rng.choice(len(X), 30, replace=False), []
    while len(triplets) < n:
        a, b, c = rng.choice(pool, 3, replace=False)
        if Y[a] == Y[b] != Y[c]:
            triplets.append((a, b, c))
    wrong = rng.random(n) < flipped
    return np.array(triplets), np.where(wrong, rng.integers(1, 3, n), 3), wrong


# --- what is learned ---


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["relative", "outlier"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"C": np.inf},
        {"mapping": "strict"},
        {"solver": "projection"},
        {"solver": "paper"},
        {"low_rank": "cholesky"},
        {"low_rank": "nystroem", "max_rank": 60},
        {"kernel": "rbf"},
    ],
    ids=str,
)
def test_answers_find_classes_that_features_do_not_show(parameters, kind):
    without, with_them = SKLR(3, random_state=0, **parameters).fit(X), fitted(kind=kind, **parameters)
    assert adjusted_rand_score(Y, without.labels_) < 0.5
    assert adjusted_rand_score(Y, with_them.labels_) > 0.95


@pytest.mark.parametrize(("solver", "tol"), [("newton", 1e-6), ("projection", 2e-3)])
def test_hard_answers_hold_and_the_trace_is_the_rank(solver, tol):
    model = fitted(n=25, C=np.inf, solver=solver, tol=tol)
    trace = np.square(model.transformation_).sum()
    assert model.converged_
    assert model.violations_.max() <= tol
    assert trace == pytest.approx(model.rank_, rel=10 * tol)
    assert model.divergence_ == pytest.approx(model.lower_bound_, rel=10 * tol)
    assert model.rank_ == model.embedding_.shape[1] == np.linalg.matrix_rank(model.embedding_)


def test_distances_in_the_learned_space_are_as_the_answers_say():
    model = fitted(n=40, kind="outlier", C=np.inf, tol=1e-6)
    for a, b, e, equal in model.constraints_.keys:
        near, far = (np.square(model.embedding_[a] - model.embedding_[i]).sum() for i in (b, e))
        if equal:
            assert near == pytest.approx(far, rel=1e-4)
        else:
            assert 2 * near <= far * (1 + 1e-4)


def test_the_order_of_the_answers_and_of_projections_is_no_matter():
    answered = questions(Y, 60)
    order = np.random.default_rng(0).permutation(60)
    turned = {name: value if isinstance(value, str) else value[order] for name, value in answered.items()}
    ordered = SKLR(3, solver="projection", tol=1e-6, random_state=0).fit(X, **answered)
    permuted = SKLR(3, solver="projection", tol=1e-6, random_state=1).fit(X, **turned)
    K = [model.embedding_ @ model.embedding_.T for model in (ordered, permuted)]
    assert np.linalg.norm(K[0] - K[1]) < 1e-3 * np.linalg.norm(K[0])
    np.testing.assert_allclose(ordered.dual_coef_[order], permuted.dual_coef_, atol=1e-3)


def test_links_pull_together_and_apart():
    rng = np.random.default_rng(0)
    pairs = rng.choice(90, size=(120, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    alike = Y[pairs[:, 0]] == Y[pairs[:, 1]]
    model = SKLR(3, random_state=0).fit(X, must_link=pairs[alike], cannot_link=pairs[~alike])
    assert adjusted_rand_score(Y, model.labels_) > 0.9
    assert model.dual_coef_.shape == (0,)


def test_weights_say_whom_to_believe():
    triplets, answers = [(0, 1, 2)] * 2, [2, 3]
    for weights, believed in (([5, 1], 0), ([1, 5], 1)):
        model = SKLR(2, C=0.5, random_state=0).fit(
            X, triplets=triplets, answers=answers, kinds="outlier", weights=weights
        )
        assert model.suspect_answers_[0] == 1 - believed
        assert model.violations_[believed] < model.violations_[1 - believed]


def test_an_answer_of_weight_0_counts_as_not_given():
    answered = questions(Y, 40)
    more = {"triplets": np.concatenate([answered["triplets"], [[0, 1, 2], [3, 4, 5]]]), "kinds": "relative"}
    more["answers"] = np.append(answered["answers"], [1, -1])
    for C in (1.0, np.inf):
        plain = SKLR(3, C=C, random_state=0).fit(X, **answered)
        weighted = SKLR(3, C=C, random_state=0).fit(X, **more, weights=[1] * 40 + [0, 0])
        np.testing.assert_array_equal(weighted.embedding_, plain.embedding_)
        np.testing.assert_array_equal(weighted.posterior_, plain.posterior_)
        assert weighted.dual_coef_[40:].tolist() == weighted.suspicion_[40:].tolist() == [0, 0]


def test_score_is_the_share_of_held_out_answers_that_hold():
    model = fitted(60)
    held_out = questions(Y, 100, seed=7)
    assert model.score(X, **held_out) == 1
    flipped = {**held_out, "answers": np.where(np.arange(100) < 25, -held_out["answers"], held_out["answers"])}
    is_flipped = (np.arange(100) < 25) & (held_out["answers"] != 0)
    assert model.score(X, **flipped) == pytest.approx(1 - is_flipped.mean())
    assert model.score(X, **flipped, weights=~is_flipped) == 1


def test_several_jobs_find_the_same_clusters(capsys):
    serial, parallel = fitted(60), fitted(60, n_jobs=2, verbose=1)
    np.testing.assert_array_equal(serial.posterior_, parallel.posterior_)
    np.testing.assert_array_equal(serial.cluster(5), parallel.cluster(5))
    assert capsys.readouterr().out.count("done, iteration") == parallel.n_iter_


def test_columns_of_the_learned_space_have_names():
    model = fitted()
    assert model.get_feature_names_out().tolist() == [f"sklr{column}" for column in range(model.rank_)]
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"feature {column}" for column in range(X.shape[1])])
    model = SKLR(3, n_init=2, random_state=0).fit(frame, **questions(Y, 30)).set_output(transform="pandas")
    assert model.transform(frame).columns.tolist() == model.get_feature_names_out().tolist()
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.transform(frame[frame.columns[::-1]])


# --- answers that are wrong ---


def test_wrong_answers_stand_out():
    aucs = []
    for seed in range(4):
        triplets, answers, wrong = cross_answers(150, 0.15, seed)
        model = SKLR(3, n_init=2, random_state=0).fit(X, triplets=triplets, answers=answers, kinds="outlier")
        assert model.feasible_
        aucs.append(roc_auc_score(wrong, model.suspicion_))
        suspects = model.suspect_answers_[: wrong.sum()]
        assert wrong[suspects].mean() > 3 * wrong.mean()
        assert (np.diff(model.suspicion_[model.suspect_answers_]) <= 0).all()
    assert np.mean(aucs) > 0.9


def test_soft_answers_survive_mistakes_that_leave_no_hard_kernel():
    scores = []
    for seed in range(3):
        triplets, answers, _ = cross_answers(150, 0.2, seed)
        model = SKLR(3, n_init=3, random_state=0).fit(X, triplets=triplets, answers=answers, kinds="outlier")
        scores.append(adjusted_rand_score(Y, model.labels_))
    assert np.mean(scores) > 0.8


@pytest.mark.parametrize("solver", ["newton", "projection", "paper"])
def test_contradictory_hard_answers_are_said_and_named(solver):
    triplets, answers = [(0, 1, 2), (3, 4, 5), (0, 1, 2), (6, 7, 8)], [1, 3, 2, 3]
    with pytest.warns(ConvergenceWarning, match=r"rows (0, 2|2, 0) \(see"):
        model = SKLR(3, C=np.inf, solver=solver, random_state=0).fit(
            X, triplets=triplets, answers=answers, kinds="outlier"
        )
    assert not model.feasible_
    assert sorted(model.suspect_answers_) == [0, 2]
    assert np.isfinite(model.embedding_).all()
    distances = np.linalg.norm(model.embedding_[[0, 0, 1]] - model.embedding_[[1, 2, 2]], axis=1)
    assert distances.min() > 0.1  # the kernel has not collapsed on the pair


@pytest.mark.parametrize("solver", ["newton", "projection", "paper"])
@pytest.mark.parametrize("max_iter", [1, 2])
def test_contradictory_hard_answers_leave_no_collapsed_kernel_where_iterations_run_out(solver, max_iter):
    """After ten sweeps the distances of a contradiction are thousandths, long before one can be sure of it."""
    triplets, answers, wrong = cross_answers(150, 0.05, 1)
    assert wrong.any()
    with pytest.warns(ConvergenceWarning, match="contradict each other"):
        model = SKLR(3, C=np.inf, solver=solver, max_iter=max_iter, random_state=0).fit(
            X, triplets=triplets, answers=answers, kinds="outlier"
        )
    soft = SKLR(3, random_state=0).fit(X, triplets=triplets, answers=answers, kinds="outlier")
    assert not model.feasible_
    assert model.converged_
    assert model.divergence_ == pytest.approx(soft.divergence_, rel=1e-2)


def test_answers_about_items_with_the_same_features():
    twins = np.concatenate([X, X[:1]])
    answered = {"triplets": [(1, 2, 3), (0, 1, 90)], "answers": [3, 3], "kinds": "outlier"}
    with pytest.raises(ValueError, match=r"rows \[1\].*same features"):
        SKLR(3, C=np.inf).fit(twins, **answered)
    soft = SKLR(3, random_state=0).fit(twins, **answered)
    assert soft.dual_coef_[1] == 0
    assert soft.suspect_answers_.tolist() == [1]
    assert soft.converged_


# --- one fit, many clusterings ---


def test_one_fit_gives_clusters_at_every_resolution():
    points, fine = make_blobs(120, n_features=4, centers=6, cluster_std=1.0, random_state=3)
    coarse = fine % 2
    rows = [questions(labels, 250, seed, "outlier") for seed, labels in enumerate((fine, coarse))]
    triplets = np.concatenate([part["triplets"] for part in rows])
    answers = np.concatenate([part["answers"] for part in rows])
    informative = answers != 0  # "all alike or all different" of one clustering is wrong in the other
    model = SKLR(6, random_state=0).fit(
        points, triplets=triplets[informative], answers=answers[informative], kinds="outlier"
    )
    before = model.labels_.copy()
    assert adjusted_rand_score(fine, model.cluster(6)) > 0.9
    assert adjusted_rand_score(coarse, model.cluster(2)) > 0.9
    assert (model.cluster(1) == 0).all()
    np.testing.assert_array_equal(model.labels_, before)
    with pytest.raises(ValueError, match="from 1 to 120"):
        model.cluster(121)


def test_the_eigengap_is_at_the_number_of_clusters():
    assert fitted(kind="outlier").suggest_n_clusters() == 3
    rng = np.random.default_rng(0)
    for n_clusters in (2, 3, 5, 8):
        centers = np.eye(20)[np.arange(240) % n_clusters]
        assert eigengap(10 * centers + rng.normal(size=centers.shape), 30) == n_clusters


def test_columns_of_the_embedding_are_principal_axes():
    model = fitted()
    centred = model.embedding_ - model.embedding_.mean(axis=0)
    scatter = centred.T @ centred
    assert np.abs(scatter - np.diag(np.diag(scatter))).max() < 1e-8
    assert (np.diff(np.diag(scatter)) <= 1e-8).all()
    first = model.map_.Z - model.map_.Z.mean(axis=0)
    np.testing.assert_allclose(first @ model.transformation_, centred, atol=1e-9)


def test_posteriors_are_those_of_round_clusters_and_agree_with_the_labels():
    model = fitted(n=15)
    np.testing.assert_array_equal(model.labels_, model.posterior_.argmax(axis=1))
    centers = np.array([[0.0, 0.0], [2.0, 0.0]])
    p = soft_assignments(np.array([[0.5, 7.0], [1.0, 0.0]]), centers, 0.5)
    np.testing.assert_allclose(p[:, 0], [1 / (1 + np.exp(-2)), 0.5])
    assert soft_assignments(np.array([[0.5, 7.0]]), centers, 0.0).tolist() == [[1, 0]]


def test_the_variance_between_centroids_is_estimated_without_the_other_directions():
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0, 0], [4.0, 0, 0]])
    points = centers[rng.integers(2, size=4000)] + rng.normal(size=(4000, 3)) * [1.5, 9.0, 0.1]
    assert within_variance(points, centers) == pytest.approx(1.5**2, rel=0.1)


def test_confidence_is_honest_where_clusters_overlap():
    points, y = make_blobs(600, n_features=3, centers=[[0, 0, 0], [3, 0, 0]], cluster_std=1.0, random_state=0)
    model = SKLR(2, kernel="linear", standardize=False, random_state=0).fit(points)
    accuracy = max(np.mean(model.labels_ == y), np.mean(model.labels_ != y))
    assert model.posterior_.max(axis=1).mean() == pytest.approx(accuracy, abs=0.03)


# --- new items, other processes, later answers ---


@pytest.mark.parametrize("low_rank", ["eigen", "cholesky", "nystroem"])
def test_fitted_items_have_the_same_place_when_met_again(low_rank):
    model = fitted(low_rank=low_rank, max_rank=60)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_states_of_older_versions_can_be_read():
    """These have the mean of the first kernel's diagonal, 1 for the adaptive one, and no weights of kernel values."""
    model = fitted(low_rank="cholesky")
    older = {**model.state_arrays(), "unit": np.array(1.0)}
    del older["weights"]
    loaded = SKLR(3).set_state_arrays(older)
    np.testing.assert_allclose(loaded.transform(X), model.transform(X), atol=1e-4)


def test_new_items_join_their_class():
    points, y = hidden(200, seed=0)
    model = SKLR(3, random_state=0).fit(points[:120], **questions(y[:120], 120))
    assert adjusted_rand_score(y[120:], model.predict(points[120:])) > 0.9
    held_out = questions(y[120:], 200, seed=1)
    chances = model.predict_answers(points[120:], held_out["triplets"])
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert model.score_answers(points[120:], **held_out) > np.log(0.8)


def test_a_given_kernel_is_the_same_as_computing_it_inside():
    K = pairwise_kernels(X, metric="rbf", gamma=1 / X.shape[1])
    answered = questions(Y, 60)
    inside = SKLR(3, kernel="rbf", standardize=False, random_state=0).fit(X, **answered)
    for factor in (1.0, 7.0):  # the scale of a kernel does not matter
        outside = SKLR(3, kernel="precomputed", random_state=0).fit(factor * K, **answered)
        np.testing.assert_allclose(outside.dual_coef_, inside.dual_coef_, atol=1e-3)
        np.testing.assert_array_equal(outside.predict(factor * K[:9]), outside.labels_[:9])
        assert adjusted_rand_score(inside.labels_, outside.labels_) == 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["newton", "projection", "paper"])
def test_a_resumed_fit_ends_like_one_that_ran_through(solver, tmp_path):
    answered = questions(Y, 60, kind="outlier")
    states = []
    model = SKLR(3, solver=solver, tol=1e-6, max_iter=20, random_state=0)
    straight = model.fit(X, **answered, callback=states.append)
    bounds = [state.lower_bound for state in states]
    assert straight.n_iter_ == len(states) == states[-1].iteration
    assert states[-1].done
    assert states[-1].fraction == 1
    if solver != "paper":
        assert (np.diff(bounds) >= -1e-9).all()
    state = LearningState.from_arrays(through_npz(states[0].to_arrays(), tmp_path))
    lam = straight.lam_
    resumed = SKLR(3, solver=solver, tol=1e-6, max_iter=20, random_state=0).fit(X, **answered, resume=state)
    np.testing.assert_allclose(resumed.lam_, lam, atol=1e-9)
    assert resumed.n_iter_ == straight.n_iter_
    other = {**answered, "answers": np.roll(answered["answers"], 1)}
    for features, labelled in ((X, questions(Y, 50)), (X + 1e-6, answered), (X, other)):
        with pytest.raises(ValueError, match="state of another fit"):
            model.fit(features, **labelled, resume=state)
    with pytest.raises(ValueError, match="state of another fit"):
        SKLR(3, gamma=3.0, solver=solver, tol=1e-6).fit(X, **answered, resume=state)
    with pytest.raises(ValueError, match="resume must be a LearningState"):
        model.fit(X, **answered, resume=state.to_arrays())


@pytest.mark.parametrize("kernel", ["adaptive", "rbf"])
def test_where_items_lie_changes_nothing(kernel):
    answered = questions(Y, 60)
    reference = SKLR(3, kernel=kernel, standardize=False, random_state=0).fit(X, **answered)
    moved = SKLR(3, kernel=kernel, standardize=False, random_state=0).fit(X + 1e7, **answered)
    np.testing.assert_allclose(moved.lam_, reference.lam_, atol=1e-2)
    assert adjusted_rand_score(reference.labels_, moved.labels_) == 1
    np.testing.assert_array_equal(moved.predict(X + 1e7), moved.labels_)
    small = SKLR(3, kernel="adaptive", random_state=0).fit(1e-13 * X, **answered)
    assert adjusted_rand_score(Y, small.labels_) > 0.8


def test_no_more_dimensions_than_300_are_taken_of_many_items_unasked():
    points = np.random.default_rng(0).normal(size=(520, 40))
    assert SKLR(2, n_init=1, rank=1.0, random_state=0).fit(points[:500]).rank_ <= 500
    assert SKLR(2, n_init=1, rank=1.0, random_state=0).fit(points).rank_ == 300
    assert SKLR(2, n_init=1, low_rank="eigen", rank=1.0, random_state=0).fit(points).rank_ > 500


def test_a_callback_stops_with_what_was_learned():
    model = SKLR(3, tol=1e-9, random_state=0).fit(X, **questions(Y, 60), callback=StopAt())
    assert model.n_iter_ == 1
    assert not model.converged_
    assert adjusted_rand_score(Y, model.labels_) > 0.8


def test_a_warm_refit_in_another_process_ends_where_a_cold_one_does(tmp_path):
    few, many = questions(Y, 60), questions(Y, 80)
    first = SKLR(3, C=np.inf, n_neighbors=10, tol=1e-7, random_state=0).fit(X, **few)
    arrays = through_npz(first.state_arrays(), tmp_path)
    loaded = SKLR(3, C=np.inf, n_neighbors=10, tol=1e-7, n_init=1, warm_start=True, random_state=0).set_state_arrays(
        arrays
    )
    np.testing.assert_array_equal(loaded.embedding_, first.embedding_)
    np.testing.assert_array_equal(loaded.cluster(5), first.set_params(n_init=1).cluster(5))
    warm = loaded.fit(X, **many)
    assert warm.converged_
    assert warm.feasible_
    cold = SKLR(3, C=np.inf, n_neighbors=10, tol=1e-7, random_state=0).fit(X, **many)
    np.testing.assert_allclose(warm.embedding_ @ warm.embedding_.T, cold.embedding_ @ cold.embedding_.T, atol=1e-5)
    assert adjusted_rand_score(warm.labels_, cold.labels_) == 1
    assert warm.n_iter_ <= cold.n_iter_
    assert loaded.fit(X, **many).n_iter_ == 1  # nothing new, nothing to do


def test_a_warm_refit_begins_with_the_kernel_that_it_has(monkeypatch):
    answered = questions(Y, 60)
    model = SKLR(3, n_neighbors=10, tol=1e-7, warm_start=True, random_state=0).fit(X, **answered)
    looked_at = []
    value = DualProblem.value
    monkeypatch.setattr(DualProblem, "value", lambda posed, lam: looked_at.append(lam) or value(posed, lam))
    model.fit(X, **answered)
    assert len(looked_at) == 1, "the kernel at the end, whose factor is kept; that at the beginning is known"
    kernel = model.embedding_ @ model.embedding_.T
    model.set_params(gamma=3.0).fit(X, **answered)
    changed = SKLR(3, gamma=3.0, n_neighbors=10, tol=1e-7, random_state=0).fit(X, **answered)
    np.testing.assert_allclose(
        model.embedding_ @ model.embedding_.T, changed.embedding_ @ changed.embedding_.T, atol=1e-5
    )
    assert np.abs(model.embedding_ @ model.embedding_.T - kernel).max() > 1e-3


def test_without_answers_there_is_the_first_kernel_and_nothing_to_say(capfd):
    model = SKLR(3, n_neighbors=10, warm_start=True, random_state=0).fit(X)
    first = model.embedding_ @ model.embedding_.T
    model.fit(X).fit(X, **questions(Y, 5)).fit(X)
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, first, atol=1e-9)
    assert capfd.readouterr() == ("", "")


def test_a_warm_start_survives_withdrawn_answers_new_items_and_other_clusters():
    points, y = hidden(120, seed=0)
    model = SKLR(3, warm_start=True, random_state=0).fit(points[:90], **questions(y[:90], 60))
    model.fit(points, **questions(y[:90], 40))
    assert adjusted_rand_score(y, model.labels_) > 0.9
    model.set_params(n_clusters=5).fit(points, **questions(y, 40, seed=3))
    assert set(model.labels_) == set(range(5))


# --- edges ---


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"gamma": 1.0}, "'gamma' parameter"),
        ({"C": 0}, "'C' parameter"),
        ({"rank": 1.5}, "'rank' parameter"),
        ({"solver": "admm"}, "'solver' parameter .*'newton'"),
        ({"mapping": "loose"}, "'mapping' parameter"),
        ({"low_rank": "qr"}, "'low_rank' parameter"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter"),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    with pytest.raises(ValueError, match=words):
        SKLR(3, **parameters).fit(X)


def test_bad_kernels_are_refused():
    with pytest.raises(ValueError, match=r"shape \(N, N\)"):
        SKLR(3, kernel="precomputed").fit(X)
    lopsided = np.eye(5)
    lopsided[1, 3] = 0.5
    with pytest.raises(ValueError, match="symmetric"):
        SKLR(2, kernel="precomputed").fit(lopsided)
    with pytest.raises(ValueError, match="no positive"):
        SKLR(2, kernel="precomputed").fit(np.zeros((5, 5)))


def test_too_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match="1 iterations"):
        model = SKLR(3, max_iter=1, tol=1e-12, random_state=0).fit(X, **questions(Y, 90))
    assert not model.converged_


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_constant_features_give_finite_clusters():
    model = SKLR(2, random_state=0).fit(np.ones((20, 2)), triplets=[(0, 1, 2)], answers=["yes"])
    assert np.isfinite(model.posterior_).all()


def test_the_posterior_is_as_sure_as_held_out_answers_bear_out() -> None:
    """On overlapping classes, answers that the fit never saw are predicted better than by clusters unwidened."""
    gains = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = rng.integers(4, size=200)
        X = rng.normal(size=(4, 10))[y] * 1.2 + rng.normal(size=(200, 10))
        triplets = random_triplets(200, 600, rng)
        answers = noisy_answers(y, triplets, TABLE_IV, rng)
        model = SKLR(4, random_state=seed).fit(X, triplets=triplets[:300], answers=answers[:300])
        widened = model.score_answers(X, triplets[300:], answers[300:])
        model.variance_ = within_variance(model.embedding_, model.centers_)
        gains.append(widened - model.score_answers(X, triplets[300:], answers[300:]))
    assert np.mean(gains) > 0.05
    assert min(gains) > -0.01
