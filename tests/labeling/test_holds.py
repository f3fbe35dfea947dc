"""Who is held: what speed, keys and answers show of labelers by chance, and of labelers who look."""

import uuid
from itertools import permutations

import numpy as np
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.labeling import decisions, holds
from tercet.labeling.service import ConstraintRow, store_constraints
from tercet.models import Answer, Decision, Item, Project, Role, User, Verdict
from tercet.runs.queries import lock_project
from tests.factories import add_member, make_project

ONE_KEY = "25 of the newest 25 answers that decide are the same key, whatever was on its side."
FORESEEN = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.1, 0.3], [0.2, 0.2, 0.6]])


def test_answers_in_any_order_tell_nothing_on_average() -> None:
    slopes = [holds.dependence(FORESEEN, np.array(order)).slope for order in permutations([0, 0, 1, 2, 2])]
    assert np.mean(slopes) == pytest.approx(0, abs=1e-12)
    as_foreseen = holds.dependence(FORESEEN, FORESEEN.argmax(axis=1)).slope
    assert max(slopes) == pytest.approx(as_foreseen)


def test_the_slope_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(2)
    foreseen, columns = rng.dirichlet(np.ones(3), 50), rng.integers(3, size=50)
    y = np.eye(3)[columns] - np.bincount(columns, minlength=3) / 50
    x = foreseen - foreseen.mean(axis=0)
    expected = np.linalg.lstsq(x.reshape(-1, 1), y.ravel(), rcond=None)[0]
    assert holds.dependence(foreseen, columns).slope == pytest.approx(float(expected[0]))
    assert holds.dependence(np.full_like(foreseen, 1 / 3), columns).error == np.inf


def crowd(n_each: int, seed: int, chances: tuple[float, float] = (0.2, 1.0)) -> tuple[np.ndarray, ...]:
    """Four people and number 4, who answer by chance as often as the two chances say, and else as foreseen."""
    rng = np.random.default_rng(seed)
    labelers = np.repeat(np.arange(5), n_each)
    right = rng.integers(3, size=len(labelers))
    by_chance = rng.random(len(labelers)) < np.where(labelers == 4, chances[1], chances[0])
    columns = np.where(by_chance, rng.integers(3, size=len(labelers)), right)
    return labelers, 0.1 + 0.7 * np.eye(3)[right], columns


@pytest.mark.parametrize("seed", range(20))
def test_only_who_answers_by_chance_is_uninformed(seed: int) -> None:
    labelers, foreseen, columns = crowd(100, seed)
    assert list(holds.uninformed(labelers, foreseen, columns)) == [4]
    foreseen[labelers == 4] = np.nan
    assert holds.uninformed(labelers, foreseen, columns) == {}, "nothing was expected of these answers"


def test_who_may_be_below_half_by_bad_luck_is_not_uninformed() -> None:
    """Forty answers of somebody half as careful as others, in half of all samples below that: most prove nothing."""
    below_half = held = 0
    for seed in range(40):
        labelers, foreseen, columns = crowd(40, seed, chances=(0.5, 0.75))
        slopes = [holds.dependence(foreseen[who], columns[who]).slope for who in (labelers == 4, labelers != 4)]
        below_half += slopes[0] < slopes[1] / 2
        held += bool(holds.uninformed(labelers, foreseen, columns))
    assert below_half > 15
    assert held < below_half / 2


def test_nobody_is_uninformed_where_few_answered_or_runs_expect_nothing() -> None:
    labelers, foreseen, columns = crowd(39, 0)
    assert holds.uninformed(labelers, foreseen, columns) == {}
    labelers, foreseen, columns = crowd(60, 0)
    assert holds.uninformed(labelers, np.full_like(foreseen, 1 / 3), columns) == {}
    assert holds.uninformed(np.zeros_like(labelers), foreseen, columns) == {}, (
        "one person alone is compared with nobody"
    )


@pytest.mark.parametrize(
    ("pressed", "milliseconds", "reason"),
    [
        (["yes", "no"] * 20, [1500] * 40, None),
        (["yes", "no"] * 20, [300] * 20 + [900] * 20, "20 of the newest 40 answers took less than half a second."),
        (["yes", "no"] * 20, [300] * 19 + [900] * 21, None),
        (["yes", "no"] * 9, [300] * 18, None),
        (
            ["yes"] * 25,
            [900] * 25,
            "25 of the newest 25 answers that decide are the same key, whatever was on its side.",
        ),
        (["yes"] * 24, [900] * 24, None),
        (["dnk"] * 40, [900] * 40, None),
        ([], [], None),
    ],
)
def test_signs_in_speed_and_keys(pressed: list[str], milliseconds: list[int], reason: str | None) -> None:
    assert holds.careless(pressed, milliseconds) == reason


def answer(session: Session, project: Project, labeler: User, count: int, milliseconds: int | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    items = session.scalars(select(Item.id).where(Item.project_id == project.id)).all()
    rows = []
    for row in range(count):
        anchor, left, right = (int(item) for item in rng.choice(items, 3, replace=False))
        value = str(rng.choice(["yes", "no"]))
        rows.append(ConstraintRow(row + 1, uuid.uuid4(), (anchor, left, right), value, labeler.id, milliseconds))
    store_constraints(session, project, rows)


def counting(database: Database, labeler: User) -> int:
    with database.reading() as session:
        return len(session.scalars(select(Answer.id).where(Answer.labeler_id == labeler.id, Answer.counts)).all())


@pytest.fixture
def crowded(database: Database) -> tuple[Project, User, User, User]:
    """A project with two labelers, one of them too fast, and an analyst."""
    with database.transaction() as session:
        project = make_project(session, n_items=30, redundancy=9)
        ada, bob = (add_member(session, project, Role.LABELER, name) for name in ("Ada", "Bob"))
        answer(session, project, ada, 30, 2500, 1)
        answer(session, project, bob, 30, 250, 2)
        answer(session, project, bob, 5, None, 3)
        return project, ada, bob, add_member(session, project, Role.ANALYST, "Ann")


def check(database: Database, project: Project, *people: User) -> dict[int, str]:
    holds.check(database, project.id, [person.id for person in people], {})
    with database.reading() as session:
        return holds.reasons_by_labeler(session, project.id)


def test_who_is_too_fast_is_held_until_an_analyst_looks(
    database: Database, crowded: tuple[Project, User, User, User]
) -> None:
    project, ada, bob, _ = crowded
    held = check(database, project, ada, bob)
    assert held == {bob.id: "30 of the newest 30 answers took less than half a second."}
    assert (counting(database, ada), counting(database, bob)) == (30, 5), "what a program sent counts"
    with database.transaction() as session:
        answer(session, session.get_one(Project, project.id), bob, 4, 3000, 4)
    holds.extend(database, project.id)
    assert counting(database, bob) == 5, "later answers are held with the others"
    assert check(database, project, ada, bob) == held
    with database.reading() as session:
        [decision] = session.scalars(select(Decision)).all()
        assert (decision.verdict, decision.answers, decision.by_id) == (Verdict.HELD, 34, None)


def decide(database: Database, verdict: Verdict, project: Project, labeler: User, analyst: User) -> None:
    """Decide about all answers of a labeler, as the answers page does."""
    with database.transaction() as session:
        locked = lock_project(session, project.id)
        decision = decisions.log(session, locked, verdict, labeler.id, analyst.id, "")
        decisions.apply_to_some(session, locked, decision)


def test_who_was_put_back_is_not_held_again(database: Database, crowded: tuple[Project, User, User, User]) -> None:
    project, _, bob, ann = crowded
    check(database, project, bob)
    decide(database, Verdict.PUT_BACK, project, bob, ann)
    assert counting(database, bob) == 35
    assert check(database, project, bob) == {}
    holds.extend(database, project.id)
    assert counting(database, bob) == 35


def test_an_analyst_who_agrees_sets_aside_what_is_held(
    database: Database, crowded: tuple[Project, User, User, User]
) -> None:
    project, _, bob, ann = crowded
    check(database, project, bob)
    decide(database, Verdict.SET_ASIDE, project, bob, ann)
    with database.transaction() as session:
        assert holds.reasons_by_labeler(session, project.id) == {}
        answer(session, session.get_one(Project, project.id), bob, 30, 250, 5)
    assert counting(database, bob) == 30, "what comes after the decision counts"
    assert list(check(database, project, bob)) == [bob.id], "until it shows the same sign"


def test_an_answer_put_back_alone_is_not_held_again(
    database: Database, crowded: tuple[Project, User, User, User]
) -> None:
    project, _, bob, _ = crowded
    check(database, project, bob)
    with database.transaction() as session:
        on_hold = session.scalars(select(Answer).where(Answer.labeler_id == bob.id, ~Answer.counts)).first()
        assert on_hold is not None
        on_hold.set_aside_id = None
    holds.extend(database, project.id)
    assert counting(database, bob) == 6
