"""Which items answers are about."""

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.items.queries import positions_by_id
from tercet.models import Answer, Project, Triplet


def positions_asked(session: Session, project: Project) -> np.ndarray:
    """Positions of the items in answered triplets."""
    place = positions_by_id(session, project.id)
    columns = (Triplet.anchor_id, Triplet.left_id, Triplet.right_id)
    answered = select(*columns).join(Answer, Answer.triplet_id == Triplet.id).where(Triplet.project_id == project.id)
    return np.unique([place[item] for row in session.execute(answered) for item in row])
