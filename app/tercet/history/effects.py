"""What fifty answers of a labeler changed, from the stored runs before and after them: true, or nothing is said.

Nothing is said of two runs that differ in more than their answers: in parameters, items or edits by an analyst.
"""

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
from tercet.web.languages import Words

BLOCK = 50  # answers of a labeler that are looked at together
LATEST_BLOCKS = 3  # the runs that use the newest answers may not be done yet
FEWEST_BETWEEN = 5  # items between two clusters, before less than half as many are worth a word


class Apart(NamedTuple):
    """How many items lay between two clusters, and how many do now."""

    before: int
    now: int


def effect(session: Session, storage: Storage, access: Access, words: Words) -> Effect:
    """Say what the labeler's newest fifty answers that runs have used changed, as far as it can be told."""
    count = queries.count_answers(session, access.project.id, access.user.id)
    newest = count // BLOCK
    for block in range(newest, max(0, newest - LATEST_BLOCKS), -1):
        first, last = queries.numbers_of_block(session, access.project.id, access.user.id, block, BLOCK)
        before, after = queries.runs_around(session, access.project.id, first, last)
        if after is not None:
            said = "" if before is None else _say(session, storage, access, (before, after), words)
            return Effect(block=block, sentence=said or None)
    return Effect(block=None, sentence=None)


def _say(session: Session, storage: Storage, access: Access, runs: tuple[Run, Run], words: Words) -> str:
    """Return the sentence about two runs; empty where they differ in more than their answers."""
    before, after = runs
    if before.result is None or after.result is None or not _differ_in_answers_only(session, access.project, *runs):
        return ""
    results_of = [results.load_cached(storage, key) for key in (before.result, after.result)]
    labels = [labels_in_use(session, access.project.id, result.labels) for result in results_of]
    flows = flows_between(*labels)
    numbers = before.answers_to or 0, after.answers_to or 0
    own, others = queries.count_between(session, access.project.id, access.user.id, *numbers)
    counts = {"own": f"{own:,}", "others": f"{others:,}"}
    beginning = words.say("With %(own)s answers of yours:", own=counts["own"])
    if others:
        beginning = words.say("With %(own)s answers of yours and %(others)s by others:", **counts)
    shares = share_foreseen(RunOut.of(before)), share_foreseen(RunOut.of(after))
    parts = [*_told_apart(before, results_of[1], flows, words), _moved(flows, words), *_foreseen(*shares, words)]
    return f"{beginning} {'; '.join(parts)}."


def _differ_in_answers_only(session: Session, project: Project, before: Run, after: Run) -> bool:
    settings = [
        (run.algorithm, run.parameters, run.feature_set_id, run.metrics.get("n_items")) for run in (before, after)
    ]
    restored = any("adopted_from" in run.metrics for run in (before, after))
    edits = queries.count_edits(session, project.id, before.started_at, after.started_at)
    return settings[0] == settings[1] and not restored and not edits


def _told_apart(before: Run, now: results.Result, flows: Flows, words: Words) -> list[str]:
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
    values = {"now": best.now, "before": f"{best.before:,}"}
    return [words.say("two groups are told apart better (items between them: %(now)s, before: %(before)s)", **values)]


def _moved(flows: Flows, words: Words) -> str:
    values = {"count": f"{len(flows.moved):,}", "items": f"{flows.items:,}"}
    if not len(flows.moved):
        return words.say("all %(items)s items stayed in their groups", **values)
    return words.say("%(count)s of %(items)s items moved to another group", **values)


def _foreseen(before: float | None, now: float | None, words: Words) -> list[str]:
    if before is None or now is None or f"{before:.0%}" == f"{now:.0%}":
        return []
    values = {"now": f"{100 * now:.0f}", "before": f"{100 * before:.0f}"}
    return [words.say("%(now)s %% of new answers were foreseen, %(before)s %% before", **values)]
