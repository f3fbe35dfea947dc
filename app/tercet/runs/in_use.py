"""Hides items in stored results that were set aside later."""

from sqlalchemy.orm import Session

from tercet.items.queries import positions_set_aside
from tercet.runs.results import Array


def labels_in_use(session: Session, project_id: int, labels: Array) -> Array:
    """Return the clusters of a stored result, -1 for items that are set aside now."""
    aside = [position for position in positions_set_aside(session, project_id) if position < len(labels)]
    if not aside:
        return labels
    labels = labels.copy()
    labels[aside] = -1
    return labels
