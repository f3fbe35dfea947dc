"""Let new labelers practise, unless the owners of a project do not want it."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    # In place on both databases; alembic's own way would copy SQLite's whole table.
    op.add_column("project", sa.Column("practice", sa.Boolean(), server_default=sa.true(), nullable=False))


def downgrade() -> None:
    op.drop_column("project", "practice")
