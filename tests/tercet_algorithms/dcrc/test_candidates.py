"""Candidates of DCRC: their weights, and their pool as one model for new items, warm starts and resumed fits."""

import pickle

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_wine, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from tercet_algorithms import DCRC, FitState
from tercet_algorithms.answers.patterns import answer_table, pattern_probabilities
from tercet_algorithms.answers.reading import read_constraints
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets, true_answers
from tercet_algorithms.common.graph import GraphMap, graph_map, nearest
from tercet_algorithms.dcrc import candidates
from tercet_algorithms.dcrc.candidates import TEMPERATURES, Weighing
from tercet_algorithms.dcrc.pooling import matching, pool
from tercet_algorithms.dcrc.prior_clusters import SURE, beside_clusters, shares_of_wrong
from tercet_algorithms.dcrc.search import WARM


def _moons(n_answers: int) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Two curved classes that no straight border divides, and right answers about them."""
    X, y = make_moons(150, noise=0.06, random_state=0)
    return X, y, _asked(y, n_answers)


def _asked(y: np.ndarray, n_answers: int) -> dict[str, np.ndarray]:
    triplets = random_triplets(len(y), n_answers, np.random.default_rng(0))
    return {"triplets": triplets, "answers": true_answers(y, triplets)}


@pytest.fixture(scope="module")
def fitted() -> DCRC:
    X, _, asked = _moons(60)
    return DCRC(2, epsilon=0.05, candidates="auto", n_init=3, n_moves=1, random_state=0).fit(X, **asked)


def test_curved_classes_go_by_the_graph(fitted: DCRC) -> None:
    X, y, asked = _moons(60)
    weights = fitted.candidate_weights_
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["graph"] > 0.5
    alone = DCRC(2, epsilon=0.05, candidates="features", n_init=3, n_moves=1, random_state=0).fit(X, **asked)
    assert alone.candidate_weights_ == {"features": 1}
    agree, agree_alone = (max(np.mean(model.labels_ == y), np.mean(model.labels_ != y)) for model in (fitted, alone))
    assert agree > agree_alone


def test_unlabelled_bags_change_nothing(fitted: DCRC) -> None:
    X, _, asked = _moons(60)
    bags = {"bags": np.arange(len(X)) // 10, "bag_labels": {}}
    model = clone(fitted).fit(X, **asked, **bags)
    assert np.array_equal(model.posterior_, fitted.posterior_)


def test_copies_know_whether_candidates_were_weighed(fitted: DCRC) -> None:
    X, _, asked = _moons(60)
    alone = DCRC(2, epsilon=0.05, candidates="features", n_init=1, n_moves=0, random_state=0).fit(X, **asked)
    for model in (fitted, alone):
        assert pickle.loads(pickle.dumps(model)).state_arrays().keys() == model.state_arrays().keys()
    assert not any(name.startswith(("candidate", "model", "graph")) for name in alone.state_arrays())


def test_pool_is_the_model_of_new_items(fitted: DCRC) -> None:
    X, _, _ = _moons(60)
    free = np.setdiff1d(np.arange(len(X)), fitted.constrained_)
    assert np.allclose(fitted.predict_proba(X[free]), fitted.posterior_[free], atol=1e-4)
    loaded = DCRC(2).set_state_arrays(fitted.state_arrays())
    assert np.array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.candidate_weights_ == fitted.candidate_weights_


def test_warm_start_keeps_the_graph_and_what_was_left_out() -> None:
    X, _, asked = _moons(110)
    some = {name: values[:100] for name, values in asked.items()}
    model = DCRC(2, epsilon=0.05, candidates="auto", n_init=2, n_moves=0, warm_start=True, random_state=0).fit(
        X, **some
    )
    weights, vectors = model.candidate_weights_, model.state_arrays()["graph_vectors"]
    model.fit(X, **asked)
    assert model.candidate_weights_ == weights == {"graph": 1}
    assert model.state_arrays()["graph_vectors"] is vectors


def test_resumed_fit_ends_as_if_it_had_run_through() -> None:
    """Also from within the second search, where two candidates learn from answers."""
    X, y = make_blobs(100, centers=3, cluster_std=3, random_state=1)
    asked = _asked(y, 60)
    states: list[FitState] = []
    model = DCRC(3, epsilon=0.05, candidates="auto", n_init=2, n_moves=1, random_state=0)
    model.fit(X, **asked, callback=states.append)
    assert min(model.candidate_weights_["features"], model.candidate_weights_["graph"]) > 0
    fractions = [state.fraction for state in states]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    second = next(state for state in states if state.chains is not None and state.chains.best is not None)
    for state in (states[0], second, states[-1]):
        stored = FitState.from_arrays(state.to_arrays())
        resumed = clone(model).fit(X, **asked, resume=stored)
        assert np.array_equal(resumed.posterior_, model.posterior_)


def _weighed() -> tuple[DCRC, np.ndarray, dict[str, np.ndarray]]:
    """A fit of 60 answers that gives weight to both candidates, and ten answers more."""
    X, y = make_blobs(100, centers=3, cluster_std=3, random_state=1)
    asked = _asked(y, 70)
    model = DCRC(3, epsilon=0.05, candidates="auto", n_init=2, n_moves=1, warm_start=True, random_state=0)
    return model.fit(X, **{name: values[:60] for name, values in asked.items()}), X, asked


def test_a_warm_start_weighs_candidates_by_what_they_foresaw_of_new_answers() -> None:
    model, X, asked = _weighed()
    arrays = model.state_arrays()
    seen = GraphMap.from_arrays(arrays).transform((X - arrays["mean_"]) / arrays["scale_"])
    new, columns = asked["triplets"][60:], np.array([2, 0, 1])[asked["answers"][60:]]
    foreseen = []
    everything = np.arange(seen.shape[1])
    no_eigenvectors = np.delete(everything, np.s_[2 : len(everything) - arrays["graph_others"]])
    for number, columns_seen in enumerate((no_eigenvectors, everything)):
        W = arrays[f"model_{number}"]
        scores = seen[:, columns_seen] @ W[:, :-1].T + W[:, -1]
        chances = [
            pattern_probabilities(softmax(scores / temperature, axis=1), new) @ answer_table("relative", 0.05)
            for temperature in TEMPERATURES
        ]
        foreseen.append([np.log(chance[np.arange(10), columns]).sum() for chance in chances])
    earlier = arrays["candidate_tables"] * 60 / 70
    tables = np.concatenate([earlier, np.array(foreseen)[:, None]], axis=1)
    expected = Weighing(("features", "graph"), tables, 60).by_name()
    tables[:, :-1] = arrays["candidate_tables"]
    alike = Weighing(("features", "graph"), tables, 60).by_name()
    before = model.candidate_weights_
    assert expected["graph"] != pytest.approx(before["graph"], abs=0.001)
    assert expected["graph"] != pytest.approx(alike["graph"], abs=0.01)
    assert model.fit(X, **asked).candidate_weights_ == pytest.approx(expected)
    assert model.fit(X, **asked).candidate_weights_ == pytest.approx(expected), "no answer counts twice"


def test_what_was_foreseen_from_few_answers_gives_way() -> None:
    """The graph foresaw a hundred answers better, by twenty nats; from then on the features do, by one nat for ten."""
    flat = np.zeros(len(TEMPERATURES))
    tables = np.array([[flat], [flat + 20]])
    weighing, lead = Weighing(("features", "graph"), tables, 100, np.zeros((100, 3), dtype=np.int64)), 20.0
    while weighing.by_name()["graph"] > 0.5:
        before = len(weighing.asked)
        weighing = weighing.with_answers(np.array([flat + 1, flat]), np.zeros((10, 3), dtype=np.int64))
        lead = lead * before / (before + 10) - 1
        foreseen = weighing.tables.sum(axis=1)
        assert foreseen[1] - foreseen[0] == pytest.approx(lead)
    assert len(weighing.asked) == 210, "280 if all counted alike"


def test_a_candidate_that_counts_less_makes_fewer_starts_and_moves() -> None:
    model, X, asked = _weighed()
    states: list[FitState] = []
    model.set_params(n_init=3, n_moves=9).fit(X, **asked, callback=states.append)
    weights = model.candidate_weights_
    assert weights["graph"] > weights["features"] > 0
    kinds = {state.chains.best is None: state.start_kinds.tolist() for state in states if state.chains is not None}
    of_features, of_graph = kinds[True], kinds[False]
    assert of_features[0] == of_graph[0] == WARM
    assert 1 <= len(of_features) < len(of_graph) == 3 + 9


def test_a_wrong_answer_does_not_make_clusters_worse_than_without_any() -> None:
    """Few answers are read beside the clusters of K-means."""
    X, y = make_blobs(90, centers=3, random_state=1)
    asked = _asked(y, 12)
    wrong = {**asked, "answers": -asked["answers"]}
    indices = {}
    for choice in ("auto", "features"):
        model = DCRC(3, epsilon="people", candidates=choice, n_init=4, n_moves=2, random_state=0)
        indices[choice] = adjusted_rand_score(y, model.fit(X, **wrong).labels_)
    assert indices["auto"] > 0.95 > 0.9 > indices["features"]


def test_a_model_beside_prior_clusters_is_one_of_new_items_too() -> None:
    X, _, asked = _moons(9)
    model = DCRC(2, candidates="auto", n_init=2, n_moves=0, warm_start=True, random_state=0).fit(X, **asked)
    assert model.candidate_weights_ == {"features": 1}
    free = np.setdiff1d(np.arange(len(X)), model.constrained_)
    assert np.allclose(model.predict_proba(X[free]), model.posterior_[free], atol=1e-4)
    loaded = DCRC(2, candidates="auto", warm_start=True, n_init=2, n_moves=0).set_state_arrays(model.state_arrays())
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for count in (12, 40, 9):  # goes on beside others, without them, and beside them again
        answers = {name: values[:count] for name, values in _moons(60)[2].items()}
        assert loaded.fit(X, **answers).predict_proba(X).shape == (len(X), 2)


@pytest.mark.heavy
def test_few_answers_are_read_beside_clusters_of_any_shape() -> None:
    """Stretched classes beside each other: K-means cuts across them, and twenty answers do not tell enough."""
    indices = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y = np.arange(180) % 3
        X = rng.normal(size=(180, 2)) * [6, 0.5] + np.outer(y, [1, 4])
        triplets = random_triplets(len(y), 20, rng)
        asked = {"triplets": triplets, "answers": true_answers(y, triplets)}
        fits = [DCRC(3, candidates=choice, n_init=3, n_moves=1, random_state=0) for choice in ("auto", "features")]
        indices.append([adjusted_rand_score(y, model.fit(X, **asked).labels_) for model in fits])
    beside, alone = np.mean(indices, axis=0)
    assert beside > 0.95 > 0.9 > alone


def test_too_few_items_for_the_shapes_of_clusters_have_no_mixture() -> None:
    X, y = make_blobs(59, n_features=2, centers=3, random_state=1)
    asked = _asked(y, 20)
    widths = []
    for n_items in (59, 60):
        rows = np.concatenate([X, X[:1]])[:n_items]
        answers = read_constraints(**asked, n_items=n_items)
        widths.append(beside_clusters(graph_map(rows, 2), 3, rows, answers, 0.05, 0).n_others)
    assert widths == [6, 9]


def test_clusters_of_outliers_are_no_prior() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[:2] = [999, 999], [-999, 0]
    answers = read_constraints(**_asked(np.arange(60) % 3, 5), n_items=60)
    wide = beside_clusters(graph_map(X, 2), 3, X, answers, 0.05, 0)
    assert wide.n_others == 3, "those of the graph alone: K-means has found two outliers"
    two = np.repeat([[0.0], [9.0]], [58, 2], axis=0)
    assert beside_clusters(graph_map(two, 1), 2, two, answers, 0.05, 0).without_eigenvectors() is None


def test_a_candidate_that_is_left_out_is_no_part_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "LEAST_WEIGHT", 0.5)
    X = np.random.default_rng(0).normal(size=(150, 2))
    model = DCRC(2, epsilon=0.05, candidates="auto", n_init=2, n_moves=0, random_state=0)
    model.fit(X, **_asked((X[:, 0] > 0).astype(int), 80))
    assert model.candidate_weights_ == {"features": 1}
    assert model.coef_.shape == (2, 2 + model.state_arrays().get("graph_others", 0)), "without eigenvectors"
    assert np.mean(model.predict(X) == model.labels_) > 0.9


def test_answers_tell_how_many_items_a_clustering_has_wrong() -> None:
    y = np.random.default_rng(0).integers(3, size=300)
    answers = read_constraints(**_asked(y, 400), n_items=300)
    for n_wrong in (0, 90, 180):
        moved = np.where(np.arange(300) < n_wrong, np.random.default_rng(1).integers(1, 3, size=300), 0)
        shares, chances = shares_of_wrong((y + moved) % 3, 3, answers, 0.05)
        assert chances @ shares == pytest.approx(n_wrong / 300, abs=0.06)


def test_columns_of_clusters_that_answers_agree_with() -> None:
    """They are as large as the log odds; clusters that have nothing to do with the answers are no columns."""
    X, y = make_blobs(120, centers=3, random_state=1)
    graph = graph_map(X, 6)
    right = read_constraints(**_asked(y, 60), n_items=120)
    wide = beside_clusters(graph, 3, X, right, 0.05, SURE)
    assert wide.n_others == 9, "K-means, spectral clustering and normal distributions, three clusters each"
    shares, chances = shares_of_wrong(y, 3, right, 0.05)
    wrong = chances @ shares
    assert wide.vectors.max() == pytest.approx(np.log((1 - wrong) / wrong * 2))
    others = read_constraints(**_asked(np.random.default_rng(0).permutation(y), 60), n_items=120)
    assert beside_clusters(graph, 3, X, others, 0.05, SURE) is graph


def test_people_do_not_lead_away_from_clusters_that_most_answers_agree_with() -> None:
    """K-means has an index of 0.90 on this set, and 50 answers, of which people err in some, cannot tell better."""
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(3)
    triplets = random_triplets(len(y), 50, rng)
    asked = {"triplets": triplets, "answers": noisy_answers(y, triplets, TABLE_IV, rng)}
    model = DCRC(3, epsilon="people", n_init=3, n_moves=1, warm_start=True, random_state=0).fit(X, **asked)
    without = DCRC(3, epsilon="people", n_init=3, n_moves=1, candidates="features", random_state=0).fit(X, **asked)
    assert adjusted_rand_score(y, model.labels_) > 0.9 > adjusted_rand_score(y, without.labels_)
    loaded = DCRC(3, epsilon="people", n_init=1, n_moves=0, warm_start=True).set_state_arrays(model.state_arrays())
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    n_others = model.state_arrays()["graph_others"]
    again = loaded.fit(X, **asked)
    assert again.state_arrays()["graph_others"] == n_others > 0
    assert again.lower_bound_ >= model.lower_bound_ - 1e-6


def test_eigenvectors_are_harmonic_and_equal_rows_are_alike() -> None:
    Z = np.random.default_rng(0).normal(size=(80, 3))
    graph = graph_map(Z, 5)
    assert np.array_equal(graph.transform(Z[:7]), graph.transform(Z)[:7])
    assert np.array_equal(graph.transform(Z)[:, :3], Z)
    assert all(row in neighbours for row, neighbours in enumerate(nearest(Z, Z)))
    far_off = Z + 1e7
    assert np.array_equal(np.sort(nearest(far_off, far_off)), np.sort(nearest(Z, Z)))


def test_pool_of_renumbered_models_is_the_model() -> None:
    rng = np.random.default_rng(0)
    W, X = 3 * rng.normal(size=(4, 6)), np.column_stack([rng.normal(size=(50, 5)), np.ones(50)])
    order = rng.permutation(4)
    assert np.array_equal(matching(W[order], W, X), np.argsort(order))
    pooled, _ = pool({"first": W, "second": W[order]}, {"first": 0.3, "second": 0.7}, X)
    assert np.allclose(pooled, W)


def _grouped(n_items: int = 120) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Three classes that two columns show, beside four columns of far wider groups that know nothing of them."""
    rng = np.random.default_rng(0)
    y, others = rng.integers(3, size=(2, n_items))
    X = np.column_stack([2 * np.eye(3)[y][:, :2], 9 * np.eye(4)[others]]) + rng.normal(scale=0.5, size=(n_items, 6))
    return X, y, ["shape", "shape", *["colour"] * 4]


def test_the_group_of_features_that_shows_the_classes_counts_most() -> None:
    X, y, groups = _grouped()
    model = DCRC(3, epsilon=0.05, candidates="auto", feature_groups=groups, n_init=3, n_moves=1, standardize=False)
    model.set_params(random_state=0).fit(X, **_asked(y, 40))
    weights = model.candidate_weights_
    assert len(weights) <= 2
    assert sum(weights.values()) == pytest.approx(1)
    assert weights["shape"] == max(weights.values())
    loaded = DCRC(3).set_state_arrays(model.state_arrays())
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.heavy
def test_warm_starts_go_on_from_each_group() -> None:
    X, y, groups = _grouped()
    asked = _asked(y, 100)
    model = DCRC(3, epsilon=0.05, candidates="auto", feature_groups=groups, n_init=2, n_moves=1, random_state=0)
    model.set_params(warm_start=True)
    for count in (0, 40, 50, 100):  # none are weighed, they are chosen, kept, and chosen anew
        model.fit(X, **{name: values[:count] for name, values in asked.items()})
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_features_alone_where_one_group_has_all_columns() -> None:
    X, y, _ = _grouped()
    model = DCRC(3, epsilon=0.05, n_init=1, n_moves=0, random_state=0, candidates="auto").fit(X, **_asked(y, 40))
    grouped = clone(model).set_params(feature_groups=["all"] * 6).fit(X, **_asked(y, 40))
    assert np.array_equal(model.posterior_, grouped.posterior_)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a", "b"], "must name the group of each of the 6 columns"),
        ([1, 2, 3, 4, 5, 6], "must name the group of each of the 6 columns"),
        (["a", "a", "a", "a", "a", "graph"], "a group 'graph': that is the name of another candidate"),
    ],
)
def test_groups_that_are_none(groups: list[object], message: str) -> None:
    X, _, _ = _grouped()
    with pytest.raises(ValueError, match=message):
        DCRC(3, feature_groups=groups, n_init=1, n_moves=0).fit(X)


def test_weights_by_brute_force() -> None:
    """Each part of the answers is judged at the temperature that is best for all others; features have a head start."""
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(2, 4, len(TEMPERATURES)))
    evidence = []
    for table in tables:
        total = 0.0
        for part in range(4):
            others = [sum(table[other, t] for other in range(4) if other != part) for t in range(len(TEMPERATURES))]
            total += table[part, others.index(max(others))]
        evidence.append(total)
    odds = np.e * np.exp((evidence[0] - evidence[1]) / 2)
    assert Weighing(("features", "graph"), tables, 4).by_name() == pytest.approx(
        {"features": odds / (1 + odds), "graph": 1 / (1 + odds)}
    )


def test_one_candidate_alone_is_what_it_is_without_others() -> None:
    """Whatever temperature predicts answers best: it is relative to that of the heaviest candidate."""
    table = np.zeros((1, 3, len(TEMPERATURES)))
    table[..., -1] = 1
    assert Weighing(("features",), table, 3).shares(["features"]) == {"features": 1}
    earlier = Weighing(("features",), table, 3).to_arrays()
    del earlier["candidate_asked"]  # which fits have not always kept
    assert Weighing.from_arrays(earlier).are_new(np.zeros((2, 3), np.int64)).all()
    far_behind = np.concatenate([table, table - 99])
    assert Weighing(("features", "graph"), far_behind, 3).without_light().names == ("features",)
