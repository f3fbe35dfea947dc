"""The statements that lease questions to several labelers together: one transaction, two round trips for all."""

from typing import Any

from sqlalchemy import Executable, Integer, Select, bindparam, delete, func, select, true, union_all
from sqlalchemy.dialects import postgresql, sqlite

from tercet.labeling.sql.statements import (
    COUNTED_ANSWERS,
    DIALECTS,
    IDS,
    LEASES,
    NEEDED,
    SHOWN,
    TAKE,
    TRIPLETS,
    among,
    among_rows,
    item,
    lease,
    triplet,
)


def _lease_open(dialect: str) -> Executable:
    """Build the statement that leases to a labeler the first open triplets behind a place, as many as are still wanted.

    Run for one labeler after the other, each gets what is behind that of those before. Leases of a faster transaction
    that it could not see yet are found by `OVER_LEASED`.
    """
    taken = TAKE.subquery("taken").c
    until = bindparam("until", type_=lease.expires_at.type)
    rows = select(taken.id, bindparam("user", type_=Integer), until).where(true())  # SQLite wants a condition here
    rows = rows.order_by(taken.priority.desc(), taken.id.desc())  # what is held is shown in the order of its leases
    insert = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(LEASES)
    statement = insert.from_select(["triplet_id", "labeler_id", "expires_at"], rows)
    renewed = {"expires_at": statement.excluded.expires_at}
    return statement.on_conflict_do_update(index_elements=["triplet_id", "labeler_id"], set_=renewed).returning(
        lease.triplet_id
    )


def _over_leased(dialect: str) -> Executable:
    """Build the statement that ends new leases of triplets that have more answers and leases than they need.

    These triplets are locked, so no other transaction can lease them meanwhile.
    """
    live = LEASES.alias("live").c
    of_triplet = (live.triplet_id == triplet.id) & (live.expires_at > bindparam("at"))
    n_leases = select(func.count()).where(of_triplet).correlate(TRIPLETS).scalar_subquery()
    is_new = among(dialect, lease.triplet_id, "added") & (lease.expires_at == bindparam("until"))
    too_many = select(lease.id).join_from(LEASES, TRIPLETS, triplet.id == lease.triplet_id)
    too_many = too_many.where(is_new, COUNTED_ANSWERS + n_leases > NEEDED)
    statement = delete(LEASES).where(among_rows(dialect, lease.id, too_many))
    return statement.returning(lease.triplet_id, lease.labeler_id)


def _triplets_leased(dialect: str) -> Select[Any]:
    """Build the statement that reads triplets, in the order of the queue."""
    order = (triplet.priority.desc(), triplet.id.desc())
    return select(triplet.id, *IDS, triplet.priority).where(among(dialect, triplet.id, "leased")).order_by(*order)


def _items_leased(dialect: str) -> Select[Any]:
    """Build the statement that reads what pages show of the items of triplets."""
    ids = union_all(*(select(column).where(among(dialect, triplet.id, "leased")) for column in IDS))
    return select(*SHOWN).where(among_rows(dialect, item.id, select(ids.subquery("of_triplets").c[0])))


LEASE_OPEN = {dialect: _lease_open(dialect) for dialect in DIALECTS}
OVER_LEASED = {dialect: _over_leased(dialect) for dialect in DIALECTS}
TRIPLETS_LEASED = {dialect: _triplets_leased(dialect) for dialect in DIALECTS}
ITEMS_LEASED = {dialect: _items_leased(dialect) for dialect in DIALECTS}
