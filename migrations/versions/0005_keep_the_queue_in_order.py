"""Keep the queue in the order in which it is asked: PostgreSQL sorted all of it for each labeler who came."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

IN_THE_QUEUE = sa.text("priority IS NOT NULL")


def upgrade() -> None:
    op.drop_index("ix_triplet_queue", table_name="triplet")
    columns = ["project_id", "priority", "id"]
    op.create_index("ix_triplet_queue", "triplet", columns, sqlite_where=IN_THE_QUEUE, postgresql_where=IN_THE_QUEUE)


def downgrade() -> None:
    op.drop_index("ix_triplet_queue", table_name="triplet")
    op.create_index("ix_triplet_queue", "triplet", ["project_id", "priority"])
