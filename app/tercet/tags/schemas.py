"""What comes in and goes out about tags, as JSON."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tercet.items.queries import BETWEEN_TAGS
from tercet.web.texts import Name, Text

MOST_ITEMS = 5_000
LONGEST_TAG = 40


def _check_tag(value: str) -> str:
    separator = BETWEEN_TAGS.strip()
    if separator in value:
        raise ValueError(f"must not have a '{separator}', which is between the tags of an item in exports")
    return value


TagName = Annotated[Name, Field(max_length=LONGEST_TAG), AfterValidator(_check_tag)]
Keys = Annotated[list[Text], Field(max_length=MOST_ITEMS)]
CHANGE_EXAMPLE: dict[str, Any] = {"tag": "two birds", "add": ["song-17", "song-23"], "remove": []}


class TagChange(BaseModel):
    """A tag, and the items that shall have it and not have it, by key."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [CHANGE_EXAMPLE]})

    tag: TagName
    add: Keys = Field([], description="keys of items that get the tag")
    remove: Keys = Field([], description="keys of items that lose it")


class TagChanged(BaseModel):
    """What a change did: the items that have the tag now and had not, and the other way round."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"tag": "two birds", "added": ["song-17"], "removed": []}]}
    )

    tag: str
    added: list[str]
    removed: list[str]


class TagCount(BaseModel):
    """A tag, and how many items in use have it."""

    model_config = ConfigDict(from_attributes=True)

    tag: str
    items: int


class TagList(BaseModel):
    """All tags of a project, by name."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"tags": [{"tag": "two birds", "items": 14}]}]})

    tags: list[TagCount]
