"""What to check before people label: the progress of features, and problems of the items."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sqlalchemy import Connection, Engine, Row
from sqlalchemy.orm import Session

from tercet.dashboard import queries
from tercet.items.checks import Finding, ItemFacts, find_problems
from tercet.items.queries import latest_features
from tercet.jobs import queries as jobs
from tercet.jobs.wording import words_of
from tercet.labeling import flags
from tercet.models import BackgroundJob, FeatureSet, JobKind, JobStatus, Project
from tercet.storage import Storage


@dataclass(frozen=True)
class Preparation:
    """The state of the features, and what the checks of all items find."""

    features_job: BackgroundJob | None
    job_words: str
    words: str
    failure: str
    findings: list[Finding]
    flagged: int  # items that labelers say are broken, which nobody has looked at


# What was found when the project was in the state beside it, per database and project, which is named by its id and the
# time of its creation, as SQLite reuses ids. The checks read a row for each item, too much for every look at a page.
_findings: WeakKeyDictionary[Engine | Connection, dict[tuple[int, datetime], tuple[tuple[Any, ...], list[Finding]]]] = (
    WeakKeyDictionary()
)


def preparation(session: Session, storage: Storage, project: Project) -> Preparation:
    """Collect the state of the features and the problems of the items."""
    job = jobs.newest(session, project.id, JobKind.MAKE_FEATURES)
    features = latest_features(session, project.id)
    is_under_way = job is not None and job.status in jobs.UNFINISHED
    return Preparation(
        features_job=job if is_under_way else None,
        job_words=words_of(session, job) if job is not None and is_under_way else "",
        words=features.words if features else "",
        failure=(job.error or "") if job is not None and job.status == JobStatus.FAILED else "",
        findings=_findings_of(session, storage, project, features),
        flagged=flags.count_open(session, project.id),
    )


def _findings_of(session: Session, storage: Storage, project: Project, features: FeatureSet | None) -> list[Finding]:
    """Return the findings for the current items, from a cache while nothing has changed."""
    n_clusters = project.parameters.get("n_clusters", project.n_clusters)
    numbers = queries.state_of_items(session, project.id)
    state = (n_clusters, features.version if features else None, *numbers)
    before = _findings.setdefault(session.get_bind(), {})
    name = project.id, project.created_at
    if name not in before or before[name][0] != state:
        features_fit = features is not None and features.n == numbers[0]
        before[name] = state, _look(session, storage, project, n_clusters, features if features_fit else None)
    return before[name][1]


def _look(
    session: Session, storage: Storage, project: Project, n_clusters: int, features: FeatureSet | None
) -> list[Finding]:
    rows = queries.contents_of_items(session, project.id)
    if not rows:
        return []
    facts, rates = _facts(rows, queries.import_reports(session, project.id))
    if features is None:
        return find_problems(facts, n_clusters, rates=rates)
    values = storage.memory_map(features.blob)
    in_use = values if len(rows) == features.n else values[np.array([row.position for row in rows])]
    return find_problems(facts, n_clusters, in_use, features.feature_names, rates=rates)


def _facts(rows: Sequence[Row[Any]], reports: Sequence[dict[str, Any]]) -> tuple[list[ItemFacts], Counter[int]]:
    """Return what is known of each item, and how many recordings there are of each rate.

    What only a recording's samples tell was seen when it was imported.
    """
    keys: dict[str, set[str]] = {"silent": set(), "clipped": set()}
    rates: Counter[int] = Counter()
    for report in reports:
        rates.update(dict(report.get("rates", [])))
        for listed in keys.values():
            listed.difference_update(report.get("replaced", []))
        for finding in report.get("findings", []):
            keys.get(finding["kind"], set()).update(finding["keys"])
    facts = [
        ItemFacts(
            row.key,
            row.media_type is not None,
            row.text,
            row.content_hash,
            row.media_seconds,
            peak=0.0 if row.key in keys["silent"] else None,
            clipped_share=1.0 if row.key in keys["clipped"] else None,
        )
        for row in rows
    ]
    return facts, rates
