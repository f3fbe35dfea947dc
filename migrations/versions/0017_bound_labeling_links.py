"""Let labeling links end, have a limit or belong to one labeler, and remember who came by which.

Links of before are open, without an end and a limit, as they were made.
"""

import sqlalchemy as sa
from alembic import op

from tercet.models.base import UtcDateTime

revision = "0017"
down_revision = "0016"

ADDED = (("share_link", "expires_at"), ("share_link", "most"), ("session", "until"))


def upgrade() -> None:
    op.add_column("share_link", sa.Column("expires_at", UtcDateTime(timezone=True), nullable=True))
    op.add_column("share_link", sa.Column("most", sa.Integer(), nullable=True))
    op.add_column("session", sa.Column("until", UtcDateTime(timezone=True), nullable=True))
    with op.batch_alter_table("share_link") as table:
        table.add_column(sa.Column("user_id", sa.Integer(), nullable=True))
        table.create_foreign_key("fk_share_link_user_id_user", "user", ["user_id"], ["id"], ondelete="CASCADE")
        table.create_index("ix_share_link_user_id", ["user_id"])
    with op.batch_alter_table("membership") as table:
        table.add_column(sa.Column("link_id", sa.Integer(), nullable=True))
        table.create_foreign_key(
            "fk_membership_link_id_share_link", "share_link", ["link_id"], ["id"], ondelete="SET NULL"
        )
        table.create_index("ix_membership_link_id", ["link_id"])


def downgrade() -> None:
    for name, column in (("membership", "link_id"), ("share_link", "user_id")):
        with op.batch_alter_table(name) as table:
            table.drop_index(f"ix_{name}_{column}")
            table.drop_constraint(
                f"fk_{name}_{column}_{'share_link' if column == 'link_id' else 'user'}", type_="foreignkey"
            )
            table.drop_column(column)
    for name, column in ADDED:
        op.drop_column(name, column)
