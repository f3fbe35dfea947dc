"""Let owners say how long the names of labelers are kept, and mark those who stand for somebody who was erased."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    # In place on both databases; alembic's own way would copy SQLite's whole table.
    for name in ("retention_days", "erased_labelers"):
        op.add_column("project", sa.Column(name, sa.Integer(), server_default="0", nullable=False))
    for table, name in (("user", "is_pseudonym"), ("answer", "erased")):
        op.add_column(table, sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False))


def downgrade() -> None:
    for table, name in (("answer", "erased"), ("user", "is_pseudonym")):
        op.drop_column(table, name)
    for name in ("erased_labelers", "retention_days"):
        op.drop_column("project", name)
