"""Let analysts put back at once what a labeler has withdrawn."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0026"


def upgrade() -> None:
    with op.batch_alter_table("decision") as batch_op:
        batch_op.add_column(sa.Column("withdrawn", sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    with op.batch_alter_table("decision") as batch_op:
        batch_op.drop_column("withdrawn")
