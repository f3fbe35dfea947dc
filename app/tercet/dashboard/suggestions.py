"""What to do next, as the newest run suggests it: pairs to merge, small clusters, and how many more answers.

Each suggestion can be dismissed, and the dismissal taken back.
"""

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from tercet.accounts.access import Access
from tercet.dashboard.schemas import Suggestion, SuggestionChange
from tercet.live import events
from tercet.models import Dismissal, Project, SuggestionKind
from tercet.runs.outlook import FURTHEST_AHEAD
from tercet.runs.queries import lock_project
from tercet.runs.schemas import ClusterOut, RunOut

# Two clusters may be one where this share of the smaller one, and so many items, lie between them.
MERGE_SHARE, FEWEST_BETWEEN = 0.25, 3
# A cluster is small below this share of what it had if all were of one size; so many are listed.
SMALL_SHARE, MOST_SMALL = 0.2, 3
Subject = tuple[str, int, int]


def work_list(
    session: Session, project: Project, latest: RunOut | None, clusters: Sequence[ClusterOut]
) -> list[Suggestion]:
    """Return what the newest run suggests, also what was dismissed, which says so."""
    if latest is None:
        return []
    sizes = {cluster.cluster: cluster.size for cluster in clusters}
    suggestions = [*_merges(latest, sizes), *_small(sizes), *_answers(latest)]
    dismissed = _dismissed(session, project) if suggestions else set()
    return [
        suggestion.model_copy(update={"dismissed": (suggestion.kind, *_subject(suggestion.clusters)) in dismissed})
        for suggestion in suggestions
    ]


def change(session: Session, access: Access, body: SuggestionChange) -> None:
    """Dismiss a suggestion, or take that back; doing so twice changes nothing more."""
    project = lock_project(session, access.project.id)
    subject: Subject = (body.kind, *_subject(body.clusters))
    is_dismissed = subject in _dismissed(session, project)
    kind, cluster, other = subject
    if body.dismissed and not is_dismissed:
        by = access.user.id
        session.add(Dismissal(project_id=project.id, kind=kind, cluster=cluster, other=other, by_id=by))
    elif is_dismissed and not body.dismissed:
        same = (Dismissal.kind == kind) & (Dismissal.cluster == cluster) & (Dismissal.other == other)
        session.execute(delete(Dismissal).where(Dismissal.project_id == project.id, same))
    else:
        return
    events.record(session, project.id, ("project", {"changed": "suggestions"}))


def _subject(clusters: Sequence[int]) -> tuple[int, int]:
    """Return the clusters that a suggestion is about as its dismissal has them."""
    first, second = [*sorted(clusters), 0, 0][:2]
    return first, second


def _dismissed(session: Session, project: Project) -> set[Subject]:
    columns = Dismissal.kind, Dismissal.cluster, Dismissal.other
    rows = session.execute(select(*columns).where(Dismissal.project_id == project.id))
    return {(kind, cluster, other) for kind, cluster, other in rows}


def _merges(latest: RunOut, sizes: dict[int, int]) -> list[Suggestion]:
    suggestions = []
    for pair in latest.metrics.get("confused_pairs", []):
        clusters, items = [pair["first"], pair["second"]], pair["items"]
        smaller = min(sizes.get(cluster, 0) for cluster in clusters)
        if items >= max(FEWEST_BETWEEN, MERGE_SHARE * smaller):
            text = f"Merge {clusters[0]} and {clusters[1]}? {items:,} items lie between them."
            suggestions.append(Suggestion(kind=SuggestionKind.MERGE, clusters=clusters, text=text))
    return suggestions


def _small(sizes: dict[int, int]) -> list[Suggestion]:
    least = SMALL_SHARE * sum(sizes.values()) / max(1, len(sizes))
    small = sorted((size, cluster) for cluster, size in sizes.items() if size < least)[:MOST_SMALL]
    return [
        Suggestion(
            kind=SuggestionKind.SMALL,
            clusters=[cluster],
            text=f"Cluster {cluster} has {size or 'no'} item{'' if size == 1 else 's'}.",
        )
        for size, cluster in small
    ]


def _answers(latest: RunOut) -> list[Suggestion]:
    """Return the suggestion to go on answering, until 50 answers move fewer than one item in a hundred."""
    level = latest.metrics.get("levels_off")
    if not level or level["median"] == 0:
        return []
    if level["median"] is None:
        text = f"More than {FURTHEST_AHEAD} more answers until the clusters level off."
    else:
        high = f"more than {FURTHEST_AHEAD}" if level["high"] is None else level["high"]
        text = f"About {level['median']} more answers until the clusters level off ({level['low']} to {high})."
    return [Suggestion(kind=SuggestionKind.ANSWERS, clusters=[], text=text)]
