"""Adds what people and workers leave behind: answers, and finished runs with their results."""

import uuid
from datetime import timedelta

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.live import events
from tercet.models import Answer, Item, Project, Run, Triplet, User, now
from tercet.runs import results
from tercet.storage import Storage


def add_result(
    session: Session, storage: Storage, project: Project, number: int, labels: list[int], **metrics: object
) -> Run:
    """Add a done run whose items lie in a row by cluster, and the event that tells open pages."""
    run = Run(project_id=project.id, number=number, algorithm="dcrc", status="done", due_at=now(), token=1)
    run.answers_from = run.answers_to = project.answer_number
    run.started_at = run.finished_at = now()
    session.add(run)
    session.flush()
    posterior = np.full((len(labels), project.n_clusters), 0.1, dtype=np.float32)
    posterior[np.arange(len(labels)), np.array(labels) - 1] = np.linspace(0.4, 0.9, len(labels))
    result = results.Result(np.array(labels, dtype=np.int16), posterior.max(axis=1), posterior)
    places = np.column_stack([labels, np.linspace(0, 1, len(labels))])
    run.result = results.save(storage, run, result, places)
    run.metrics = {"n_clusters": project.n_clusters, "n_items": len(labels), "seconds": 0.5, **metrics}
    fields = {"number": number, "purpose": run.purpose, "status": "done", "progress": 1.0}
    events.record(session, project.id, ("run", fields), ("clusters", {"run": number}))
    return run


def add_answers(session: Session, project: Project, labeler: User, rows: list[tuple]) -> None:
    """Add answers (value, milliseconds, hours ago, withdrawn) to one triplet."""
    triplet = session.scalar(select(Triplet).where(Triplet.project_id == project.id))
    if triplet is None:
        of_project = select(Item.id).where(Item.project_id == project.id).order_by(Item.id).limit(3)
        anchor, left, right = session.scalars(of_project)
        triplet = Triplet(project_id=project.id, anchor_id=anchor, left_id=left, right_id=right, source="client")
        session.add(triplet)
        session.flush()
    for value, response_ms, hours, withdrawn in rows:
        project.answer_number += 1
        session.add(
            Answer(
                id=uuid.uuid4(),
                project_id=project.id,
                number=project.answer_number,
                triplet_id=triplet.id,
                labeler_id=labeler.id,
                value=value,
                response_ms=response_ms,
                created_at=now() - timedelta(hours=hours),
                withdrawn_at=now() if withdrawn else None,
            )
        )
    session.flush()
