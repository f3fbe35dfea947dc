"""What fifty answers of a labeler changed, from the stored runs before and after them: true, or nothing is said.

Nothing is said of two runs that differ in more than their answers: in parameters, items or edits by an analyst.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy.orm import Session

from tercet.accounts.access import Access
from tercet.history import queries
from tercet.history.flows import Flows, flows_between
from tercet.history.schemas import Effect
from tercet.history.timeline import share_foreseen
from tercet.models import Project, Run
from tercet.runs import results
from tercet.runs.confusion import items_between
from tercet.runs.in_use import labels_in_use
from tercet.runs.schemas import RunOut
from tercet.storage import Storage

BLOCK = 50  # answers of a labeler that are looked at together
LATEST_BLOCKS = 3  # the runs that use the newest answers may not be done yet
FEWEST_BETWEEN = 5  # items between two clusters, before less than half as many are worth a word


class Apart(NamedTuple):
    """How many items lay between two clusters, and how many do now."""

    before: int
    now: int


def effect(session: Session, storage: Storage, access: Access) -> Effect:
    """Say what the labeler's newest fifty answers that runs have used changed, as far as it can be told."""
    count = queries.count_answers(session, access.project.id, access.user.id)
    newest = count // BLOCK
    for block in range(newest, max(0, newest - LATEST_BLOCKS), -1):
        first, last = queries.numbers_of_block(session, access.project.id, access.user.id, block, BLOCK)
        before, after = queries.runs_around(session, access.project.id, first, last)
        if after is not None:
            said = "" if before is None else _say(session, storage, access, before, after)
            return Effect(block=block, sentence=said or None)
    return Effect(block=None, sentence=None)


def _say(session: Session, storage: Storage, access: Access, before: Run, after: Run) -> str:
    """Return the sentence about two runs; empty where they differ in more than their answers."""
    if (
        before.result is None
        or after.result is None
        or not _differ_in_answers_only(session, access.project, before, after)
    ):
        return ""
    results_of = [results.load_cached(storage, key) for key in (before.result, after.result)]
    labels = [labels_in_use(session, access.project.id, result.labels) for result in results_of]
    flows = flows_between(*labels)
    own, others = queries.count_between(
        session, access.project.id, access.user.id, before.answers_to or 0, after.answers_to or 0
    )
    parts = [
        *_told_apart(before, results_of[1], flows),
        _moved(flows),
        *_foreseen(share_foreseen(RunOut.of(before)), share_foreseen(RunOut.of(after))),
    ]
    by_others = f" and {others:,} by others" if others else ""
    return f"With {own:,} answers of yours{by_others}: {_listed(parts)}."


def _differ_in_answers_only(session: Session, project: Project, before: Run, after: Run) -> bool:
    settings = [
        (run.algorithm, run.parameters, run.feature_set_id, run.metrics.get("n_items")) for run in (before, after)
    ]
    restored = any("adopted_from" in run.metrics for run in (before, after))
    edits = queries.count_edits(session, project.id, before.started_at, after.started_at)
    return settings[0] == settings[1] and not restored and not edits


def _told_apart(before: Run, now: results.Result, flows: Flows) -> list[str]:
    """Return in words which two clusters were mixed up most and are now half as much or less."""
    pairs = [
        Apart(pair["items"], len(items_between(now, flows.matched[pair["first"]], flows.matched[pair["second"]])))
        for pair in before.metrics.get("confused_pairs", [])
        if pair["first"] in flows.matched and pair["second"] in flows.matched
    ]
    apart = [pair for pair in pairs if pair.before >= FEWEST_BETWEEN and 2 * pair.now <= pair.before]
    if not apart:
        return []
    best = max(apart, key=lambda pair: pair.before - pair.now)
    return [f"two groups are told apart better ({best.now or 'no'} items lie between them, {best.before:,} did)"]


def _moved(flows: Flows) -> str:
    moved = len(flows.moved)
    if not moved:
        return f"all {flows.items:,} items stayed in their groups"
    return f"{moved:,} of {flows.items:,} items moved to another group"


def _foreseen(before: float | None, now: float | None) -> list[str]:
    if before is None or now is None or f"{before:.0%}" == f"{now:.0%}":
        return []
    return [f"{100 * now:.0f} % of new answers were foreseen, {100 * before:.0f} % before"]


def _listed(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"
