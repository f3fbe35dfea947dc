"""Bad constraints over HTTP: each wrong row is named, and nothing is stored."""

import json
from typing import Any

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from tercet.database import Database
from tercet.exchange.reading import LONGEST_ROW
from tercet.models import Project
from tests.exchange.conftest import NDJSON, URL, keys
from tests.factories import row_counts

# One kind of database will do: all of this is refused before any is asked.
pytestmark = pytest.mark.only_on("sqlite")

GOOD: dict[str, Any] = {"triplet": keys(0, 1, 2), "answer": "yes", "labeler": "Bo"}
ID = "0b6d3b0a-58b1-4a5c-8e6e-6f1f0a4f7c11"
CSV = {"Content-Type": "text/csv"}
JSON = {"Content-Type": "application/json"}


def with_good_around(row: object) -> str:
    return "\n".join([json.dumps(GOOD), row if isinstance(row, str) else json.dumps(row), json.dumps(GOOD)])


@pytest.mark.parametrize(
    ("row", "field", "says"),
    [
        ({**GOOD, "triplet": ["item-0", "item-1", "item-9"]}, "triplet", "no item 'item-9'"),
        ({**GOOD, "triplet": ["item-0", "item-1", "\ud800"]}, "triplet", "no item"),
        ({**GOOD, "triplet": ["item-0", "item-1", "a\0"]}, "triplet", "no item"),
        ({**GOOD, "triplet": keys(0, 1, 0)}, "triplet", "named twice"),
        ({**GOOD, "triplet": keys(0, 1)}, "triplet", "three item keys"),
        ({**GOOD, "triplet": "item-0"}, "triplet", "three item keys"),
        ({**GOOD, "triplet": [0, 1, 2]}, "triplet", "three item keys"),
        ({"answer": "yes"}, "triplet", "three item keys"),
        (
            {**GOOD, "answer": "maybe"},
            "answer",
            "'maybe' is no answer to this question; expected one of yes, no, dnk",
        ),
        ({**GOOD, "answer": 1}, "answer", "no answer"),
        ({"triplet": keys(0, 1, 2)}, "answer", "no answer"),
        ({**GOOD, "labeler": ""}, "labeler", "must not be empty"),
        ({**GOOD, "labeler": 7}, "labeler", "must be a text"),
        ({**GOOD, "labeler": "x" * 201}, "labeler", "201 characters"),
        ({**GOOD, "response_ms": -1}, "response_ms", "no whole number"),
        ({**GOOD, "response_ms": 1.5}, "response_ms", "no whole number"),
        ({**GOOD, "response_ms": True}, "response_ms", "no whole number"),
        ({**GOOD, "response_ms": 2**31}, "response_ms", "no whole number"),
        ({**GOOD, "id": "7"}, "id", "no UUID"),
        ({**GOOD, "id": 7}, "id", "no UUID"),
        ({**GOOD, "anwser": "yes"}, "anwser", "no such field"),
        ("[1, 2, 3]", "row", "must be a JSON object"),
        ('{"triplet": ', "row", "is not JSON"),
        ("[" * 5_000, "row", "is not JSON"),
        ("anchor,left,right", "row", "is not JSON"),
    ],
)
def test_one_bad_row_among_good_ones(
    client: TestClient, database: Database, row: object, field: str, says: str
) -> None:
    before = row_counts(database)
    answer = client.post(URL, content=with_good_around(row), headers=NDJSON)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    [error] = answer.json()["errors"]
    assert (error["row"], error["field"]) == (2, field)
    assert says in error["detail"]
    assert row_counts(database) == before


@pytest.mark.parametrize(
    ("headers", "body", "row", "field", "says"),
    [
        (NDJSON, b"", None, "body", "no rows"),
        (NDJSON, b'{"triplet": "\xe9"}', 1, "encoding", "byte 14 is not UTF-8"),
        (NDJSON, b" " * LONGEST_ROW + b" {}", 1, "row", "longer than"),
        (CSV, b"", None, "anchor", "the file is empty"),
        (CSV, b"anchor,left,right\na,b,c\n", None, "answer", "'answer' is missing"),
        (CSV, b"anchor,left,right,answer,when\n", None, "when", "no column 'when'"),
        (CSV, b"anchor,left,right,answer\nitem-0,item-1,item-2\n", 1, "row", "3 cells"),
        (CSV, b"anchor,left,right,answer\nitem-0,item-1,,yes\n", 1, "triplet", "no item ''"),
        (CSV, b"anchor,left,right,answer\nitem-0,item-1,caf\xe9,yes\n", None, "encoding", "0xE9"),
        (CSV, b"anchor,left,right,answer,response_ms\nitem-0,item-1,item-2,yes,1.5\n", 1, "response_ms", "'1.5'"),
        (
            CSV,
            b"anchor,left,right,answer,response_ms\nitem-0,item-1,item-2,yes," + b"9" * 9_000,
            1,
            "response_ms",
            "9",
        ),
        (JSON, b"", None, "body", "expected a JSON list"),
        (JSON, b"{}", None, "body", "expected a JSON list"),
        (JSON, b"[]", None, "body", "no rows"),
        (JSON, b"[7]", 1, "row", "must be a JSON object"),
        (JSON, b"[{}", None, "body", "expected ',' or ']' behind element 1"),
        (JSON, b"[{} {}]", None, "body", "expected ',' or ']' behind element 1"),
        (JSON, b"[{},]", 2, "row", "is not JSON"),
        (JSON, b'[{"a": "' + b"x" * 300_000 + b'"}', 1, "row", "longer than"),
        (JSON, b'["\xe9"]', None, "encoding", "not UTF-8"),
        (JSON, b"[{}] []", None, "body", "behind the end"),
    ],
)
def test_bodies_that_cannot_be_read(
    client: TestClient,
    database: Database,
    headers: dict[str, str],
    body: bytes,
    row: int | None,
    field: str,
    says: str,
) -> None:
    before = row_counts(database)
    answer = client.post(URL, content=body, headers=headers)
    assert answer.status_code == 422, answer.text
    error = answer.json()["errors"][0]
    assert (error.get("row"), error["field"]) == (row, field), error
    assert says in error["detail"]
    assert row_counts(database) == before


def test_the_first_hundred_faults_are_listed_and_all_are_counted(client: TestClient, database: Database) -> None:
    before = row_counts(database)
    lines = [json.dumps(GOOD)] * 50 + [json.dumps({**GOOD, "answer": "x"})] * 250
    answer = client.post(URL, content="\n".join(lines), headers=NDJSON)
    problem = answer.json()
    assert [error["row"] for error in problem["errors"]] == list(range(51, 151))
    assert "250 faults" in problem["detail"]
    assert row_counts(database) == before


def test_other_types_are_refused(client: TestClient) -> None:
    for kind in ("text/plain", "application/octet-stream", ""):
        answer = client.post(URL, content=json.dumps(GOOD), headers={"Content-Type": kind})
        assert answer.status_code == 415, kind
        assert "application/x-ndjson" in answer.json()["detail"]


def test_one_id_for_two_answers_in_a_file(client: TestClient, database: Database) -> None:
    before = row_counts(database)
    rows = [{**GOOD, "id": ID}, GOOD, {**GOOD, "id": ID, "answer": "no"}]
    answer = client.post(URL, content="\n".join(map(json.dumps, rows)), headers=NDJSON)
    assert answer.status_code == 422, answer.text
    [error] = answer.json()["errors"]
    assert (error["row"], error["field"]) == (3, "id")
    assert "in row 1" in error["detail"]
    assert row_counts(database) == before


def test_bad_export_parameters(client: TestClient, database: Database) -> None:
    assert client.get(URL, params={"format": "xlsx"}).status_code == 422
    assert client.get(URL, params={"after": -1}).status_code == 422
    with database.reading() as session:
        assert session.scalar(sa.select(Project.answer_number)) == 0
