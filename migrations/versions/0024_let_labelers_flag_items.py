"""Let labelers flag broken items, and comment on their answers."""

import sqlalchemy as sa
from alembic import op

import tercet.models.base

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.create_table(
        "flag",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("labeler_id", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=5), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("dismissed_at", tercet.models.base.UtcDateTime(timezone=True), nullable=True),
        sa.CheckConstraint("reason IN ('empty', 'cut', 'wrong', 'other')", name=op.f("ck_flag_reason")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_flag_item_id_item"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["labeler_id"], ["user.id"], name=op.f("fk_flag_labeler_id_user"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_flag_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flag")),
        sa.UniqueConstraint("item_id", "labeler_id", name=op.f("uq_flag_item_id_labeler_id")),
    )
    op.create_index(op.f("ix_flag_labeler_id"), "flag", ["labeler_id"])
    op.create_index(op.f("ix_flag_project_id"), "flag", ["project_id"])
    # In place on both databases; alembic's own way would copy SQLite's whole table.
    op.add_column("answer", sa.Column("comment", sa.Text(), server_default="", nullable=False))


def downgrade() -> None:
    op.drop_column("answer", "comment")
    op.drop_table("flag")
