"""What should be looked at before people label: how the features come along, and what would spoil an afternoon."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from tercet.dashboard import queries
from tercet.items.queries import count_in_use, latest_features
from tercet.jobs import queries as jobs
from tercet.models import BackgroundJob, JobKind, JobStatus, Project


@dataclass(frozen=True)
class Hint:
    """Something about the items or settings that is probably not meant so, and what to do about it."""

    sentence: str
    what_to_do: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preparation:
    """How features were made or are being made, and hints."""

    features_job: BackgroundJob | None
    words: str
    failure: str
    hints: list[Hint]


def preparation(session: Session, project: Project) -> Preparation:
    """Collect what should be looked at before people label."""
    job = jobs.newest(session, project.id, JobKind.MAKE_FEATURES)
    features = latest_features(session, project.id)
    return Preparation(
        features_job=job if job is not None and job.status in jobs.UNFINISHED else None,
        words=features.words if features else "",
        failure=(job.error or "") if job is not None and job.status == JobStatus.FAILED else "",
        hints=_hints(session, project),
    )


def _hints(session: Session, project: Project) -> list[Hint]:
    count = count_in_use(session, project.id)
    if not count:
        return []
    hints = [Hint(**finding) for finding in queries.findings(session, project.id)]
    if project.n_clusters > count:
        sentence = f"There are {project.n_clusters} clusters to be made of {_counted(count, 'item')}."
        hints.append(Hint(sentence, "Choose fewer clusters in the settings, or add items."))
    return hints


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
