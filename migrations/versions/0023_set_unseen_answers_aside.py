"""Let analysts set aside at once what may have been answered unseen."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0020"


def upgrade() -> None:
    with op.batch_alter_table("decision") as batch_op:
        batch_op.add_column(sa.Column("unseen", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("decision") as batch_op:
        batch_op.drop_column("unseen")
