"""JSON of items and features."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol, Self, TypedDict
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from tercet.models import FeatureSet, Item
from tercet.request_context import local

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
    "tags": ["two birds"],
    "set_aside_at": None,
}
FEATURES_EXAMPLE: dict[str, Any] = {
    "version": 1,
    "name": "features",
    "n_items": 4998,
    "n_features": 38,
    "created_at": "2026-05-02T09:30:00Z",
}


class Looks(Protocol):
    """The columns needed to show an item: its text, and the storage keys of its media."""

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
    """What every interface sends to show an item; a missing medium is None."""

    text: str
    media_type: str | None
    media_url: str | None
    picture_url: str | None
    thumbnail_url: str | None


def media_address(project: str, kind: str, key: str) -> str:
    """Return the address of an item's media, picture or thumbnail."""
    return local(f"/api/v1/projects/{project}/media/{kind}/{quote(key, safe='')}")


def shown(project: str, item: Looks) -> Shown:
    """Return an item's text and the addresses of its media."""

    def link(kind: str, stored: str | None) -> str | None:
        return media_address(project, kind, item.key) if stored else None

    return {
        "text": item.text,
        "media_type": item.media_type,
        "media_url": link("media", item.media),
        "picture_url": link("picture", item.picture),
        "thumbnail_url": link("thumbnail", item.thumbnail),
    }


class PlacedItem(BaseModel):
    """An item with its place in the project; a missing medium is null."""

    key: str
    position: int
    text: str
    media_type: str | None
    media_url: str | None
    picture_url: str | None
    thumbnail_url: str | None

    @classmethod
    def of(cls, project: str, item: Item, **values: Any) -> Self:
        """Return the schema of an item; `values` are those of further fields."""
        return cls(key=item.key, position=item.position, **shown(project, item), **values)


class ItemOut(PlacedItem):
    """One item; a missing medium is null."""

    model_config = ConfigDict(json_schema_extra={"examples": [ITEM_OUT_EXAMPLE]})

    bag: str | None
    metadata: dict[str, Any]
    tags: list[str] = Field([], description="words that analysts put on it")
    set_aside_at: datetime | None = None

    @classmethod
    def of_item(cls, project: str, item: Item, bag: str | None, tags: Mapping[int, list[str]]) -> Self:
        """Return the schema of an item with the key of its bag; `tags` has those of each position."""
        about = {"bag": bag, "metadata": item.details, "tags": tags.get(item.position, [])}
        return cls.of(project, item, **about, set_aside_at=item.set_aside_at)


class ItemList(BaseModel):
    """A page of items; `next` is the `after` of the next page."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"items": [ITEM_OUT_EXAMPLE], "next": None}]})

    items: list[ItemOut]
    next: int | None


class FeaturesOut(BaseModel):
    """One version of the project's features."""

    model_config = ConfigDict(
        from_attributes=True, populate_by_name=True, json_schema_extra={"examples": [FEATURES_EXAMPLE]}
    )

    version: int
    name: str
    n_items: int = Field(validation_alias="n")
    n_features: int = Field(validation_alias="d")
    created_at: datetime

    @classmethod
    def of(cls, features: FeatureSet | None) -> "FeaturesOut | None":
        """Show features, if there are any."""
        return None if features is None else cls.model_validate(features)
