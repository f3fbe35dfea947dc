"""A run in words, after real runs of every algorithm."""

import pytest

from tercet.catalogue.algorithms import ALGORITHMS
from tercet.database import Database
from tercet.runs import outlook
from tercet.runs.schemas import RunOut
from tercet.runs.sentences import describe
from tercet.settings import Settings
from tercet.storage import Storage
from tests.runs.support import answer_truly, compute, get_run, make_songs, request

# One kind of database is enough: the sentences are made of a run's row.
pytestmark = pytest.mark.only_on("sqlite")

SAID = {
    "dcrc": [
        "DCRC began from nothing and fitted 3 clusters to 60 items and 1 answer.",
        "Its bound, ",
        "log odds divided by 1.5:",
    ],
    "dcrc-cv": ["DCRC chose parameters (epsilon 0.05, tau 1, lam 0.00391) and", "too few answers"],
    "sklr": ["SKLR began from nothing, learned from 1 answer how", "and cut 3 clusters in it.", "Its divergence, "],
    "cmbc": ["CMBC (em) put 60 items into 3 clusters with nothing known to differ from; it read no answers. Confi"],
    "bags": ["Spectral clustering cut 3 clusters by the features of 60 items; it read no answers. Confidence says"],
}
# What needs neither another run nor bag labels.
PARAMETERS = {"cmbc": {"method": "em"}, "bags": {"method": "spectral"}}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_run_says_what_it_did(name: str, database: Database, storage: Storage, settings: Settings) -> None:
    project = make_songs(database, storage, algorithm=name, parameters={"n_init": 1, **PARAMETERS.get(name, {})})
    answer_truly(database, project, 1)
    run_id = request(database, project)
    assert describe(RunOut.of(get_run(database, run_id))) == ""
    assert compute(database, settings) == "done"
    sentences = describe(RunOut.of(get_run(database, run_id)))
    for part in SAID[name]:
        assert part in sentences


def test_a_run_says_what_structure_answers_go_by(database: Database, storage: Storage, settings: Settings) -> None:
    project = make_songs(database, storage, parameters={"n_init": 1, "n_moves": 0, "candidates": "auto"})
    answer_truly(database, project, 30)
    run_id = request(database, project)
    assert compute(database, settings) == "done"
    run = RunOut.of(get_run(database, run_id))
    weights = run.metrics["candidate_weights"]
    assert sum(weights.values()) == pytest.approx(1)
    for weights, sentence in (
        (
            {"features": 0.4, "graph": 0.6},
            "a graph of neighbours predicts answers best here",
        ),
        (
            {"features": 0.4, "sound_measures": 0.6},
            "A model of 33 measurements of each sound alone predicts answers best here, and counts 60%",
        ),
        ({"plugin:pitch": 1.0}, "the plug-in “pitch” alone predicts answers best here"),
        ({"features": 1.0}, ""),
    ):
        said = describe(run.model_copy(update={"metrics": {**run.metrics, "candidate_weights": weights}}))
        assert sentence in said
        assert ("predicts answers best" in said) == bool(sentence)


@pytest.mark.heavy
def test_a_run_with_too_many_clusters_says_so(database: Database, storage: Storage, settings: Settings) -> None:
    """Three clouds in three clusters need no word; in six, answers support fewer, and the run says which are one."""
    said = {}
    for n_clusters in (3, 6):
        key = f"songs-{n_clusters}"
        project = make_songs(database, storage, key=key, parameters={"n_clusters": n_clusters})
        answer_truly(database, project, 200)
        run_id = request(database, project)
        assert compute(database, settings) == "done"
        run = RunOut.of(get_run(database, run_id))
        said[n_clusters] = describe(run)
        supported = run.metrics["clusters_supported"]
        assert sum(len(group) - 1 for group in supported["alike"]) == n_clusters - supported["n_clusters"]
        assert supported["n_clusters"] == 3 if n_clusters == 3 else 3 <= supported["n_clusters"] < 6
    assert "answers so far support" not in said[3]
    assert f"The answers so far support {supported['n_clusters']} clusters, not 6: " in said[6]


@pytest.mark.parametrize(
    ("factor", "said"),
    [(1.0, "1."), (3.24, "3.2."), (41.7, "42."), (1820.0, "1,820."), (5e6, "more than 10,000.")],
)
def test_the_outlook_says_whose_clusters_are_shown_and_how_far_the_fit_is(factor: float, said: str) -> None:
    figures = {"shown": True, "factor": factor, "needed": 10_000.0, "items_as_fitted": 1234}
    sentence = outlook.of_first_clusters({"first_clusters": figures})
    assert "1,234 items are where answers or edits place them" in sentence
    assert "once new answers were 10,000 times as probable" in sentence
    assert sentence.endswith(f"so far the factor is {said}")
    earned = outlook.of_first_clusters({"first_clusters": {**figures, "shown": False, "factor": 12_000.0}})
    assert earned.startswith("From this run on, the clusters shown are those of the fit: new answers were more than")
    assert outlook.of_first_clusters({}) == ""


def test_the_outlook_names_the_clusters_that_seem_to_be_one() -> None:
    supported = {"n_clusters": 4, "alike": [[1, 3], [2, 5, 6]]}
    sentence = outlook.of_supported_clusters({"n_clusters": 7, "clusters_supported": supported})
    assert "support 4 clusters, not 7" in sentence
    assert sentence.endswith("are 1 and 3; 2, 5 and 6.")
    assert outlook.of_supported_clusters({"n_clusters": 4, "clusters_supported": {**supported, "alike": []}}) == ""
    assert outlook.of_supported_clusters({"n_clusters": 4}) == ""
