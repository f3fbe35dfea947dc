"""The page of the REST interface: the OpenAPI description, rendered without scripts.

FastAPI's own page loads scripts from another site, which the content security policy refuses and a machine
without a network does not have.
"""

import json
import shlex
from collections import defaultdict
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from tercet.web.rendering import render, site_address

router = APIRouter(include_in_schema=False)

Schema = dict[str, Any]

# Path parameters mean the same everywhere, so they are described once.
MEANINGS = {
    "project": "key of the project",
    "run": "number of the run, or 'latest' for the newest that is done",
    "cluster": "number of the cluster",
    "answer": "id of the answer",
    "labeler": "number of the person, as in the list of labelers",
    "member": "id of the member",
    "key": "key of the item, percent-encoded",
}


@dataclass(frozen=True)
class Parameter:
    """One value in the path, the query or the headers."""

    name: str
    place: str
    required: bool
    kind: str
    description: str


@dataclass(frozen=True)
class Operation:
    """One method of one path, ready to be shown."""

    anchor: str
    method: str
    path: str
    summary: str
    paragraphs: list[str]
    parameters: list[Parameter]
    call: str
    status: str
    response: str
    problems: list[str]


@router.get("/api/docs")
def api_docs_page(request: Request) -> HTMLResponse:
    """Show every path with its parameters and an example."""
    return render(request, "web/api_docs.html", groups=operations_by_tag(request.app.openapi(), site_address(request)))


def operations_by_tag(openapi: Schema, site: str) -> dict[str, list[Operation]]:
    """Read the operations out of an OpenAPI description, in its order, under their first tags."""
    groups: dict[str, list[Operation]] = defaultdict(list)
    for path, methods in openapi["paths"].items():
        for method, described in methods.items():
            tag = described.get("tags", ["other"])[0]
            groups[tag].append(read_operation(openapi, site, path, method.upper(), described))
    return dict(groups)


def read_operation(openapi: Schema, site: str, path: str, method: str, described: Schema) -> Operation:
    """Read one operation."""
    responses = described["responses"]
    status = next((code for code in responses if code.startswith("2")), "200")
    lead, *paragraphs = [part.strip() for part in described.get("description", "").split("\n\n")]
    _, example = example_of(openapi, responses.get(status, {}).get("content", {}))
    return Operation(
        anchor=described["operationId"],
        method=method,
        path=path,
        summary=lead or described.get("summary", ""),
        paragraphs=paragraphs,
        parameters=[read_parameter(openapi, parameter) for parameter in described.get("parameters", [])],
        call=curl(openapi, site + path, method, described),
        status=phrase(status),
        response=example,
        problems=[phrase(code) for code in sorted(responses) if code >= "4"],
    )


def phrase(status: str) -> str:
    """Return a status with its name."""
    return f"{status} {HTTPStatus(int(status)).phrase}"


def read_parameter(openapi: Schema, described: Schema) -> Parameter:
    """Read one parameter."""
    kind = kind_of(openapi, described["schema"])
    required = described.get("required", False)
    meaning = described.get("description") or (MEANINGS.get(described["name"], "") if described["in"] == "path" else "")
    return Parameter(described["name"], described["in"], required, kind, meaning)


def kind_of(openapi: Schema, schema: Schema) -> str:
    """Describe the values of a schema in a word or two, with its default."""
    schema = resolve(openapi, schema)
    options = [option for option in schema.get("anyOf", [schema]) if option.get("type") != "null"]
    resolved = resolve(openapi, options[0])
    kind = " or ".join(map(str, resolved["enum"])) if "enum" in resolved else str(resolved.get("type", "any"))
    default = schema.get("default")
    return kind if default in (None, "") else f"{kind}, {default} if not given"


def resolve(openapi: Schema, schema: Schema) -> Schema:
    """Follow a reference to a named schema."""
    if "$ref" not in schema:
        return schema
    named: Schema = openapi["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return {**named, **{key: value for key, value in schema.items() if key != "$ref"}}


def example_of(openapi: Schema, content: Schema) -> tuple[str, str]:
    """Return the media type and the text of the first example there is; two empty texts if there is none."""
    for media_type, described in content.items():
        named = [example["value"] for example in described.get("examples", {}).values()]
        own_examples = [described["example"]] if "example" in described else named
        if examples := own_examples or examples_in(openapi, described.get("schema", {})):
            return media_type, as_text(examples[0])
    return next(iter(content), ""), ""


def examples_in(openapi: Schema, schema: Schema) -> list[Any]:
    """Return the examples of a schema: its own, those of its first alternative, or a list made of its parts'."""
    schema = resolve(openapi, schema)
    alternatives = schema.get("anyOf") or schema.get("oneOf")  # "oneOf" where a body has several forms
    if alternatives:
        return examples_in(openapi, alternatives[0])
    if "items" in schema:
        of_items = examples_in(openapi, schema["items"])
        return [of_items[:1]] if of_items else schema.get("examples", [])
    of_parts = {name: examples_in(openapi, part) for name, part in schema.get("properties", {}).items()}
    is_complete = bool(of_parts) and all(of_parts.values())
    composed = [{name: examples[0] for name, examples in of_parts.items()}] if is_complete else []
    return schema.get("examples") or composed


def as_text(example: Any) -> str:
    """Return an example as text."""
    return example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)


def curl(openapi: Schema, address: str, method: str, described: Schema) -> str:
    """Return the curl command; forms and files are named, other bodies are included."""
    media_type, body = example_of(openapi, described.get("requestBody", {}).get("content", {}))
    parts = ["curl"] if method == "GET" else [f"curl -X {method}"]
    parts.append("-H 'Authorization: Bearer YOUR_TOKEN'")
    if body and not media_type.startswith("multipart"):
        parts += [f"-H 'Content-Type: {media_type}'", f"--data-binary {shlex.quote(body)}"]
    elif media_type.startswith("multipart"):
        parts.append(body or "-F table=@items.csv")
    elif media_type:
        parts += [f"-H 'Content-Type: {media_type}'", "--data-binary @FILE"]
    return " \\\n  ".join([*parts, shlex.quote(address)])
