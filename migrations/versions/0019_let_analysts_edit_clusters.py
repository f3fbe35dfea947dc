"""Let analysts edit clusters: the log of their edits, and the pairs of items by which runs learn of them."""

import sqlalchemy as sa
from alembic import op

import tercet.models.base

revision = "0019"
down_revision = "0018"

KINDS = "kind IN ('move', 'keep', 'out', 'together', 'apart', 'merge', 'split')"


def upgrade() -> None:
    op.create_table(
        "edit",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("items", sa.Integer(), nullable=False),
        sa.Column("cluster", sa.Integer(), nullable=True),
        sa.Column("other", sa.Integer(), nullable=True),
        sa.Column("weight", sa.Double(), nullable=False),
        sa.Column("by_id", sa.Integer(), nullable=False),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("reverted_at", tercet.models.base.UtcDateTime(timezone=True), nullable=True),
        sa.CheckConstraint(KINDS, name=op.f("ck_edit_kind")),
        sa.CheckConstraint("weight > 0", name=op.f("ck_edit_weight")),
        sa.ForeignKeyConstraint(["by_id"], ["user.id"], name=op.f("fk_edit_by_id_user")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_edit_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_edit")),
    )
    op.create_table(
        "link",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("edit_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("other_id", sa.Integer(), nullable=False),
        sa.Column("alike", sa.Boolean(), nullable=False),
        *(
            sa.ForeignKeyConstraint(
                [column], [f"{table}.id"], name=op.f(f"fk_link_{column}_{table}"), ondelete="CASCADE"
            )
            for column, table in (
                ("project_id", "project"),
                ("edit_id", "edit"),
                ("item_id", "item"),
                ("other_id", "item"),
            )
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_link")),
    )
    for column in ("project_id", "by_id"):
        op.create_index(op.f(f"ix_edit_{column}"), "edit", [column])
    for column in ("project_id", "edit_id", "item_id", "other_id"):
        op.create_index(op.f(f"ix_link_{column}"), "link", [column])


def downgrade() -> None:
    op.drop_table("link")
    op.drop_table("edit")
