"""Practice: which questions it is made of, that its answers and reasons are true, and when there is none."""

from uuid import uuid4

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select, update

from tercet.models import Answer, ClusterNote, Project, Run, Skip
from tercet.runs import results
from tests.dashboard.results import add_result
from tests.labeling.conftest import SONGS, World, ask, give

CLUSTERS = [1] * 5 + [2] * 4 + [3] * 3
UNSURE = {0, 5, 9}
PAGE = "/projects/songs/label"


def add_settled(app: FastAPI, project: Project, answers: int = 50) -> None:
    """Add clusters of twelve items, three of them unsure, from so many answers; name the first."""
    storage = app.state.storage
    with app.state.database.transaction() as session:
        run = add_result(session, storage, project, 1, CLUSTERS)
        labels = np.array(CLUSTERS, dtype=np.int16)
        posterior = np.full((12, 3), 0.01, dtype=np.float32)
        posterior[np.arange(12), labels - 1] = [0.6 if place in UNSURE else 0.98 for place in range(12)]
        run.token = 2
        result = results.Result(labels, posterior.max(axis=1), posterior)
        run.result = results.save(storage, run, result, np.zeros((12, 2)))
        run.answers_to = answers
        session.add(ClusterNote(project_id=project.id, run_id=run.id, cluster=1, name="buzz", note=""))


def practise(client: TestClient) -> list[dict]:
    response = client.post(f"{SONGS}/practice")
    assert response.status_code == 201, response.text
    return response.json()["triplets"]


def cluster_of(key: str) -> int:
    return CLUSTERS[int(key.removeprefix("item-"))]


@pytest.mark.parametrize("kind", ["relative", "outlier"])
def test_settled_items_of_two_clusters_make_questions_with_true_answers_and_reasons(
    app: FastAPI, ada: TestClient, world: World, kind: str
) -> None:
    add_settled(app, world.project)
    with app.state.database.transaction() as session:
        session.execute(update(Project).values(question_kind=kind))
    questions = [question for _ in range(4) for question in practise(ada)]
    assert len(questions) == 20
    for question in questions:
        keys = question["triplet"]
        clusters = [cluster_of(key) for key in keys]
        assert not UNSURE & {int(key.removeprefix("item-")) for key in keys}
        odd = next(place for place in range(3) if clusters.count(clusters[place]) == 1)
        assert question["answer"] == (str(odd + 1) if kind == "outlier" else {1: "no", 2: "yes"}[odd])
        pair = [str(place + 1) for place in range(3) if place != odd]
        names = ["“buzz”" if clusters[place] == 1 else "a group without a name" for place in (int(pair[0]) - 1, odd)]
        if 1 in clusters:
            assert question["reason"] == f"{' and '.join(pair)}: {names[0]}; {odd + 1}: {names[1]}."
        else:
            assert question["reason"] == f"{' and '.join(pair)} are of one group, {odd + 1} is of another."
        assert set(question["items"]) == set(keys)
    assert len({question["answer"] for question in questions}) == (3 if kind == "outlier" else 2)
    with app.state.database.reading() as session:
        assert session.scalars(select(Answer)).all() == []


def test_what_an_analyst_answered_comes_first_and_is_no_test_any_more(
    app: FastAPI, ada: TestClient, ben: TestClient, world: World
) -> None:
    add_settled(app, world.project)
    asked = ask(ben, 3)
    for triplet in asked:
        give(ben, triplet, "no")
    with app.state.database.transaction() as session:
        session.execute(update(Answer).where(Answer.number <= 2).values(known_at=Answer.created_at))
    questions = practise(ada)
    by_analyst = [question for question in questions if question["reason"].startswith("The people")]
    assert len(questions) == 5
    assert questions[:2] == by_analyst
    assert {frozenset(question["triplet"]) for question in by_analyst} == set(map(frozenset, asked[:2]))
    for question in by_analyst:
        anchor, items = question["triplet"][0], set(question["triplet"])
        first = next(triplet for triplet in asked if triplet[0] == anchor and set(triplet) == items)
        assert question["answer"] == ("no" if question["triplet"] == first else "yes")
    with app.state.database.reading() as session:
        skipped = session.scalars(select(Skip.triplet_id).where(Skip.labeler_id == world.ada.id)).all()
        known = session.scalars(select(Answer.triplet_id).where(Answer.known_at.is_not(None))).all()
        assert sorted(skipped) == sorted(known)


def test_it_is_offered_before_the_first_answer_only_and_where_something_is_settled(
    app: FastAPI, ada: TestClient, analyst: TestClient, world: World
) -> None:
    offered = "&#34;practice&#34;: true"
    assert offered not in ada.get(PAGE).text
    assert practise(ada) == []
    add_settled(app, world.project, answers=49)
    assert offered not in ada.get(PAGE).text, "clusters of the features alone teach nobody"
    with app.state.database.transaction() as session:
        session.execute(update(Run).values(answers_to=50))
    assert offered in ada.get(PAGE).text
    assert offered not in ada.get(PAGE, params={"without_questions": True}).text
    assert analyst.patch(SONGS, json={"practice": False}).json()["practice"] is False
    assert offered not in ada.get(PAGE).text
    assert practise(ada) == []
    analyst.post("/projects/songs/settings", data={"practice": "true"})
    assert offered in ada.get(PAGE).text
    give(ada, ask(ada)[0])
    assert offered not in ada.get(PAGE).text


def test_labelers_are_told_what_is_right_where_an_analyst_said_so_and_the_project_tells(
    app: FastAPI, ada: TestClient, ben: TestClient, analyst: TestClient
) -> None:
    triplet, *others = ask(ben, 2)
    key = uuid4()
    give(ben, triplet, "no")
    give(ada, triplet, "yes", str(key))
    place = f"{SONGS}/answers/{key}/right"
    with app.state.database.transaction() as session:
        session.execute(update(Answer).where(Answer.number == 1).values(known_at=Answer.created_at))
    assert ada.get(place).json()["answer"] is None, "the project does not tell"
    assert analyst.patch(SONGS, json={"feedback": True}).json()["feedback"] is True
    right = ada.get(place).json()
    # Sides are each labeler's own: what Ben saw on the left may be on Ada's right.
    assert right["answer"] == ("no" if right["triplet"] == triplet else "yes")
    assert set(right["triplet"]) == set(triplet)
    assert ben.get(place).status_code == 404, "of other people's answers they are told nothing"
    give(ada, others[0], "yes", str(other := uuid4()))
    assert ada.get(f"{SONGS}/answers/{other}/right").json()["answer"] is None
