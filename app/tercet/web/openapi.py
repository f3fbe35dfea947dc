"""The OpenAPI description, with what FastAPI leaves out: how callers sign in, and the form of every problem."""

from copy import deepcopy
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter

from tercet.errors import FieldError

Schema = dict[str, Any]

SCHEMAS = "#/components/schemas/"
BINARY: Schema = {"type": "string", "format": "binary"}
LINES_OF_JSON = {"application/x-ndjson", "application/jsonl"}
SECURITY: Schema = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "An API token, made on the account page or by 'tercet user token'.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "tercet",
        "description": "Cookie of a signed-in browser.",
    },
}
PROBLEM: Schema = {
    "title": "Problem",
    "description": "What went wrong and what to do (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail", "errors"],
    "properties": {
        "type": {"type": "string", "title": "Type"},
        "title": {"type": "string", "title": "Title", "description": "the status in words"},
        "status": {"type": "integer", "title": "Status"},
        "detail": {"type": "string", "title": "Detail", "description": "a sentence for people"},
        "errors": {"type": "array", "title": "Errors", "items": {"$ref": SCHEMAS + "FieldError"}},
    },
}


def operation_id(route: APIRoute) -> str:
    """Return the name of a route's function, by which generated clients call it."""
    return route.name


def schema_of(model: type[BaseModel]) -> Schema:
    """Return the schema of a body that a handler reads by itself; it gets the model's name."""
    return {"$defs": {model.__name__: model.model_json_schema()}, "$ref": f"#/$defs/{model.__name__}"}


def completed(openapi: Schema) -> Schema:
    """Add the security schemes, the form of problems, and the schemas that bodies define in place."""
    schemas: Schema = openapi["components"]["schemas"]
    schemas["Problem"] = PROBLEM
    schemas["FieldError"] = TypeAdapter(FieldError).json_schema()
    openapi["components"]["securitySchemes"] = SECURITY
    _name_definitions(openapi["paths"], schemas)
    for operation in (operation for methods in openapi["paths"].values() for operation in methods.values()):
        operation["security"] = [{name: []} for name in SECURITY]
        bodies = [operation["requestBody"]] if "requestBody" in operation else []
        for described in [*bodies, *operation["responses"].values()]:
            _add_types(described.get("content", {}))
        for body in bodies:
            # What openapi-python-client writes for a body of several forms cannot be imported if one is required.
            body["required"] = len(body["content"]) == 1
        for response in operation["responses"].values():
            if problem := response.get("content", {}).get("application/problem+json"):
                problem["schema"] = {"$ref": SCHEMAS + "Problem"}
    return openapi


def _add_types(content: Schema) -> None:
    """Say of each file, in or out, whether it is text or bytes."""
    for media_type, described in content.items():
        is_text = media_type.startswith("text/") or media_type in LINES_OF_JSON
        if not described.get("schema") and (is_text or "json" not in media_type):
            described["schema"] = {"type": "string"} if is_text else BINARY


def _name_definitions(part: Any, schemas: Schema) -> None:
    """Move `$defs`, to which nothing in a whole document can refer, to the schemas with names."""
    if isinstance(part, dict):
        for name, schema in part.pop("$defs", {}).items():
            schemas[name] = schema
            _name_definitions(schema, schemas)
        reference = part.get("$ref", "")
        if reference.startswith("#/$defs/"):
            part["$ref"] = SCHEMAS + reference.removeprefix("#/$defs/")
    for value in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _name_definitions(value, schemas)


class DescribedApp(FastAPI):
    """An application whose OpenAPI description is complete."""

    def openapi(self) -> Schema:
        """Return the description, made at the first call."""
        if self.openapi_schema is None:
            self.openapi_schema = completed(deepcopy(super().openapi()))
        return self.openapi_schema
