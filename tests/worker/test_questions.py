"""Which questions a run chooses for the queue, and what people's learned tables change."""

from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import select, update

from tercet.database import Database
from tercet.labeling.refill import Demand
from tercet.models import Answer, Project, Role, Source, Triplet
from tercet.settings import Settings
from tercet.storage import Storage
from tercet.worker.fits.outcome import FitOutcome, labeler_table
from tercet.worker.inputs import JobInputs
from tercet.worker.outputs import prequential
from tercet.worker.outputs.questions import choose, mix
from tercet_algorithms.answers.patterns import answer_table
from tercet_algorithms.answers.questions import suggest
from tercet_algorithms.answers.simulated_labelers import random_triplets, true_answers
from tercet_algorithms.dcrc.labeler_tables import LearnedTables
from tests.factories import add_member
from tests.runs.support import NAMES, add_answers, blobs, compute, get_run, make_songs, request

EVERYTHING = np.empty(0, dtype=np.int64)
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
def test_questions_are_those_that_tell_most_whoever_answers(counts: list[int] | None) -> None:
    posterior = np.random.default_rng(0).dirichlet(np.ones(3), size=40).astype(np.float32)
    state = {} if counts is None else learned(CAREFUL, LAZY, counts=counts)
    chosen = choose(
        posterior, inputs_of(40), fit(state, posterior), demand(12), EVERYTHING, np.random.default_rng(0)
    ).triplets
    tables, shares = ([CAREFUL, LAZY], counts) if counts else ([answer_table("relative", 0.05)], [1])
    by_turns, information = suggest(
        posterior,
        np.concatenate([share / sum(shares) * table for share, table in zip(shares, tables, strict=True)], axis=1),
        12,
        X=inputs_of(40).features / inputs_of(40).features.std(axis=0),
        random_state=np.random.default_rng(0),
    )
    assert np.array_equal(chosen, by_turns)
    assert (information.max() < 5e-6) == (counts == [0, 10]), "only people who always say the same tell nothing"


def test_a_share_is_random_and_says_so() -> None:
    chosen, drawn = np.zeros((4000, 3)), np.ones((4000, 3))
    triplets, sources = mix(chosen, drawn, 0.05, np.random.default_rng(0))
    is_random = np.array(sources) == Source.RANDOM
    assert np.array_equal(triplets[:, 0] == 1, is_random)
    assert abs(is_random.mean() - 0.05) < 0.02
    again = mix(chosen, drawn, 0.05, np.random.default_rng(0))
    assert np.array_equal(again.triplets, triplets), "seeded"
    for share, source in ((0.0, Source.INFORMATION), (1.0, Source.RANDOM)):
        assert set(mix(chosen, drawn, share, np.random.default_rng(0)).sources) == {source}


def test_what_is_on_screens_or_was_answered_is_not_chosen() -> None:
    """Five items make 30 questions: 12 answered, 10 on screens or answered since, 8 are left."""
    posterior = np.random.default_rng(0).dirichlet(np.ones(3), size=5)
    every = random_triplets(5, 30, np.random.default_rng(1))
    inputs = replace(inputs_of(5), triplets=every[:12])
    needed = demand(30, pending=inputs.item_ids[every[12:22]])
    triplets = choose(posterior, inputs, fit({}, posterior), needed, EVERYTHING, np.random.default_rng(0)).triplets
    assert set(map(tuple, triplets.tolist())) == set(map(tuple, every[22:].tolist()))


def inputs_of(n_items: int) -> JobInputs:
    """Items with numbers of their own, and no answers."""
    rng = np.random.default_rng(5)
    return JobInputs(
        kind="relative",
        features=rng.normal(size=(n_items, 3)) * [1, 10, 100],
        item_ids=1000 - 3 * np.arange(n_items),
        triplets=np.empty((0, 3), dtype=np.int64),
        answers=np.empty(0, dtype=str),
        labelers=np.empty(0, dtype=np.int64),
        numbers=np.empty(0, dtype=np.int64),
        previous=None,
    )


def demand(count: int, pending: np.ndarray | None = None) -> Demand:
    """So many questions, none of them random."""
    return Demand(count, 0, 0.0, np.empty((0, 3), dtype=np.int64) if pending is None else pending)


@pytest.mark.heavy(but="sqlite")
def test_who_turns_every_answer_round_is_predicted(database: Database, storage: Storage, settings: Settings) -> None:
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


def test_spare_questions_come_behind_the_others_and_repeat_none() -> None:
    posterior = np.random.default_rng(0).dirichlet(np.ones(3), size=40)
    inputs, outcome = inputs_of(40), fit({}, posterior)
    first = choose(posterior, inputs, outcome, demand(8), EVERYTHING, np.random.default_rng(0))
    both = choose(posterior, inputs, outcome, demand(8)._replace(n_spare=20), EVERYTHING, np.random.default_rng(0))
    assert both.triplets[:8].tolist() == first.triplets.tolist()
    assert len(np.unique(both.triplets, axis=0)) == 28


def test_figures_are_of_the_newest_answers_to_random_questions() -> None:
    """Every second answer was drawn; of the newest 200 that were foreseen, the last 40 were foreseen wrongly."""
    right = np.arange(600) < 500
    foreseen = np.where(right[:, None], [0.7, 0.2, 0.1], [0.2, 0.7, 0.1])
    foreseen[-20:] = np.nan
    inputs = replace(inputs_of(40), answers=np.full(600, "yes"), drawn=np.arange(600) % 2 == 0)
    figures = prequential.measure_drawn(inputs, foreseen)
    assert (figures["random_answers"], figures["random_accuracy"]) == (200, 0.8)
    assert figures["random_expected"] == pytest.approx(0.7)
    low, high = figures["random_accuracy_interval"]
    for bound in (low, high):  # Wilson's interval: where the share is 1.96 standard errors of the bound away
        assert abs(0.8 - bound) == pytest.approx(1.96 * np.sqrt(bound * (1 - bound) / 200), rel=1e-3)
    assert prequential.measure_drawn(replace(inputs, drawn=None), foreseen) == {}
    assert prequential.measure_drawn(replace(inputs, drawn=np.zeros(600, dtype=bool)), foreseen) == {
        "random_answers": 0
    }


@pytest.mark.heavy(but="sqlite")
def test_a_run_knows_which_answers_are_to_random_questions(
    database: Database, storage: Storage, settings: Settings
) -> None:
    project = make_songs(database, storage, parameters={})
    y = blobs(60)[1]
    for seed in (1, 2):
        triplets = random_triplets(60, 30, np.random.default_rng(seed))
        with database.transaction() as session:
            add_answers(session, project, triplets, NAMES[true_answers(y, triplets)].tolist())
            drawn = select(Answer.triplet_id).where(Answer.number % 3 == 0).scalar_subquery()
            session.execute(update(Triplet).where(Triplet.id.in_(drawn)).values(source=Source.RANDOM))
        run_id = request(database, project)
        assert compute(database, settings) == "done"
    metrics = get_run(database, run_id).metrics
    assert (metrics["prequential_answers"], metrics["random_answers"]) == (30, 10)
    assert metrics["random_accuracy"] > 0.5
