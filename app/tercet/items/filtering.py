"""Which items a page or a list is about: the filter of its address, as conditions on items.

The map, the gallery, the cards, the answers and the lists of items all take the same filter, so that it means the same
everywhere, survives a reload, and is shared by sending the address.
"""

import json
from typing import Any

from pydantic import BaseModel, Field, field_validator
from sqlalchemy import ColumnElement, String, cast, or_, select
from sqlalchemy.orm import Session

from tercet.models import Bag, Item, Tag
from tercet.web.texts import Text

COLUMN = "column:"
BAG = "bag"


class ItemFilter(BaseModel):
    """Which items: those that pass all parts; an empty part lets all pass."""

    text: Text = Field("", max_length=200, description="items that have it in key, text, bag or metadata")
    tag: Text = Field("", max_length=40, description="items with this tag")
    by: Text = Field("", max_length=210, description="`bag`, or a column of metadata, such as `column:site`")
    value: Text = Field("", max_length=1_000, description="items that have this in `by`")

    @field_validator("by")
    @classmethod
    def _check_by(cls, value: str) -> str:
        if value and value != BAG and not value.startswith(COLUMN):
            raise ValueError(f"is neither '{BAG}' nor a column such as '{COLUMN}site'")
        return value

    def given(self, **changes: str) -> dict[str, str]:
        """Return the query string of what differs from the defaults, with changes; an empty one takes a part away."""
        parts = self.model_dump(mode="json", exclude_defaults=True, exclude={"after"}) | changes
        without_value = set() if parts.get("by") else {"value"}
        return {name: str(part) for name, part in parts.items() if part != "" and name not in without_value}

    @property
    def is_set(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.text or self.tag or self.by)

    @property
    def column(self) -> str:
        """What `by` names, in the words of the page."""
        return self.by.removeprefix(COLUMN)


def conditions(project_id: int, items: ItemFilter) -> list[ColumnElement[bool]]:
    """Return the conditions for the items in use of a project that pass a filter."""
    passing: list[ColumnElement[bool]] = [Item.project_id == project_id, Item.set_aside_at.is_(None)]
    if items.text:
        passing.append(_has_text(project_id, items.text))
    if items.tag:
        tagged = select(Tag.item_id).where(Tag.project_id == project_id, Tag.name == items.tag)
        passing.append(Item.id.in_(tagged))
    if items.by == BAG:
        bags = select(Bag.id).where(Bag.project_id == project_id, Bag.key == items.value)
        passing.append(Item.bag_id.in_(bags))
    elif items.by:
        passing.append(_has_cell(items.column, items.value))
    return passing


def positions(session: Session, project_id: int, items: ItemFilter) -> list[int]:
    """Return the positions of the items in use that pass a filter, in order."""
    statement = select(Item.position).where(*conditions(project_id, items))
    return list(session.scalars(statement.order_by(Item.position)))


def _has_text(project_id: int, text: str) -> ColumnElement[bool]:
    bags = select(Bag.id).where(Bag.project_id == project_id, Bag.key.icontains(text, autoescape=True))
    # Metadata as JSON, in which SQLite has other letters than ASCII, and both have quotes, by escapes.
    forms = (text, json.dumps(text)[1:-1])
    return or_(
        Item.key.icontains(text, autoescape=True),
        Item.text.icontains(text, autoescape=True),
        Item.bag_id.in_(bags),
        *(cast(Item.details, String).icontains(form, autoescape=True) for form in forms),
    )


def _has_cell(column: str, value: str) -> ColumnElement[bool]:
    cell: Any = Item.details[column].as_string()
    # True and False are written small in JSON, and are 1 and 0 to SQLite.
    forms = {"True": ["True", "true", "1"], "False": ["False", "false", "0"]}.get(value, [value])
    return or_(*(cast(cell, String) == form for form in forms))
