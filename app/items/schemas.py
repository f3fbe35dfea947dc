"""What comes in and goes out about items and features."""

from datetime import datetime
from typing import Any, Protocol, TypedDict
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from app.items.tables import ItemRow
from app.models import FeatureSet, Item

MOST_ROWS = 200_000
ITEM_EXAMPLE: dict[str, Any] = {
    "key": "song-17",
    "text": "",
    "bag": "recording-3",
    "bag_labels": ["Swainson's thrush"],
    "metadata": {"site": "A1"},
}
ITEM_OUT_EXAMPLE: dict[str, Any] = {
    "key": "song-17",
    "position": 16,
    "text": "",
    "media_type": "audio/wav",
    "media_url": "/api/v1/projects/forest-songs/media/media/song-17",
    "picture_url": "/api/v1/projects/forest-songs/media/picture/song-17",
    "thumbnail_url": "/api/v1/projects/forest-songs/media/thumbnail/song-17",
    "bag": "recording-3",
    "metadata": {"site": "A1"},
}
FEATURES_EXAMPLE: dict[str, Any] = {
    "version": 1,
    "name": "features",
    "n": 4998,
    "d": 38,
    "created_at": "2026-05-02T09:30:00Z",
}


class ItemIn(BaseModel):
    """One item to add."""

    model_config = ConfigDict(extra="forbid")

    key: str
    text: str = ""
    bag: str | None = None
    bag_labels: list[str] = []
    metadata: dict[str, Any] = {}

    def row(self) -> ItemRow:
        """Give the item as a row of a table."""
        return ItemRow(self.key, self.text, self.bag, tuple(self.bag_labels), None, self.metadata)


class ItemsIn(BaseModel):
    """Items to add."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"items": [ITEM_EXAMPLE]}]})

    items: list[ItemIn] = Field(min_length=1, max_length=MOST_ROWS)


class Looks(Protocol):
    """What is read of an item to show it: its words, and the storage keys of its media."""

    @property
    def key(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def media_type(self) -> str | None: ...
    @property
    def media(self) -> str | None: ...
    @property
    def picture(self) -> str | None: ...
    @property
    def thumbnail(self) -> str | None: ...


class Shown(TypedDict):
    """What every interface gives to show an item; a missing medium is None."""

    text: str
    media_type: str | None
    media_url: str | None
    picture_url: str | None
    thumbnail_url: str | None


def shown(project: str, item: Looks) -> Shown:
    """Give an item's words and the addresses of its media."""
    name = quote(item.key, safe="")

    def link(kind: str, stored: str | None) -> str | None:
        return f"/api/v1/projects/{project}/media/{kind}/{name}" if stored else None

    return {
        "text": item.text,
        "media_type": item.media_type,
        "media_url": link("media", item.media),
        "picture_url": link("picture", item.picture),
        "thumbnail_url": link("thumbnail", item.thumbnail),
    }


class ItemOut(BaseModel):
    """One item; a missing medium is null."""

    key: str
    position: int
    text: str
    media_type: str | None
    media_url: str | None
    picture_url: str | None
    thumbnail_url: str | None
    bag: str | None
    metadata: dict[str, Any]

    @classmethod
    def of(cls, project: str, item: Item, bag: str | None) -> "ItemOut":
        """Show an item of the project."""
        return cls(
            key=item.key,
            position=item.position,
            **shown(project, item),
            bag=bag,
            metadata=item.details,
        )


class ItemList(BaseModel):
    """A page of items; `next` is the `after` of the next page."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [ITEM_OUT_EXAMPLE], "next": None}]})

    items: list[ItemOut]
    next: int | None


class FeaturesOut(BaseModel):
    """One version of the project's features."""

    model_config = ConfigDict(from_attributes=True, json_schema_extra={"examples": [FEATURES_EXAMPLE]})

    version: int
    name: str
    n: int
    d: int
    created_at: datetime

    @classmethod
    def of(cls, features: FeatureSet | None) -> "FeaturesOut | None":
        """Show features, if there are any."""
        return None if features is None else cls.model_validate(features)


class ImportedOut(BaseModel):
    """What was added."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"added": 4998, "features": FEATURES_EXAMPLE}]})

    added: int
    features: FeaturesOut | None
