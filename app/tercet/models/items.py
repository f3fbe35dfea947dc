"""Items, the bags they come from, their tags, and versions of their features."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from tercet.models.base import Base, now, partial_index


class Bag(Base):
    """A group that items come from (a recording, an image), with its bag labels."""

    __tablename__ = "bag"
    __table_args__ = (UniqueConstraint("project_id", "key"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    key: Mapped[str] = mapped_column(String(200))
    labels: Mapped[list[str]] = mapped_column(default=list)


class Item(Base):
    """One thing to be clustered. `position` is its row in every feature array of the project, from 0.

    `media` is the storage key of what the user gave (a WAV to play, an image), `picture` of the image that
    pages show (a spectrogram, the re-encoded image), `thumbnail` of a small one; all may be missing.

    Positions have no gaps and are never given to another item, because stored features and results are by position.
    So an item that is taken out keeps its row: one that is set aside comes back as it was, one that is deleted is
    set aside for good, without key and media.
    """

    __tablename__ = "item"
    __table_args__ = (
        UniqueConstraint("project_id", "key"),
        UniqueConstraint("project_id", "position"),
        # Few are set aside, and what asks for all others looks at these few.
        partial_index("ix_item_set_aside", "project_id", where="set_aside_at IS NOT NULL"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    key: Mapped[str] = mapped_column(String(200))
    position: Mapped[int]
    text: Mapped[str] = mapped_column(Text, default="")
    media_type: Mapped[str | None] = mapped_column(String(40))
    media: Mapped[str | None] = mapped_column(String(200))
    picture: Mapped[str | None] = mapped_column(String(200))
    thumbnail: Mapped[str | None] = mapped_column(String(200))
    bag_id: Mapped[int | None] = mapped_column(ForeignKey("bag.id"), index=True)
    details: Mapped[dict[str, Any]] = mapped_column("metadata", default=dict)
    media_seconds: Mapped[float | None]
    # Of the file that was given: an item that comes again with the same content keeps its media and pictures.
    content_hash: Mapped[str | None] = mapped_column(String(64))
    set_aside_at: Mapped[datetime | None]
    deleted_at: Mapped[datetime | None]


class Tag(Base):
    """A word that analysts put on an item, to find it again; runs take no notice. Taking it off deletes the row."""

    __tablename__ = "tag"
    __table_args__ = (UniqueConstraint("item_id", "name"), Index("ix_tag_project_id_name", "project_id", "name"))

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    item_id: Mapped[int] = mapped_column(ForeignKey("item.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(40))


class FeatureSet(Base):
    """One version of the project's N x D feature array, kept as .npy in storage in item order."""

    __tablename__ = "feature_set"
    __table_args__ = (UniqueConstraint("project_id", "version"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    project_id: Mapped[int] = mapped_column(ForeignKey("project.id", ondelete="CASCADE"))
    version: Mapped[int]
    name: Mapped[str] = mapped_column(String(200), default="features")
    n: Mapped[int]
    d: Mapped[int]
    blob: Mapped[str] = mapped_column(String(200))
    extractor: Mapped[str | None] = mapped_column(String(80))
    feature_names: Mapped[list[str]] = mapped_column(default=list)
    created_at: Mapped[datetime] = mapped_column(default=now)
    # By what Tercet made the features itself, with the group of each column (`group_of_column`), and the same in words;
    # null and empty of an uploaded array.
    recipe: Mapped[dict[str, Any] | None]
    words: Mapped[str] = mapped_column(Text, default="", server_default="")
    # Storage key of what the recipe learned from the items, by which new ones are measured; null of an uploaded array.
    learned: Mapped[str | None] = mapped_column(String(200))
