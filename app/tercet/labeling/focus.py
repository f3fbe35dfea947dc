"""The focus: an analyst may restrict what questions are about to confused items, some clusters or some items.

The other two items of a question may be any, since comparisons with exemplars of other clusters are the most
informative. Random questions stay about all items: figures computed from their answers are about the whole project.
"""

from sqlalchemy.orm import Session

from tercet.errors import FieldError, Invalid
from tercet.items.queries import ids_by_key
from tercet.labeling.schemas import FocusIn
from tercet.live import events
from tercet.models import Project
from tercet.runs.schedule import answers_changed


def get(project: Project) -> FocusIn:
    """Return the focus of a project."""
    return FocusIn.model_validate(project.focus or {"about": "everything"})


def change(session: Session, project: Project, focus: FocusIn) -> None:
    """Set the focus of the questions that the next run chooses, and queue that run."""
    _check(session, project, focus)
    project.focus = None if focus.about == "everything" else focus.model_dump(exclude_defaults=True)
    session.flush()
    events.record(session, project.id, ("project", {"changed": "settings"}))
    answers_changed(session, project)


def _check(session: Session, project: Project, focus: FocusIn) -> None:
    errors = [
        FieldError("clusters", f"there is no cluster {number}: they are 1 to {project.n_clusters}", row)
        for row, number in enumerate(focus.clusters, 1)
        if number > project.n_clusters
    ]
    ids = ids_by_key(session, project.id, focus.items)
    errors += [
        FieldError("items", f"there is no item '{key}' in this project", row)
        for row, key in enumerate(focus.items, 1)
        if key not in ids
    ]
    if errors:
        raise Invalid("Questions cannot be about that; nothing was changed.", errors[:100])
