"""Reads items: counts, pages, and look-ups from keys to ids and back."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import ColumnElement, String, bindparam, case, cast, func, select
from sqlalchemy.orm import Session

from tercet.models import Bag, FeatureSet, Item, Tag

# SQLite and PostgreSQL both bound how many values one statement may carry.
CHUNK = 5_000
# What is between the tags of an item where they are one text.
BETWEEN_TAGS = "; "
T = TypeVar("T")
# Every answer runs this, and building it takes longer than running it.
IDS_BY_KEY = select(Item.key, Item.id).where(
    Item.project_id == bindparam("project"), Item.key.in_(bindparam("keys", expanding=True))
)


def item_count(session: Session, project_id: int) -> int:
    """Count the rows that features of all items have; positions run from 0 without gaps, so the largest one tells."""
    last = session.scalar(select(func.max(Item.position)).where(Item.project_id == project_id))
    return 0 if last is None else last + 1


def count_in_use(session: Session, project_id: int) -> int:
    """Count the items that are neither set aside nor deleted."""
    return item_count(session, project_id) - len(positions_set_aside(session, project_id))


def positions_set_aside(session: Session, project_id: int) -> list[int]:
    """Return the positions of the items that are set aside or deleted; questions, fits and counts leave them out."""
    statement = select(Item.position).where(Item.project_id == project_id, Item.set_aside_at.is_not(None))
    return list(session.scalars(statement.order_by(Item.position)))


def items_set_aside(session: Session, project_id: int) -> set[int]:
    """Return the ids of the items that are set aside or deleted."""
    return set(session.scalars(select(Item.id).where(Item.project_id == project_id, Item.set_aside_at.is_not(None))))


def deleted_positions(session: Session, project_id: int) -> list[int]:
    """Return the positions of the deleted items, whose rows stay so that all others keep their place."""
    # Deleted items are set aside as well, which an index tells of.
    deleted = Item.set_aside_at.is_not(None) & Item.deleted_at.is_not(None)
    return list(session.scalars(select(Item.position).where(Item.project_id == project_id, deleted)))


def ids_by_key(session: Session, project_id: int, keys: Iterable[str]) -> dict[str, int]:
    """Return the ids of the items with these keys, as far as they exist."""
    ids: dict[str, int] = {}
    for chunk in _chunks([key for key in set(keys) if "\0" not in key]):  # PostgreSQL cannot even be asked
        rows = session.connection().execute(IDS_BY_KEY, {"project": project_id, "keys": chunk})
        ids.update((key, item_id) for key, item_id in rows)
    return ids


def every_id_by_key(session: Session, project_id: int) -> dict[str, int]:
    """Return the ids of all items, by position: for imports that name most of them."""
    statement = select(Item.key, Item.id).where(Item.project_id == project_id).order_by(Item.position)
    rows = session.execute(statement)
    return {row.key: row.id for row in rows}


def keys_in_order(session: Session, project_id: int) -> list[str]:
    """Return all keys, by position."""
    statement = select(Item.key).where(Item.project_id == project_id).order_by(Item.position)
    return list(session.scalars(statement))


def positions_by_id(session: Session, project_id: int) -> dict[int, int]:
    """Return each item's row in the feature arrays."""
    rows = session.execute(select(Item.id, Item.position).where(Item.project_id == project_id))
    return {row.id: row.position for row in rows}


def items_by_position(session: Session, project_id: int, positions: Iterable[int]) -> list[Item]:
    """Return the items at the positions, in the order asked for."""
    positions = [int(position) for position in positions]
    items: dict[int, Item] = {}
    for chunk in _chunks(sorted(set(positions))):
        rows = session.scalars(select(Item).where(Item.project_id == project_id, Item.position.in_(chunk)))
        items.update((item.position, item) for item in rows)
    return [items[position] for position in positions]


def item_by_key(session: Session, project_id: int, key: str) -> Item | None:
    """Return one item."""
    return session.scalar(select(Item).where(Item.project_id == project_id, Item.key == key, Item.deleted_at.is_(None)))


@dataclass(frozen=True)
class ItemFilters:
    """Which items of a project to list; what is left out excludes none.

    `metadata` are columns with what an item has in them, as text; `positions` those that something else has chosen.
    """

    set_aside: bool = False
    keys: Sequence[str] = ()
    bag: str | None = None
    label: str | None = None
    metadata: Sequence[tuple[str, str]] = ()
    tag: str | None = None
    positions: Sequence[int] | None = None


def page_of_items(
    session: Session, project_id: int, after: int, limit: int, filters: ItemFilters
) -> list[tuple[Item, str | None]]:
    """Return up to `limit` items after a position that pass the filters, each with the key of its bag."""
    statement = (
        select(Item, Bag.key)
        .outerjoin(Bag, Bag.id == Item.bag_id)
        .where(Item.project_id == project_id, Item.position > after, Item.deleted_at.is_(None))
        .where(Item.set_aside_at.is_not(None) if filters.set_aside else Item.set_aside_at.is_(None))
        .where(*_conditions(filters, is_sqlite=session.get_bind().dialect.name == "sqlite"))
        .order_by(Item.position)
    )
    if filters.positions is None:
        return [(item, bag) for item, bag in session.execute(statement.limit(limit))]
    rows: list[tuple[Item, str | None]] = []
    for chunk in _chunks([position for position in filters.positions if position > after]):
        page = session.execute(statement.where(Item.position.in_(chunk)).limit(limit - len(rows)))
        rows += [(item, bag) for item, bag in page]
        if len(rows) == limit:
            break
    return rows


def _conditions(filters: ItemFilters, *, is_sqlite: bool) -> Iterator[ColumnElement[bool]]:
    if filters.keys:
        yield Item.key.in_(filters.keys)
    if filters.bag is not None:
        yield Bag.key == filters.bag
    if filters.label is not None:
        each = func.json_each if is_sqlite else func.jsonb_array_elements_text
        labels = each(Bag.labels).table_valued("value")
        yield select(labels.c.value).where(labels.c.value == filters.label).exists()
    if filters.tag is not None:
        yield Item.id.in_(select(Tag.item_id).where(Tag.name == filters.tag))
    for column, text in filters.metadata:
        yield _has_cell(column, text, is_sqlite=is_sqlite)


def _has_cell(column: str, text: str, *, is_sqlite: bool) -> ColumnElement[bool]:
    """Return the condition that an item has a text in a column of metadata; numbers and truth values are as in JSON."""
    if is_sqlite:
        cells = func.json_each(Item.details).table_valued("key", "value", "type")
        is_truth = cells.c.type.in_(("true", "false"))
        content: ColumnElement[str] = case((is_truth, cells.c.type), else_=cast(cells.c.value, String))
    else:
        cells = func.jsonb_each_text(Item.details).table_valued("key", "value")
        content = cells.c.value
    return select(cells.c.key).where(cells.c.key == column, content == text).exists()


def item_and_bag(session: Session, project_id: int, key: str) -> tuple[Item, str | None] | None:
    """Return one item with the key of its bag."""
    item = item_by_key(session, project_id, key)
    return None if item is None else (item, session.scalar(select(Bag.key).where(Bag.id == item.bag_id)))


def bags_by_key(session: Session, project_id: int) -> dict[str, Bag]:
    """Return all bags."""
    return {bag.key: bag for bag in session.scalars(select(Bag).where(Bag.project_id == project_id))}


def tags_by_position(session: Session, project_id: int, positions: Iterable[int]) -> dict[int, list[str]]:
    """Return the tags of items by position, in alphabetical order; items without any are missing."""
    tags: dict[int, list[str]] = {}
    for chunk in _chunks(sorted({int(position) for position in positions})):
        statement = select(Item.position, Tag.name).join(Tag, Tag.item_id == Item.id)
        rows = session.execute(statement.where(Item.project_id == project_id, Item.position.in_(chunk)))
        for position, name in rows:
            tags.setdefault(position, []).append(name)
    return {position: sorted(names) for position, names in tags.items()}


def latest_features(session: Session, project_id: int) -> FeatureSet | None:
    """Return the newest version of the features; the one that runs use."""
    statement = select(FeatureSet).where(FeatureSet.project_id == project_id)
    return session.scalar(statement.order_by(FeatureSet.version.desc()).limit(1))


def _chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    return (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))
