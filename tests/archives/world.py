"""A project with something in every table that travels, and a second server of the other kind."""

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from tercet.archives import service
from tercet.archives.layout import ARCHIVED, table_of
from tercet.database import Database
from tercet.demo.birdsong import make_syllables, to_wav
from tercet.features.computing import compute
from tercet.features.fitted import FittedRecipe
from tercet.features.inputs import FeatureInput
from tercet.features.recipes import default_recipe
from tercet.intake.media import prepare
from tercet.models import (
    Answer,
    Bag,
    ClusterNote,
    Decision,
    Dismissal,
    Flag,
    Item,
    Membership,
    Project,
    Role,
    Run,
    Tag,
    Triplet,
    now,
)
from tercet.runs import results
from tercet.runs.results import AnswerReport, LabelerReport, Report
from tercet.storage import Storage
from tercet.web.zip_stream import npz_bytes
from tests.dashboard.results import add_result
from tests.factories import add_features, add_member, make_project


@dataclass(frozen=True)
class Place:
    """A server's database and storage."""

    database: Database
    storage: Storage


def what_was_learned() -> FittedRecipe:
    """Return what a recipe for tables learned of a few rows."""
    rows = [FeatureInput(str(number), details={"hz": number, "low": -(number**2)}) for number in range(12)]
    return compute(default_recipe(rows), rows, None, lambda share, words: None).fitted


def fill(place: Place, key: str = "songs") -> int:
    """Make a project of twelve songs with answers of two people and two runs; return its id."""
    with place.database.transaction() as session:
        project = make_project(
            session, key, n_items=0, guidelines="Listen.\nTwice. Ünïcode ✓", parameters={"n_init": 2}
        )
        bags = [Bag(project_id=project.id, key=f"rec {i}", labels=["wren"] if i else []) for i in range(2)]
        session.add_all(bags)
        session.flush()
        for position, syllable in enumerate(make_syllables(12, seed=3)):
            media = prepare(to_wav(syllable.samples, syllable.sample_rate))
            stored = {
                kind: place.storage.put_content(f"projects/{project.id}/{kind}", blob.content, blob.suffix)
                for kind, blob in (("media", media.media), ("picture", media.picture), ("thumbnail", media.thumbnail))
            }
            details = {"site": "A1", "begin_s": 0.5 * position, "end_s": 0.5 * position + 0.3}
            item = Item(project_id=project.id, key=f"song {position}", position=position, details=details, **stored)
            item.media_type, item.bag_id = "audio/wav", bags[position % 2].id
            session.add(item)
        session.flush()
        for version in (1, 2):
            made = add_features(session, place.storage, project, np.arange(36.0).reshape(12, 3) ** version, version)
        made.learned = place.storage.put_content("features", npz_bytes(what_was_learned().arrays()), ".npz")
        _answer(session, project)
        _add_runs(session, place.storage, project)
        return project.id


def _answer(session: Any, project: Project) -> None:
    """Let two people answer; one answer is withdrawn, one set aside, and one question has no answer."""
    ids = list(session.scalars(sa.select(Item.id).where(Item.project_id == project.id).order_by(Item.position)))
    people = [add_member(session, project, Role.LABELER, name) for name in ("Bo", "Cy")]
    analyst = add_member(session, project, Role.ANALYST, "Ada")
    decision = Decision(project_id=project.id, verdict="set aside", labeler_id=people[1].id, answers=1)
    decision.by_id, decision.reason, decision.answer_number = analyst.id, "a slip", 4
    session.add(decision)
    session.flush()
    for number in range(1, 8):
        anchor, left, right = ids[number], ids[number + 1], ids[number + 3]
        triplet = Triplet(project_id=project.id, anchor_id=anchor, left_id=left, right_id=right, source="random")
        triplet.priority = None if number < 7 else 1.0
        session.add(triplet)
        session.flush()
        if number == 7:
            continue
        answer = Answer(id=uuid.uuid4(), project_id=project.id, number=number, triplet_id=triplet.id, response_ms=900)
        answer.labeler_id, answer.value = people[number % 2].id, ("yes", "no", "dnk")[number % 3]
        answer.withdrawn_at = now() if number == 2 else None
        answer.comment = "a duet?" if number == 3 else ""
        answer.set_aside_id = decision.id if number == 4 else None
        session.add(answer)
        project.answer_number = number
    session.flush()


def _add_runs(session: Any, storage: Storage, project: Project) -> None:
    done = add_result(session, storage, project, 1, [1, 2, 3] * 4, seconds=2.5)
    assert done.result is not None
    labelers = session.scalars(sa.select(Answer.labeler_id).distinct().order_by(Answer.labeler_id)).all()
    reports = [LabelerReport(labeler, 3, 3, 0.75, None, None) for labeler in labelers]
    numbers = np.arange(1, 7)
    results.save_report(
        storage,
        done.result,
        Report(AnswerReport(numbers, numbers / 10, numbers.astype(np.int32), np.eye(6, 3)), reports),
    )
    adopted = add_result(session, storage, project, 2, [3, 2, 1] * 4)
    adopted.result = done.result
    session.add(Run(project_id=project.id, number=3, algorithm="dcrc", status="queued", due_at=now()))
    owner = session.scalars(sa.select(Membership.user_id).where(Membership.project_id == project.id)).first()
    session.add(Dismissal(project_id=project.id, kind="merge", cluster=1, other=3, by_id=owner))
    flagged = session.scalars(sa.select(Item.id).where(Item.project_id == project.id)).first()
    session.add(Flag(project_id=project.id, item_id=flagged, labeler_id=labelers[0], reason="cut", note="too short"))
    session.add(Tag(project_id=project.id, item_id=flagged, name="check"))
    session.add(ClusterNote(project_id=project.id, run_id=done.id, cluster=2, name="thrush", note="loud"))
    session.flush()


def write(place: Place, project_id: int, path: Path) -> Path:
    """Write the project's archive to a file."""
    with path.open("wb") as file:
        file.writelines(service.pieces_of(place.database, place.storage, project_id))
    return path


def contents(place: Place, project_id: int) -> dict[str, list[dict[str, Any]]]:
    """Return all that travels: rows by their order in place of ids, the bytes of files in place of their keys."""
    tables: dict[str, list[dict[str, Any]]] = {}
    places: dict[str, dict[Any, int]] = {"user": {}}
    with place.database.reading() as session:
        for name in ARCHIVED:
            table = table_of(name)
            owner = table.c.id if name == "project" else table.c.project_id
            order = table.c.number if name == "answer" else table.c.id
            rows = [
                dict(row._mapping)
                for row in session.execute(sa.select(table).where(owner == project_id).order_by(order))
            ]
            places[name] = {row["id"]: number for number, row in enumerate(rows)}
            tables[name] = [_plain(place, session, name, row, places) for row in rows]
    return tables


def _plain(place: Place, session: Any, name: str, row: dict[str, Any], places: dict[str, Any]) -> dict[str, Any]:
    for column in table_of(name).columns:
        value = row[column.name]
        parent = next((key.column.table.name for key in column.foreign_keys), None)
        if parent == "user" and value is not None:
            row[column.name] = session.scalar(sa.text('SELECT name FROM "user" WHERE id = :id'), {"id": value})
        elif parent is not None and value is not None:
            row[column.name] = places[parent][value]
    for column_name in {"item": ("media", "picture", "thumbnail"), "feature_set": ("blob", "learned")}.get(name, ()):
        row[column_name] = row[column_name] and place.storage.get(row[column_name])
    if name == "run" and row["result"]:
        key = row["result"]
        result = results.load(place.storage, key)
        report = results.labeler_report(place.storage, session.get(Run, row["id"]))
        answers = results.answer_report(place.storage, session.get(Run, row["id"]))
        names = [session.scalar(sa.text('SELECT name FROM "user" WHERE id = :id'), {"id": r.labeler}) for r in report]
        row["result"] = [array.tolist() for array in vars(result).values()], results.load_map(place.storage, key), names
        row["result"] += (
            [(r.answers, r.foreseen, r.expected, r.quality) for r in report],
            answers and answers.probabilities.tolist(),
            answers and answers.foreseen.tolist(),
        )
    if name != "answer":
        row.pop("id")
    return row
