"""What changed in a project, as numbered rows that open pages follow by server-sent events."""

from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from app.models import Event, Project


def record(session: Session, project_id: int, kind: str, payload: dict[str, Any]) -> int:
    """Add an event in the caller's transaction and give its number."""
    number: int = session.scalars(
        update(Project)
        .where(Project.id == project_id)
        .values(event_number=Project.event_number + 1)
        .returning(Project.event_number)
    ).one()
    session.add(Event(project_id=project_id, number=number, kind=kind, payload=payload))
    return number
