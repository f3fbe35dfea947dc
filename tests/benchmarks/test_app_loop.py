"""The loop that benchmarks measure asks what the app asks: the same answers, the same queue, run after run."""

import uuid

import numpy as np
import pytest
from sqlalchemy import select

from benchmarks.app_loop import LABELERS, AppLoop
from tercet.database import Database
from tercet.labeling import queue, service
from tercet.labeling.service import ConstraintRow
from tercet.models import Item, Project, Role, Triplet
from tercet.runs.schedule import request_run
from tercet.settings import Settings
from tercet.storage import Storage
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers
from tests.factories import add_member
from tests.runs.support import blobs, compute, make_songs

# What is computed does not depend on the kind of database; how runs are stored is tested on both elsewhere.
pytestmark = pytest.mark.only_on("sqlite")

WORDS = {1: "yes", -1: "no", 0: "dnk"}


class App:
    """A project whose labelers answer by turns, and each hold one question."""

    def __init__(self, database: Database, storage: Storage, settings: Settings) -> None:
        self.database, self.settings = database, settings
        self.key = make_songs(database, storage, parameters={})
        with database.transaction() as session:
            project = session.get_one(Project, self.key)
            self.people = [add_member(session, project, Role.LABELER).id for _ in range(LABELERS)]
            items = session.scalars(select(Item.id).where(Item.project_id == self.key).order_by(Item.position)).all()
        self.items = list(items)
        self.run()

    def run(self) -> None:
        with self.database.transaction() as session:
            request_run(session, session.get_one(Project, self.key), reason="answers")
        assert compute(self.database, self.settings) == "done"

    def next(self, person: int) -> list[int]:
        with self.database.transaction() as session:
            [held] = queue.lease_next(session, session.get_one(Project, self.key), person, 1, seconds=600).triplets
        return [self.items.index(item) for item in held.triplet]

    def answer(self, person: int, triplet: list[int], value: str) -> None:
        anchor, left, right = (self.items[place] for place in triplet)
        with self.database.transaction() as session:
            row = ConstraintRow(0, uuid.uuid4(), (anchor, left, right), value, person, 7000)
            service.store_constraints(session, session.get_one(Project, self.key), [row])

    def queued(self) -> list[list[int]]:
        """What waits, first to be asked first, without what is on screens."""
        ids = select(Triplet.anchor_id, Triplet.left_id, Triplet.right_id, Triplet.id)
        waiting = ids.where(Triplet.project_id == self.key, Triplet.priority.is_not(None))
        with self.database.reading() as session:
            rows = session.execute(waiting.order_by(Triplet.priority.desc())).all()
        return [[self.items.index(item) for item in row[:3]] for row in rows]


@pytest.mark.heavy
def test_the_loop_asks_what_the_app_asks(database: Database, storage: Storage, settings: Settings) -> None:
    X, y = blobs(60)
    app, loop = App(database, storage, settings), AppLoop(X, 3, one_scale=False, seed=0)
    rng = np.random.default_rng(1)
    for n_runs in range(1, 4):
        on_screens = [list(question.triplet) for question in loop.screens.values()]
        queued = [row for row in app.queued() if row not in on_screens]
        assert queued == [list(question.triplet) for question in loop.queue], f"after run {n_runs}"
        before = len(loop.values)
        loop.answer(10, lambda asked: noisy_answers(y, asked, TABLE_IV, rng))
        for place in range(before, len(loop.values)):
            person = app.people[place % LABELERS]
            triplet = app.next(person)
            assert triplet == loop.triplets[place].tolist()
            app.answer(person, triplet, loop.values[place])
            app.next(person)
        app.run()
        loop.run()
