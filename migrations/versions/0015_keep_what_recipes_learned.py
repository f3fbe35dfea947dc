"""Keep what a feature recipe learned from the items, so that new items can be measured and assigned to clusters."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("feature_set", sa.Column("learned", sa.String(200), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("feature_set") as table:
        table.drop_column("learned")
