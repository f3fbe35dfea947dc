"""What an algorithm needs of its project beyond features: bag labels, or something to be unlike.

Asked before a run is queued or settings are saved, so that people hear at once what is missing and how to give it.
"""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.clustering import bags, known
from app.errors import FieldError, Invalid
from app.models import Project, Run

NO_BAG_LABELS = (
    "no bag of this project has labels. Give every item a bag and its labels when items are imported: the columns "
    "bag and bag_labels of a table (labels separated by ;), or the fields of the same names over REST"
)


def check(session: Session, project: Project, algorithm: str, parameters: dict[str, Any]) -> None:
    """Raise Invalid if the project lacks what the algorithm, with these resolved parameters, learns from."""
    if algorithm == "bags" and parameters["method"] != "spectral" and not bags.have_labels(session, project.id):
        raise Invalid("There are no bag labels.", [FieldError("algorithm", NO_BAG_LABELS)])
    if algorithm == "cmbc":
        _check_known(session, project, parameters)


def _check_known(session: Session, project: Project, parameters: dict[str, Any]) -> None:
    if parameters["method"] != "em" and not known.names(parameters):
        raise Invalid("There is nothing to be unlike.", [FieldError("parameters.known_runs", known.NOTHING)])
    wanted = (Run.project_id == project.id) & Run.number.in_(parameters["known_runs"])
    there = set(session.scalars(select(Run.number).where(wanted, Run.result.is_not(None))))
    missing = [number for number in parameters["known_runs"] if number not in there]
    if missing:
        detail = f"run {missing[0]} has no clusters, or there is no such run"
        raise Invalid("A run to be unlike is not there.", [FieldError("parameters.known_runs", detail)])
    if absent := known.absent_columns(session, project.id, parameters["known_columns"]):
        detail = f"no item has metadata '{absent[0]}'"
        raise Invalid("Metadata to be unlike are not there.", [FieldError("parameters.known_columns", detail)])
