"""Let API tokens be for one project, whose owners see and revoke them."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
PROJECT = "fk_api_token_project_id_project"


def upgrade() -> None:
    with op.batch_alter_table("api_token") as batch_op:
        batch_op.add_column(sa.Column("project_id", sa.Integer(), nullable=True))
        batch_op.create_foreign_key(op.f(PROJECT), "project", ["project_id"], ["id"], ondelete="CASCADE")
        batch_op.create_index(op.f("ix_api_token_project_id"), ["project_id"])


def downgrade() -> None:
    with op.batch_alter_table("api_token") as batch_op:
        batch_op.drop_index(op.f("ix_api_token_project_id"))
        batch_op.drop_constraint(op.f(PROJECT), type_="foreignkey")
        batch_op.drop_column("project_id")
