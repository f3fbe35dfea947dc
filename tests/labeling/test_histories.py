"""Random histories of labeling, through REST, uploads and the page's forms, leave what a model of a few lines says."""

import itertools
import json
import random
import uuid
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from fastapi import FastAPI
from sqlalchemy import select, update

from tercet.database import Database
from tercet.labeling import queue
from tercet.labeling.sql import statements
from tercet.models import Answer, Item, Lease, Project, Role, Skip, Triplet, now
from tests.factories import add_member, make_project, signed_in

STEPS = 60
N_ITEMS = 4
API, PAGE = "/api/v1/projects/songs", "/projects/songs"
MIRRORED = {"yes": "no", "no": "yes", "dnk": "dnk"}
Question = tuple[int, int, int]


class Said(NamedTuple):
    """An answer as it is sent: its id, what it says of which items, and whose it is."""

    id: str
    question: Question
    value: str
    labeler: str

    @property
    def canonical(self) -> "Said":
        anchor, left, right = self.question
        if left < right:
            return self
        return Said(self.id, (anchor, right, left), MIRRORED[self.value], self.labeler)


@dataclass(frozen=True)
class StoredAnswer:
    """An answer as it is stored, in canonical order; `aside` is how it was set aside: alone or all at once."""

    said: Said
    number: int
    withdrawn: bool = False
    aside: str = ""

    @property
    def counts(self) -> bool:
        return not self.withdrawn and not self.aside


@dataclass
class Model:
    """What the database holds. Each method does what a request asks for, and returns the status it is answered with."""

    redundancy: int
    queue: set[Question]
    answers: dict[str, StoredAnswer] = field(default_factory=dict)
    leases: set[tuple[Question, str]] = field(default_factory=set)
    skips: set[tuple[Question, str]] = field(default_factory=set)

    def store(self, sent: Iterable[Said]) -> int:
        new: dict[str, Said] = {}
        for said in (one.canonical for one in sent):
            taken = self.answers[said.id].said if said.id in self.answers else new.setdefault(said.id, said)
            if taken != said:
                return 409
        for said in new.values():
            self.answers[said.id] = StoredAnswer(said, len(self.answers) + 1)
            self.leases.discard((said.question, said.labeler))
            self.settle(said.question)
        return 201

    def withdraw(self, answer_id: str) -> int:
        answer = self.answers[answer_id]
        if answer.withdrawn:
            return 409
        self.change(replace(answer, withdrawn=True))
        self.leases.add((answer.said.question, answer.said.labeler))
        return 200

    def set_aside(self, answer_id: str) -> int:
        answer = self.answers[answer_id]
        if not answer.counts:
            return 409
        self.change(replace(answer, aside="alone"))
        return 201

    def put_back(self, answer_id: str) -> int:
        answer = self.answers[answer_id]
        of_same = (answer.said.question, answer.said.labeler)
        same = [a for a in self.answers.values() if (a.said.question, a.said.labeler) == of_same]
        if answer.counts or (answer.withdrawn and not all(a.withdrawn for a in same)):
            return 409
        if answer.withdrawn:
            self.leases.discard(of_same)
        self.change(replace(answer, withdrawn=False, aside=""))
        return 200

    def set_labeler_aside(self, labeler: str) -> int:
        changed = [a for a in self.answers.values() if a.said.labeler == labeler and a.counts]
        for answer in changed:
            self.change(replace(answer, aside="at once"))
        return 201 if changed else 409 if self.has_answered(labeler) else 404

    def put_labeler_back(self, labeler: str) -> int:
        changed = [a for a in self.answers.values() if a.said.labeler == labeler and a.aside == "at once"]
        for answer in changed:
            self.change(replace(answer, aside=""))
        return 200 if changed else 409 if self.has_answered(labeler) else 404

    def skip(self, question: Question, labeler: str) -> int:
        self.skips.add((question, labeler))
        self.leases.discard((question, labeler))
        return 201

    def change(self, answer: StoredAnswer) -> None:
        self.answers[answer.said.id] = answer
        self.settle(answer.said.question)

    def settle(self, question: Question) -> None:
        """A question is in the queue until it has enough answers that count."""
        (self.queue.discard if self.count(question) >= self.redundancy else self.queue.add)(question)

    def count(self, question: Question) -> int:
        return sum(answer.counts for answer in self.answers.values() if answer.said.question == question)

    def has_answered(self, labeler: str) -> bool:
        return any(answer.said.labeler == labeler for answer in self.answers.values())

    def open_to(self, labeler: str) -> set[Question]:
        """Questions that the labeler neither answered, skipped nor holds, and that need more than others hold."""
        seen = self.skips | self.leases
        seen |= {(a.said.question, a.said.labeler) for a in self.answers.values() if not a.withdrawn}
        holders = [question for question, _ in self.leases]
        return {
            question
            for question in self.queue
            if (question, labeler) not in seen and self.count(question) + holders.count(question) < self.redundancy
        }


class World:
    """The project, its people's clients, and what the database says of it in the model's words."""

    def __init__(self, app: FastAPI, redundancy: int, clients: ExitStack) -> None:
        self.database: Database = app.state.database
        with self.database.transaction() as session:
            project = make_project(session, n_items=N_ITEMS, redundancy=redundancy)
            people = {name: add_member(session, project, Role.LABELER, name) for name in ("Ada", "Ben", "Cy")}
            people["Ann"] = add_member(session, project, Role.ANALYST, "Ann")
            assert queue.top_up(session, project, 100) == 12
            self.positions = dict(session.execute(select(Item.id, Item.position)).all())
        self.project = project
        self.ids = {name: user.id for name, user in people.items()}
        self.clients = {name: clients.enter_context(signed_in(app, user)) for name, user in people.items()}
        anchored = itertools.product(range(N_ITEMS), itertools.combinations(range(N_ITEMS), 2))
        self.questions = [(anchor, left, right) for anchor, (left, right) in anchored if anchor not in (left, right)]
        self.model = Model(redundancy, set(self.questions))

    def as_stored(self) -> dict[str, Any]:
        """Everything that the model speaks of, as the database has it."""
        name_of = {number: name for name, number in self.ids.items()}
        with self.database.reading() as session:
            triplets = {triplet.id: self.question_of(triplet) for triplet in session.scalars(select(Triplet))}
            queued = session.scalars(select(Triplet.id).where(Triplet.priority.is_not(None)))
            leases = session.scalars(select(Lease).where(Lease.expires_at > now()))
            parameters = {"project": self.project.id, "redundancy": self.model.redundancy, "at": now(), "wanted": 1000}
            candidates = {
                name: session.execute(statements.TAKE, {**parameters, "user": self.ids[name]}) for name in self.ids
            }
            return {
                "number": session.scalar(select(Project.answer_number)),
                "queue": {triplets[key] for key in queued},
                "leases": {(triplets[lease.triplet_id], name_of[lease.labeler_id]) for lease in leases},
                "skips": {(triplets[s.triplet_id], name_of[s.labeler_id]) for s in session.scalars(select(Skip))},
                "open": {name: {triplets[row[0]] for row in rows} for name, rows in candidates.items()},
                "answers": {
                    str(answer.id): (
                        Said(str(answer.id), triplets[answer.triplet_id], answer.value, name_of[answer.labeler_id]),
                        answer.number,
                        answer.withdrawn_at is not None,
                        answer.set_aside_id is not None,
                    )
                    for answer in session.scalars(select(Answer))
                },
            }

    def as_modelled(self) -> dict[str, Any]:
        return {
            "number": len(self.model.answers),
            "queue": self.model.queue,
            "leases": self.model.leases,
            "skips": self.model.skips,
            "open": {name: self.model.open_to(name) for name in self.ids},
            "answers": {
                key: (answer.said, answer.number, answer.withdrawn, bool(answer.aside))
                for key, answer in self.model.answers.items()
            },
        }

    def question_of(self, triplet: Triplet) -> Question:
        return self.positions[triplet.anchor_id], self.positions[triplet.left_id], self.positions[triplet.right_id]


Step = Callable[[World, random.Random], tuple[str, int, int]]


def keys(question: Question) -> list[str]:
    return [f"item-{position}" for position in question]


def body_of(said: Said) -> dict[str, Any]:
    return {"id": said.id, "triplet": keys(said.question), "answer": said.value}


def something_to_say(world: World, chance: random.Random, labeler: str) -> Said:
    """A new answer, one that was sent before, or another one under an id that is taken; either side first."""
    anchor, left, right = chance.choice(world.questions)
    question = (anchor, left, right) if chance.random() < 0.5 else (anchor, right, left)
    said = Said(str(uuid.UUID(int=chance.getrandbits(128))), question, chance.choice(["yes", "no", "dnk"]), labeler)
    sent = [answer.said for answer in world.model.answers.values() if answer.said.labeler == labeler]
    if sent and chance.random() < 0.25:
        return chance.choice(sent)
    if world.model.answers and chance.random() < 0.08:
        return said._replace(id=chance.choice(list(world.model.answers)))
    return said


def some_labeler(chance: random.Random) -> str:
    return chance.choice(["Ada", "Ben", "Cy"])


def answer_over_rest(world: World, chance: random.Random) -> tuple[str, int, int]:
    labeler = some_labeler(chance)
    sent = [something_to_say(world, chance, labeler) for _ in range(chance.choice([1, 1, 1, 3]))]
    if chance.random() < 0.2:  # an id twice in one list, for the same answer or for another one
        sent.append(sent[0]._replace(value=chance.choice(["yes", "no", "dnk"])))
    body = {"answers": [body_of(said) for said in sent]}
    status = world.clients[labeler].post(f"{API}/answers", json=body).status_code
    return f"answers {sent}", status, world.model.store(sent)


def answer_on_the_page(world: World, chance: random.Random) -> tuple[str, int, int]:
    said = something_to_say(world, chance, some_labeler(chance))
    sent = world.clients[said.labeler].post(f"{PAGE}/label", data=body_of(said), follow_redirects=False)
    return f"answer on the page {said}", sent.status_code, {201: 303}.get(status := world.model.store([said]), status)


def upload(world: World, chance: random.Random) -> tuple[str, int, int]:
    rows = [something_to_say(world, chance, chance.choice(list(world.ids))) for _ in range(chance.randint(1, 5))]
    rows = list({said.id: said for said in rows}.values())
    rows += rows[:1] if chance.random() < 0.3 else []
    lines = "\n".join(json.dumps({**body_of(said), "labeler": said.labeler}) for said in rows)
    kind = {"Content-Type": "application/x-ndjson"}
    status = world.clients["Ann"].post(f"{API}/constraints", content=lines, headers=kind).status_code
    return f"upload {rows}", status, world.model.store(rows)


def lease(world: World, chance: random.Random) -> tuple[str, int, int]:
    labeler, count = some_labeler(chance), chance.randint(1, 4)
    held = {question for question, holder in world.model.leases if holder == labeler}
    allowed = world.model.open_to(labeler)
    response = world.clients[labeler].get(f"{API}/triplets/next", params={"n": count})
    on_screen = [
        tuple(int(key.removeprefix("item-")) for key in question["triplet"]) for question in response.json()["triplets"]
    ]
    got = [(anchor, min(left, right), max(left, right)) for anchor, left, right in on_screen]
    assert len(set(got)) == len(got) == min(count, len(held) + len(allowed))
    assert set(got[: len(held)]) <= held, "those that are held come first"
    assert set(got[len(held) :]) <= allowed
    world.model.leases |= {(question, labeler) for question in got}
    return f"lease {count} to {labeler}: {got}", response.status_code, 200


def skip(world: World, chance: random.Random) -> tuple[str, int, int]:
    labeler, question = some_labeler(chance), chance.choice(world.questions)
    client = world.clients[labeler]
    expected = world.model.skip(question, labeler)
    if chance.random() < 0.5:
        form = {"triplet": keys(question)}
        status = client.post(f"{PAGE}/label/skip", data=form, follow_redirects=False).status_code
        return f"skip on the page {question} {labeler}", status, 303
    status = client.post(f"{API}/skips", json={"triplet": keys(question)}).status_code
    return f"skip {question} {labeler}", status, expected


def end_leases(world: World, chance: random.Random) -> tuple[str, int, int]:
    labeler = some_labeler(chance)
    with world.database.transaction() as session:
        over = update(Lease).where(Lease.labeler_id == world.ids[labeler])
        session.execute(over.values(expires_at=now() - timedelta(seconds=1)))
    world.model.leases -= {(question, holder) for question, holder in world.model.leases if holder == labeler}
    return f"the leases of {labeler} end", 0, 0


def withdraw(world: World, chance: random.Random) -> tuple[str, int, int]:
    answer = chance.choice(list(world.model.answers.values()))
    labeler, number = answer.said.labeler, answer.said.id
    expected = world.model.withdraw(number)
    if chance.random() < 0.3:
        form = {"id": number}
        sent = world.clients[labeler].post(f"{PAGE}/label/undo", data=form, follow_redirects=False)
        return f"undo {number}", sent.status_code, {200: 303}.get(expected, expected)
    caller = chance.choice([labeler, "Ann"])
    return f"{caller} withdraws {number}", world.clients[caller].delete(f"{API}/answers/{number}").status_code, expected


def decide(world: World, chance: random.Random) -> tuple[str, int, int]:
    number = chance.choice(list(world.model.answers))
    path = f"{API}/answers/{number}/set-aside"
    aside = [key for key, answer in world.model.answers.items() if answer.aside]
    if aside and chance.random() < 0.5:
        number = chance.choice(aside)
        status = world.clients["Ann"].delete(f"{API}/answers/{number}/set-aside").status_code
        return f"put back {number}", status, world.model.put_back(number)
    return f"set aside {number}", world.clients["Ann"].post(path, json={}).status_code, world.model.set_aside(number)


def decide_about_a_labeler(world: World, chance: random.Random) -> tuple[str, int, int]:
    labeler = some_labeler(chance)
    path, ann = f"{API}/labelers/{world.ids[labeler]}/set-aside", world.clients["Ann"]
    if chance.random() < 0.5:
        status = ann.post(path, json={}).status_code
        return f"set all of {labeler} aside", status, world.model.set_labeler_aside(labeler)
    return f"put all of {labeler} back", ann.delete(path).status_code, world.model.put_labeler_back(labeler)


STEP_WEIGHTS: dict[Step, int] = {
    answer_over_rest: 6,
    answer_on_the_page: 3,
    upload: 3,
    lease: 8,
    skip: 2,
    end_leases: 1,
    withdraw: 4,
    decide: 5,
    decide_about_a_labeler: 1,
}


@pytest.mark.heavy(but="2-2")
@pytest.mark.parametrize(("seed", "redundancy"), [(1, 1), (2, 2), (3, 3), (4, 2)])
def test_what_is_stored_is_what_the_model_says(app: FastAPI, seed: int, redundancy: int) -> None:
    chance = random.Random(seed)
    history = [f"seed {seed}, redundancy {redundancy}"]
    with ExitStack() as clients:
        world = World(app, redundancy, clients)
        for number in range(STEPS):
            steps = STEP_WEIGHTS if world.model.answers else {answer_over_rest: 1, lease: 1}
            [step] = chance.choices(list(steps), list(steps.values()))
            try:
                done, status, expected = step(world, chance)
                history.append(f"{number}. {done}: {status}")
                assert status == expected
                stored, modelled = world.as_stored(), world.as_modelled()
                for part in modelled:
                    assert stored[part] == modelled[part], f"{part} differs after step {number}"
            except AssertionError as error:
                error.add_note("\n".join(history))
                raise
