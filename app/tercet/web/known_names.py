"""Which names a request may use, and the nearest of them to one that it does not have."""

from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from difflib import get_close_matches
from inspect import isclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel


def nearest(name: str, known: frozenset[str]) -> str:
    """Return what to say of an unknown name: the known one that was probably meant, or else all of them."""
    matches = get_close_matches(name[:100], sorted(known), n=1)
    if matches:
        return f": did you mean '{matches[0]}'?"
    return f"; there are {', '.join(sorted(known))}" if known else "; there are none"


def fields_beside(body: Any, location: Sequence[str | int]) -> frozenset[str]:
    """Return the fields that a body may have where a field was found; `location` is as pydantic says it."""
    annotations = [body]
    for part in [part for part in location if part != "body" and not str(part).startswith("form:")][:-1]:
        annotations = [inner for annotation in annotations for inner in _inside(annotation, part)]
    return frozenset(
        name for annotation in annotations for member in _members(annotation) for name in fields_of(member)
    )


def fields_of(model: Any) -> dict[str, Any]:
    """Return the fields of a model or a dataclass with their annotations; nothing else has any."""
    if isclass(model) and issubclass(model, BaseModel):
        return {field.alias or name: field.annotation for name, field in model.model_fields.items()}
    return get_type_hints(model) if is_dataclass(model) else {}


def _inside(annotation: Any, part: str | int) -> Iterator[Any]:
    """Yield the annotations of a field, or of the parts of a list or a mapping."""
    for member in _members(annotation):
        fields = fields_of(member)
        if part in fields:
            yield fields[str(part)]
        elif not fields:
            yield from get_args(member)[-1:]


def _members(annotation: Any) -> Iterator[Any]:
    """Yield an annotation, or the members of a union, without metadata."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _members(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield annotation
