"""Parses HTML forms into the schemas of the REST interface."""

from collections.abc import Mapping
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData

from tercet.web.errors import FieldError, Invalid

SchemaT = TypeVar("SchemaT", bound=BaseModel)


async def read_fields(request: Request) -> dict[str, str]:
    """Return the texts of a form's fields; browsers write line ends as CR LF."""
    form: FormData = await request.form()
    return {name: value.replace("\r\n", "\n") for name, value in form.items() if isinstance(value, str)}


Fields = Annotated[dict[str, str], Depends(read_fields)]


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
