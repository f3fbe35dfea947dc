"""The OpenAPI description is complete, and the page shows all of it without a script."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tercet.accounts.access import SESSION_COOKIE
from tercet.main import create_app
from tercet.settings import Settings
from tercet.web.api_docs import example_of, operations_by_tag
from tercet.web.openapi import SECURITY

# One kind of database is enough: the description does not depend on it.
pytestmark = pytest.mark.only_on("sqlite")


@pytest.fixture(scope="module")
def openapi(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The description, which takes a second to make."""
    return create_app(Settings(data=tmp_path_factory.mktemp("data"))).openapi()


def operations(openapi: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{m.upper()} {p}", operation) for p, methods in openapi["paths"].items() for m, operation in methods.items()
    ]


def test_every_operation_has_examples(openapi: dict[str, Any]) -> None:
    missing = []
    for name, operation in operations(openapi):
        bodies = {"request": operation["requestBody"]["content"]} if "requestBody" in operation else {}
        bodies |= {
            code: sent.get("content", {}) for code, sent in operation["responses"].items() if code.startswith("2")
        }
        for body, content in bodies.items():
            if not content and body != "204":
                missing.append(f"{name}: {body} has no content")
            with_example = {kind for kind, sent in content.items() if example_of(openapi, {kind: sent})[1]}
            missing += [f"{name}: {body} as {kind}" for kind in sorted(set(content) - with_example)]
    assert missing == []


def test_every_operation_declares_its_problems(openapi: dict[str, Any]) -> None:
    missing = []
    for name, operation in operations(openapi):
        needed = {"401", "403"} | ({"404"} if "{project}" in name else set())
        if needed - set(operation["responses"]):
            missing.append((name, sorted(needed - set(operation["responses"]))))
        for status, response in operation["responses"].items():
            if status >= "4" and "application/problem+json" not in response.get("content", {}):
                missing.append((name, [f"{status} is no problem+json"]))
    assert missing == []


def references(part: Any) -> Iterator[str]:
    for value in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from references(value)
    if isinstance(part, dict) and "$ref" in part:
        yield part["$ref"]


def test_generators_find_all_that_is_named(openapi: dict[str, Any]) -> None:
    schemas = {f"#/components/schemas/{name}" for name in openapi["components"]["schemas"]}
    assert set(references(openapi)) <= schemas
    assert "$defs" not in str(openapi)
    ids = [operation["operationId"] for _, operation in operations(openapi)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[a-z_]{3,30}", name) for name in ids)


def test_every_body_and_problem_has_a_type(openapi: dict[str, Any]) -> None:
    for name, operation in operations(openapi):
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        for sent in [*bodies, *operation["responses"].values()]:
            for media_type, described in sent.get("content", {}).items():
                assert described.get("schema") or media_type == "application/json", (name, media_type)
        for status, response in operation["responses"].items():
            if status >= "4":
                problem = response["content"]["application/problem+json"]
                assert problem["schema"] == {"$ref": "#/components/schemas/Problem"}, name
        assert operation["security"], name


def test_every_operation_is_described(openapi: dict[str, Any]) -> None:
    for name, operation in operations(openapi):
        assert re.search(r"\w\.", operation.get("description", "")), name
        assert operation.get("tags"), name


def test_the_page_shows_every_operation(openapi: dict[str, Any], anonymous: TestClient) -> None:
    page = anonymous.get("/api/docs", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "<script" not in page.text
    text = unescape(page.text)
    for name, operation in operations(openapi):
        assert text.count(f"<code>{name}</code>") == 2, "once in the list, once as a heading"
        for parameter in operation.get("parameters", []):
            assert parameter["name"] in text
    assert "curl -X POST" in text


def test_a_call_quotes_its_body() -> None:
    schema = {"title": "A", "examples": [{"name": "it's"}]}
    openapi = {
        "paths": {
            "/x": {
                "post": {
                    "operationId": "x",
                    "description": "Do it.\n\nWith care.",
                    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/A"}}}},
                    "responses": {"201": {"content": {}}, "409": {}},
                }
            }
        },
        "components": {"schemas": {"A": schema}},
    }
    operation = operations_by_tag(openapi, "http://host")["other"][0]
    assert operation.summary == "Do it."
    assert operation.paragraphs == ["With care."]
    assert operation.problems == ["409 Conflict"]
    assert "it'\"'\"'s" in operation.call
    assert operation.call.endswith("http://host/x")


def test_the_cookie_has_the_name_that_the_description_says() -> None:
    assert SECURITY["session"]["name"] == SESSION_COOKIE
