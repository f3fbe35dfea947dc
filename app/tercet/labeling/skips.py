"""Skips: questions that a labeler is not asked again."""

from sqlalchemy import delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from tercet.models import Lease, Skip, now


def skip(session: Session, triplet_id: int, user_id: int) -> None:
    """Store that a labeler is not asked this question again; others may be."""
    upsert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    values = {"triplet_id": triplet_id, "labeler_id": user_id, "created_at": now()}
    session.execute(upsert(Skip).values(values).on_conflict_do_nothing())
    session.execute(delete(Lease).where(Lease.triplet_id == triplet_id, Lease.labeler_id == user_id))
