"""Let analysts say which items are typical of their clusters."""

import sqlalchemy as sa
from alembic import op

from tercet.models.base import UtcDateTime

revision = "0035"
down_revision = "0034"

BEFORE = "kind IN ('move', 'keep', 'out', 'together', 'apart', 'merge', 'split')"
AFTER = "kind IN ('move', 'keep', 'out', 'together', 'apart', 'merge', 'split', 'typical')"


def change(before: str, after: str) -> None:
    # SQLite's table is copied. Not every version of SQLAlchemy reads checks from a database, so all of it stands here.
    edit = sa.Table(
        "edit",
        sa.MetaData(),
        *(sa.Column(name, sa.Integer(), nullable=False) for name in ("id", "project_id", "items", "by_id")),
        *(sa.Column(name, sa.Integer(), nullable=True) for name in ("cluster", "other")),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("weight", sa.Double(), nullable=False),
        sa.Column("created_at", UtcDateTime(timezone=True), nullable=False),
        sa.Column("reverted_at", UtcDateTime(timezone=True), nullable=True),
        sa.CheckConstraint(before, name=op.f("ck_edit_kind")),
        sa.CheckConstraint("weight > 0", name=op.f("ck_edit_weight")),
        sa.ForeignKeyConstraint(["by_id"], ["user.id"], name=op.f("fk_edit_by_id_user")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_edit_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_edit")),
        *(sa.Index(op.f(f"ix_edit_{column}"), column) for column in ("project_id", "by_id")),
    )
    with op.batch_alter_table("edit", copy_from=edit) as table:
        table.drop_constraint(op.f("ck_edit_kind"), type_="check")
        table.create_check_constraint(op.f("ck_edit_kind"), after)


def upgrade() -> None:
    change(BEFORE, AFTER)


def downgrade() -> None:
    op.execute("UPDATE edit SET kind = 'keep' WHERE kind = 'typical'")
    change(AFTER, BEFORE)
