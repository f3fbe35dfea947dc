"""Let analysts dismiss what the dashboard suggests."""

import sqlalchemy as sa
from alembic import op

import tercet.models.base

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "dismissal",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("cluster", sa.Integer(), nullable=False),
        sa.Column("other", sa.Integer(), nullable=False),
        sa.Column("by_id", sa.Integer(), nullable=False),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('merge', 'small', 'answers')", name=op.f("ck_dismissal_kind")),
        sa.ForeignKeyConstraint(["by_id"], ["user.id"], name=op.f("fk_dismissal_by_id_user")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_dismissal_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dismissal")),
        sa.UniqueConstraint(
            "project_id", "kind", "cluster", "other", name=op.f("uq_dismissal_project_id_kind_cluster_other")
        ),
    )
    op.create_index(op.f("ix_dismissal_by_id"), "dismissal", ["by_id"])


def downgrade() -> None:
    op.drop_table("dismissal")
