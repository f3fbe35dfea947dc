"""Practice: a few questions whose answers are known, with the reason after each, before a labeler's first answer.

They are questions of which an analyst said what is right and, if these are too few, questions about settled items:
those of two clusters that a run is sure of. Only a run that learned from answers counts, so that nobody is taught what
an algorithm made of the features alone. What is answered in practice is never stored.
"""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from tercet.accounts.access import Access
from tercet.items.queries import items_set_aside
from tercet.labeling import flags, presentation, queries
from tercet.labeling.canonical import Ids, order
from tercet.labeling.descriptions import described
from tercet.labeling.schemas import PracticeQuestion
from tercet.labeling.skips import skip
from tercet.models import Answer, Item, Project, QuestionKind, Triplet
from tercet.runs.in_use import labels_in_use
from tercet.runs.queries import cluster_notes, last_done
from tercet.runs.results import load_cached
from tercet.storage import Storage
from tercet.web.languages import Words

QUESTIONS = 5
SURE = 0.95  # the least probability of a settled item's cluster
FEWEST_ANSWERS = 50  # that a run has learned from, before its clusters teach anybody


class Drawn(NamedTuple):
    """A question to practise with, in canonical order, its right answer there, and why that is right."""

    id: int
    triplet: Ids
    value: str
    names: tuple[str, str] | None  # of the cluster of two items and of that of the third; None where an analyst said so


class Settled(NamedTuple):
    """The positions of settled items by cluster, and the names of clusters that have some."""

    run: int
    positions: Mapping[int, Sequence[int]]
    names: Mapping[int, str]


def is_possible(session: Session, storage: Storage, project: Project) -> bool:
    """Return whether the project wants practice and has questions for it."""
    if not project.practice:
        return False
    return bool(_count_known(session, project)) or _settled(session, storage, project) is not None


def draw(session: Session, storage: Storage, access: Access, words: Words) -> list[PracticeQuestion]:
    """Draw questions to practise with; known ones are never asked of this labeler again."""
    project, user_id = access.project, access.user.id
    if not project.practice:
        return []
    left_out = flags.flagged_by(session, project.id, user_id) | items_set_aside(session, project.id)
    drawn = _known(session, project, left_out)
    for question in drawn:
        skip(session, question.id, user_id)
    settled = _settled(session, storage, project)
    if settled is not None:
        drawn += _about_settled(session, project, settled, left_out, QUESTIONS - len(drawn))
    rows = queries.displayed_items(session, {item_id for question in drawn for item_id in question.triplet})
    rows = described(session, storage, project.id, rows)
    return [
        PracticeQuestion(
            **presentation.question(access.labeler.project, user_id, question.id, question.triplet, rows),
            answer=(answer := presentation.answer(project.question_kind, user_id, question.id, *question[1:3])),
            reason=reason(answer, question.names, words),
        )
        for question in drawn
    ]


def reason(answer: str, names: tuple[str, str] | None, words: Words) -> str:
    """Say why an answer is right: which two of the items, by their places on the screen, are of one group."""
    if names is None:
        return words.say("The people who run this project say so.")
    first, second, third = {"yes": (1, 2, 3), "no": (1, 3, 2), "1": (2, 3, 1), "2": (1, 3, 2), "3": (1, 2, 3)}[answer]
    places = {"first": first, "second": second, "third": third}
    if not any(names):
        return words.say("%(first)s and %(second)s are of one group, %(third)s is of another.", **places)
    pair_name, third_name = (f"“{name}”" if name else words.say("a group without a name") for name in names)
    named = {"pair_name": pair_name, "third_name": third_name}
    return words.say("%(first)s and %(second)s: %(pair_name)s; %(third)s: %(third_name)s.", **places, **named)


def _count_known(session: Session, project: Project) -> int:
    return session.scalar(select(func.count()).select_from(Answer).where(queries.is_right(project.id))) or 0


def _known(session: Session, project: Project, left_out: set[int]) -> list[Drawn]:
    """Return questions whose answers an analyst said to be right."""
    columns = Triplet.id, Triplet.anchor_id, Triplet.left_id, Triplet.right_id, Answer.value
    rows = session.execute(
        select(*columns).join(Triplet, Triplet.id == Answer.triplet_id).where(queries.is_right(project.id))
    ).all()
    known = {key: Drawn(key, (a, b, c), value, None) for key, a, b, c, value in rows if not left_out & {a, b, c}}
    return random.sample(list(known.values()), min(QUESTIONS, len(known)))


def _settled(session: Session, storage: Storage, project: Project) -> Settled | None:
    """Return the settled items of the newest clusters, if two clusters have some and answers made them."""
    run = last_done(session, project.id)
    if run is None or run.result is None or (run.answers_to or 0) < FEWEST_ANSWERS:
        return None
    result = load_cached(storage, run.result)
    labels = np.where(result.confidence >= SURE, labels_in_use(session, project.id, result.labels), -1)
    positions = {int(cluster): np.flatnonzero(labels == cluster).tolist() for cluster in np.unique(labels[labels > 0])}
    if len(positions) < 2 or max(map(len, positions.values())) < 2:
        return None
    names = {cluster: note.name for cluster, note in cluster_notes(session, run).items()}
    return Settled(run.number, positions, names)


def _about_settled(session: Session, project: Project, settled: Settled, left_out: set[int], count: int) -> list[Drawn]:
    """Return up to `count` questions about two settled items of one cluster and one of another."""
    chosen: list[tuple[list[int], tuple[str, str]]] = []
    pairs = [cluster for cluster, positions in settled.positions.items() if len(positions) > 1]
    for _ in range(count):
        pair = random.choice(pairs)
        third = random.choice([cluster for cluster in settled.positions if cluster != pair])
        places = [*random.sample(settled.positions[pair], 2), random.choice(settled.positions[third])]
        chosen.append((places, (settled.names.get(pair, ""), settled.names.get(third, ""))))
    positions = {position for places, _ in chosen for position in places}
    rows = select(Item.position, Item.id).where(Item.project_id == project.id, Item.position.in_(positions))
    ids = dict(session.execute(rows).all())
    triplets = [((ids[a], ids[b], ids[c]), names) for (a, b, c), names in chosen]
    return [
        _asked(project, number, triplet, names)
        for number, (triplet, names) in enumerate(triplets)
        if not left_out & set(triplet)
    ]


def _asked(project: Project, number: int, triplet: Ids, names: tuple[str, str]) -> Drawn:
    """Return the question about an item, one like it, and one of another cluster; `number` varies the sides."""
    anchor, like, other = triplet
    stored = order(project.question_kind, triplet)
    if project.question_kind == QuestionKind.OUTLIER:
        return Drawn(number, stored, str(stored.index(other) + 1), names)
    return Drawn(number, (anchor, *stored[1:]), "yes" if stored[1] == like else "no", names)
