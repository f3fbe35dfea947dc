"""Which features the items of a project get: chosen by a person, or what is usual for such items."""

from typing import Any

from sqlalchemy.orm import Session

from tercet.features.recipes import GroupSettings, Recipe
from tercet.jobs import lifecycle
from tercet.jobs import queries as jobs
from tercet.models import JobKind, JobStatus, Project, User
from tercet.web.errors import FieldError, Invalid

GROUP, WEIGHT, NUMBERS = "group.", "weight.", "numbers."
USUAL = "usual"  # the button of the form that goes back to what is usual


def read_form(project: Project, fields: dict[str, str]) -> dict[str, Any] | None:
    """Return the recipe that a form chose; without any of its fields, what the project has."""
    if USUAL in fields:
        return None
    if not any(name.startswith(WEIGHT) for name in fields):
        return project.feature_recipe
    kinds = [name.removeprefix(GROUP) for name in fields if name.startswith(GROUP)]
    return read_groups(
        [
            {"kind": kind, "numbers": fields.get(NUMBERS + kind, "0"), "weight": fields.get(WEIGHT + kind, "1")}
            for kind in kinds
        ]
    )


def read_groups(groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a recipe as the project keeps it; raise Invalid with a sentence if it cannot be one."""
    try:
        settings = [GroupSettings(str(g["kind"]), int(g["numbers"]), float(g["weight"])) for g in groups]
        return Recipe(tuple(settings)).as_dict()
    except ValueError as error:
        raise Invalid(f"Nothing was changed: {error}.", [FieldError("groups", str(error))]) from error


def choose(session: Session, project: Project, recipe: dict[str, Any] | None, user: User) -> None:
    """Keep a recipe, None for what is usual, and have the features made by it in the background."""
    project.feature_recipe = recipe
    waiting = jobs.unfinished(session, project.id, JobKind.MAKE_FEATURES)
    # One that runs already has read the recipe before.
    if not any(job.status == JobStatus.QUEUED for job in waiting):
        lifecycle.queue(session, project.id, JobKind.MAKE_FEATURES, user_id=user.id)
