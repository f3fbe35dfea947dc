"""What runs leave to predict with agrees with their estimators, and with the clusters that they stored."""

import io
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons

import tercet
from tercet.database import Database
from tercet.models import FeatureSet, Project, Run
from tercet.prediction.model import ClusterModel, model_file, read_model, with_rows_of_items
from tercet.runs import results
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.outputs.models import model_of_dcrc
from tercet_algorithms import DCRC
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tests.runs.support import answer_truly, compute, get_run, make_songs, request
from tests.worker.test_other_systems import make_bagged

# One kind of database is enough: models are files.
pytestmark = pytest.mark.only_on("sqlite")

FEW = {"n_init": 2}


def model_of(database: Database, storage: Storage, run: Run) -> tuple[ClusterModel, results.Result, np.ndarray]:
    """Give the model as its file holds it, the stored result, and the features."""
    assert run.result is not None, run.error
    with database.reading() as session:
        features = np.array(storage.memory_map(session.get_one(FeatureSet, run.feature_set_id).blob))
    arrays = results.load_model_arrays(storage, run.result)
    assert arrays is not None
    loaded = read_model(io.BytesIO(model_file(with_rows_of_items(arrays, features), {"run": run.number})))
    return loaded, results.load(storage, run.result), features


CASES = {
    "linear": ("dcrc", {"transductive": False}),
    "rbf": ("dcrc", {"kernel": "rbf", "transductive": False}),
    "rbf of a width": ("dcrc", {"kernel": "rbf", "gamma": 0.05, "transductive": False}),
    "nystroem": ("dcrc", {"kernel": "nystroem", "n_components": 30, "transductive": False}),
    "waves": ("dcrc", {"kernel": "rff", "n_components": 80, "transductive": False}),
    "cross-validated": ("dcrc-cv", {"transductive": False}),
    "SKLR": ("sklr", {}),
    "SKLR by Cholesky": ("sklr", {"low_rank": "cholesky"}),
    "SKLR by Nystroem": ("sklr", {"low_rank": "nystroem", "max_rank": 40}),
    "mixture of bits": ("cmbc", {"method": "em"}),
}


@pytest.mark.heavy(but="linear")
@pytest.mark.parametrize("case", CASES)
def test_fitted_items_keep_their_clusters(database: Database, storage: Storage, settings: Settings, case: str) -> None:
    algorithm, parameters = CASES[case]
    project = make_songs(database, storage, parameters={})
    answer_truly(database, project, 30)
    for seed in (1, 2):  # the second run takes the numbers of the first
        run_id = request(database, project, algorithm=algorithm, parameters={**FEW, **parameters, "random_state": seed})
        assert compute(database, settings) == "done", get_run(database, run_id).error
        model, result, features = model_of(database, storage, get_run(database, run_id))
        np.testing.assert_array_equal(model.predict(features), result.labels)
        if algorithm == "sklr" or algorithm == "cmbc":  # DCRC's posterior knows the answers too
            np.testing.assert_allclose(model.predict_proba(features), result.posterior, atol=1e-4)


def test_graph_of_neighbours() -> None:
    X, y = make_moons(150, noise=0.06, random_state=0)
    rng = np.random.default_rng(0)
    triplets = random_triplets(len(X), 60, rng)
    fitted = DCRC(2, epsilon=0.05, candidates="auto", n_init=2, n_moves=0, random_state=0)
    fitted.fit(X, triplets=triplets, answers=true_answers(y, triplets))
    arrays = {**model_of_dcrc(fitted), "n_clusters": np.array(2)}
    assert str(arrays["kind"]) == "graph"
    model = read_model(io.BytesIO(model_file(arrays, {"run": 1})))
    near = X + 0.01
    np.testing.assert_allclose(model.predict_proba(near), fitted.predict_proba(near), atol=1e-6)


@pytest.mark.heavy
def test_numbers_follow_the_run_before(database: Database, storage: Storage, settings: Settings) -> None:
    """A run that is given other numbers than its estimator's predicts these."""
    project = make_songs(database, storage, parameters={})
    answer_truly(database, project, 30)
    first = request(database, project, parameters=FEW)
    compute(database, settings)
    run = get_run(database, first)
    assert run.result is not None
    result = results.load(storage, run.result)
    turned = results.Result(result.labels % 3 + 1, result.confidence, np.roll(result.posterior, 1, axis=1))
    results.save(storage, run, turned, results.coordinates(storage, run.result))
    second = request(database, project, parameters={**FEW, "transductive": False})
    compute(database, settings)
    model, after, features = model_of(database, storage, get_run(database, second))
    assert (after.labels == turned.labels).mean() > 0.8
    np.testing.assert_array_equal(model.predict(features), after.labels)


def test_answers_decide_about_their_own_items_alone(database: Database, storage: Storage, settings: Settings) -> None:
    project = make_songs(database, storage, n=200, parameters={})
    answer_truly(database, project, 20)
    run_id = request(database, project, parameters=FEW)
    compute(database, settings)
    model, result, features = model_of(database, storage, get_run(database, run_id))
    with database.reading() as session:
        from tests.prediction.asked import positions_asked

        never = np.setdiff1d(np.arange(200), positions_asked(session, session.get_one(Project, project)))
    assert len(never) > 100
    np.testing.assert_array_equal(model.predict(features)[never], result.labels[never])
    np.testing.assert_allclose(model.predict_proba(features)[never], result.posterior[never], atol=1e-4)


def test_bags(database: Database, storage: Storage, settings: Settings) -> None:
    project, _ = make_bagged(database, storage, "bags")
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    model, result, features = model_of(database, storage, get_run(database, run_id))
    np.testing.assert_array_equal(model.predict(features), result.labels)
    near = features + 1e-9 * features.std(axis=0)
    assert (model.predict(near) == result.labels).mean() > 0.8
    np.testing.assert_allclose(model.predict_proba(near).sum(axis=1), 1)


def test_what_a_model_refuses() -> None:
    arrays = {
        "kind": np.array("linear"),
        "mean": np.zeros(2),
        "scale": np.ones(2),
        "weights": np.array([[1.0, -1.0], [0.0, 0.0]]),
        "intercept": np.zeros(2),
        "n_clusters": np.array(2),
        "feature_names": np.array(["pitch", "length"]),
    }
    model = tercet.load_model(io.BytesIO(model_file(arrays, {"run": 3})))
    assert model.about_["run"] == 3
    assert model.feature_names_in_.tolist() == ["pitch", "length"]
    assert model.predict([[2, 0], [-2, 0]]).tolist() == [1, 2]
    np.testing.assert_allclose(model.predict_proba([[0.5, 9]]), [[1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))]])
    assert model.predict(pd.DataFrame({"pitch": [2.0], "length": [0.0]})).tolist() == [1]
    assert model.predict(np.empty((0, 2))).tolist() == []
    with pytest.raises(ValueError, match="has the columns length, pitch; the model was fitted to pitch, length"):
        model.predict(pd.DataFrame({"length": [2.0], "pitch": [0.0]}))
    with pytest.raises(ValueError, match=r"shape \(1, 3\); the model takes 2 numbers a row"):
        model.predict([[1, 2, 3]])
    with pytest.raises(ValueError, match="row 1, column 0 is nan"):
        model.predict([[1, 2], [np.nan, 2]])
    with pytest.raises(ValueError, match="not numbers"):
        model.predict([["a", "b"]])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\x03\x04 no zip",
        pickle.dumps({"a": 1}),
        b"\x93NUMPY\x01\x00v\x00" + b" " * 200,
        b"\x93NUMPY\x01\0\x06\0\0\0\0'''",
    ],
)
def test_files_that_are_no_models(content: bytes) -> None:
    with pytest.raises(ValueError, match="not a model file"):
        read_model(io.BytesIO(content))


def test_other_arrays_and_newer_models_are_no_models(tmp_path: object) -> None:
    out = io.BytesIO()
    np.savez(out, X=np.eye(2))
    with pytest.raises(ValueError, match="no entry 'about'"):
        read_model(io.BytesIO(out.getvalue()))
    with pytest.raises(ValueError, match="of version 9"):
        read_model(io.BytesIO(model_file({"mean": np.zeros(1)}, {"version": 9})))
    with pytest.raises(FileNotFoundError):
        read_model("no such file.npz")
