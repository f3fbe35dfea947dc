"""What an algorithm needs of its project: features or answers, bag labels, known clusterings to differ from.

Checked before a run is queued and before settings are saved, so that people learn at once what is missing.
"""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.errors import Conflict, FieldError, Invalid
from tercet.items.queries import item_count, latest_features
from tercet.models import Answer, FeatureSet, Project, Run
from tercet.runs import bag_labels, known_clusterings

NO_BAG_LABELS = (
    "no bag of this project has labels. Give every item a bag and its labels when items are imported: the columns "
    "bag and bag_labels of a table (labels separated by ;), or the fields of the same names over REST"
)
# The algorithm that can cluster items without features: where they lie is learned from their answers first. The others
# read no answers, or judge themselves by answers held out, which the places would have been learned from too.
WITHOUT_FEATURES = "dcrc"
# Fewer answers tell nothing of where items lie, and start no run by themselves where there are no features.
FEWEST_WITHOUT_FEATURES = 10


def items_to_cluster(session: Session, project: Project, algorithm: str) -> tuple[FeatureSet | None, int]:
    """Return the features that a run uses and how many items it clusters: all of them where there are no features.

    Raise Conflict or Invalid if there is nothing to cluster by.
    """
    features = latest_features(session, project.id)
    if features is not None:
        return features, features.n
    n_items = item_count(session, project.id)
    if session.scalar(select(Answer.id).where(Answer.project_id == project.id, Answer.counts).limit(1)) is None:
        raise Conflict(
            f"Project '{project.key}' has {n_items} items, no features and no answers yet: label first, or upload "
            "features."
        )
    if algorithm != WITHOUT_FEATURES:
        detail = f"'{algorithm}' clusters by features, and there are none: upload features, or choose 'dcrc'"
        raise Invalid("The items have no features.", [FieldError("algorithm", detail)])
    return None, n_items


def clustered_by(session: Session, project: Project, features: FeatureSet | None, wanted: str) -> str:
    """Return by what a run clusters: "features", "answers" for points learned from these, or "both".

    That is what was chosen, but answers where there are no features, and features while answers are few.
    """
    if features is None:
        return "answers"
    counts = select(Answer.id).where(Answer.project_id == project.id, Answer.counts).limit(FEWEST_WITHOUT_FEATURES)
    return wanted if len(session.scalars(counts).all()) == FEWEST_WITHOUT_FEATURES else "features"


def check(session: Session, project: Project, algorithm: str, parameters: dict[str, Any]) -> None:
    """Raise Invalid if the project lacks what the algorithm, with these resolved parameters, learns from."""
    if algorithm == "bags" and parameters["method"] != "spectral" and not bag_labels.have_labels(session, project.id):
        raise Invalid("There are no bag labels.", [FieldError("algorithm", NO_BAG_LABELS)])
    if algorithm == "cmbc":
        _check_known(session, project, parameters)


def _check_known(session: Session, project: Project, parameters: dict[str, Any]) -> None:
    if parameters["method"] != "em" and not known_clusterings.names(parameters):
        raise Invalid(
            "Nothing to differ from was named.", [FieldError("parameters.known_runs", known_clusterings.NOTHING_KNOWN)]
        )
    condition = (Run.project_id == project.id) & Run.number.in_(parameters["known_runs"])
    existing = set(session.scalars(select(Run.number).where(condition, Run.result.is_not(None))))
    missing = [number for number in parameters["known_runs"] if number not in existing]
    if missing:
        detail = f"run {missing[0]} has no clusters, or there is no such run"
        raise Invalid("A run to differ from is missing.", [FieldError("parameters.known_runs", detail)])
    if absent := known_clusterings.absent_columns(session, project.id, parameters["known_columns"]):
        detail = f"no item has metadata '{absent[0]}'"
        raise Invalid("Metadata to differ from are missing.", [FieldError("parameters.known_columns", detail)])
