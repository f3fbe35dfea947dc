"""What people's learned tables change: the questions worth asking, and the answers that are foretold."""

import numpy as np
import pytest
from sqlalchemy import update

from tercet.database import Database
from tercet.models import Answer, Project, Role
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.fits.outcome import FitOutcome, labeler_table
from tercet.worker.outputs.questions import informative
from tercet_algorithms.answers.patterns import answer_table, expected_information
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tercet_algorithms.dcrc.labeler_tables import LearnedTables
from tests.factories import add_member
from tests.runs.support import NAMES, add_answers, blobs, compute, get_run, make_songs, request

CAREFUL, LAZY = answer_table("relative", 0.1), np.tile([0.05, 0.05, 0.9], (5, 1))


def learned(*tables: np.ndarray, counts: list[int]) -> dict[str, np.ndarray]:
    """The state of a fit that learned these tables of people 1, 2, ..."""
    padded = np.pad(np.stack(tables), ((0, 0), (0, 0), (0, 1)))
    names, kinds = tuple(range(1, len(tables) + 1)), np.zeros(len(tables), dtype=np.int64)
    return LearnedTables(names, kinds, padded, np.array(counts), np.full((2, 5), 0.2)).to_arrays()


def fit(state: dict[str, np.ndarray], posterior: np.ndarray) -> FitOutcome:
    return FitOutcome(
        labels=posterior.argmax(axis=1),
        posterior=posterior,
        state=state,
        lower_bound=0.0,
        n_iter=1,
        converged=True,
        warm_start=False,
        searched_answers=0,
        epsilon=0.05,
    )


def test_a_table_is_the_persons_own_or_the_mean_by_answers() -> None:
    state = learned(CAREFUL, LAZY, counts=[30, 10])
    mean = 0.75 * CAREFUL + 0.25 * LAZY
    for labeler, expected in ((1, CAREFUL), (2, LAZY), (3, mean)):
        np.testing.assert_allclose(labeler_table(state, "relative", 0.05, labeler), expected)
    np.testing.assert_array_equal(labeler_table({}, "relative", 0.05, 1), answer_table("relative", 0.05))
    np.testing.assert_array_equal(labeler_table(state, "outlier", 0.05, 1), answer_table("outlier", 0.05))


@pytest.mark.parametrize("counts", [None, [30, 10], [0, 10]])
def test_a_question_is_worth_the_mean_of_what_each_would_tell(counts: list[int] | None) -> None:
    posterior = np.random.default_rng(0).dirichlet(np.ones(3), size=40).astype(np.float32)
    state = {} if counts is None else learned(CAREFUL, LAZY, counts=counts)
    triplets, scores = informative(posterior, "relative", fit(state, posterior), np.random.default_rng(0))
    tables, shares = ([CAREFUL, LAZY], counts) if counts else ([answer_table("relative", 0.05)], [1])
    told = [expected_information(posterior, triplets, table) for table in tables]
    np.testing.assert_allclose(scores, np.average(told, axis=0, weights=shares), atol=2e-6)
    assert (scores.max() < 5e-6) == (counts == [0, 10]), "only people who always say the same tell nothing"


def test_who_turns_every_answer_round_is_foretold(database: Database, storage: Storage, settings: Settings) -> None:
    project = make_songs(
        database, storage, parameters={"labeler_tables": "learn", "epsilon": 0.2, "n_init": 4, "n_moves": 2}
    )
    triplets = random_triplets(60, 300, np.random.default_rng(3))
    right = true_answers(blobs(60)[1], triplets)
    turned = np.arange(300) % 2 == 0
    values = NAMES[np.where(turned, -right, right)]
    with database.transaction() as session:
        liar = add_member(session, session.get_one(Project, project), Role.LABELER).id
    for rows in (slice(0, 240), slice(240, 300)):
        with database.transaction() as session:
            add_answers(session, project, triplets[rows], values[rows].tolist())
            session.execute(update(Answer).where(Answer.number % 2 == 1).values(labeler_id=liar))
        run_id = request(database, project)
        assert compute(database, settings) == "done"
    metrics = get_run(database, run_id).metrics
    assert metrics["prequential_answers"] == 60
    assert metrics["prequential_accuracy"] > 0.9, "0.85 if they were taken to answer like the others"
