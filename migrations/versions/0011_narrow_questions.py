"""Let analysts narrow what labelers are asked about."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.add_column("project", sa.Column("focus", JSON))


def downgrade() -> None:
    op.drop_column("project", "focus")
