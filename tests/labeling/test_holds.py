"""Who is held: what speed, keys and answers show of labelers by chance, and of labelers who look."""

import uuid

import numpy as np
import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.accounts.access import Action, Caller, authorize
from tercet.answers import service
from tercet.database import Database
from tercet.labeling import decisions, holds
from tercet.labeling.service import ConstraintRow, store_constraints
from tercet.models import Answer, Decision, Item, Project, Role, User, Verdict
from tercet.runs.queries import lock_project
from tercet.runs.results import LabelerReport
from tests.factories import add_member, make_project, make_token

ONE_KEY = "25 of the newest 25 answers that decide are the same key, whatever was on its side."


def labeler_report(labeler: int, doubt: float | None) -> LabelerReport:
    return LabelerReport(labeler, 40, 30, 0.5, None, None, doubt=doubt)


def test_only_who_hardly_depends_on_the_items_is_uninformed() -> None:
    reports = [labeler_report(1, None), labeler_report(2, 0.1), labeler_report(3, 0.89), labeler_report(4, 0.97)]
    [(labeler, reason)] = holds.uninformed(reports).items()
    assert labeler == 4
    assert reason.startswith("With a probability of more than 90% these 40 answers have nothing to do with the items")


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


@pytest.mark.parametrize("newest", [False, True])
def test_an_answer_put_back_alone_is_not_held_again(
    database: Database, crowded: tuple[Project, User, User, User], newest: bool
) -> None:
    project, _, bob, ann = crowded
    check(database, project, bob)
    with database.transaction() as session:
        held = select(Answer).where(Answer.labeler_id == bob.id, ~Answer.counts)
        chosen = session.scalars(held.order_by(Answer.number.desc() if newest else Answer.number)).first()
        assert chosen is not None
        caller = Caller(token=make_token(session, ann))
        service.put_back(session, authorize(session, caller, project.key, Action.WRITE), chosen.id)
    holds.extend(database, project.id)
    assert counting(database, bob) == 6
    with database.transaction() as session:
        answer(session, session.get_one(Project, project.id), bob, 4, 250, 5)
    holds.extend(database, project.id)
    assert counting(database, bob) == 6, "what comes later is held"
