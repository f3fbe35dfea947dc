"""Let analysts put tags on items."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.create_table(
        "tag",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_tag_item_id_item"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_tag_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tag")),
        sa.UniqueConstraint("item_id", "name", name=op.f("uq_tag_item_id_name")),
    )
    op.create_index("ix_tag_project_id_name", "tag", ["project_id", "name"])


def downgrade() -> None:
    op.drop_table("tag")
