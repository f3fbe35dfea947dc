"""Parses HTML forms into the schemas of the REST interface."""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from tercet.errors import FieldError, Invalid

SchemaT = TypeVar("SchemaT", bound=BaseModel)


def parse(schema: type[SchemaT], fields: Mapping[str, object]) -> SchemaT:
    """Check the fields; raise Invalid with a sentence for each that is wrong."""
    try:
        return schema.model_validate(fields)
    except ValidationError as error:
        errors = [
            FieldError(".".join(map(str, e["loc"])) or "form", e["msg"].removeprefix("Value error, "))
            for e in error.errors()
        ]
        raise Invalid("Nothing was changed: see the fields marked below.", errors) from error
