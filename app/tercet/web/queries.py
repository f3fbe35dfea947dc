"""Refuses query parameters that a REST route does not have: one that is ignored in silence is a wrong answer."""

from collections.abc import Iterator
from inspect import isclass

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from tercet.errors import FieldError, Invalid
from tercet.web.known_names import nearest

REST = "/api/"


async def refuse_unknown_parameters(request: Request) -> None:
    """Raise Invalid for unknown query parameters, with the nearest known one; pages take what other sites add."""
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute) or not route.path.startswith(REST):
        return
    known = parameters_of(route)
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        errors = [FieldError(name[:100], f"is no query parameter here{nearest(name, known)}") for name in unknown]
        raise Invalid(f"The address has {'parameters' if len(unknown) > 1 else 'a parameter'} unknown here.", errors)


def parameters_of(route: APIRoute) -> frozenset[str]:
    """Return the names of a route's query parameters."""
    return frozenset(_names(route.dependant))


def _names(dependant: Dependant) -> Iterator[str]:
    for field in dependant.query_params:
        annotation = field.field_info.annotation
        if isclass(annotation) and issubclass(annotation, BaseModel):
            yield from (part.alias or name for name, part in annotation.model_fields.items())
        else:
            yield field.alias
    for dependency in dependant.dependencies:
        yield from _names(dependency)
