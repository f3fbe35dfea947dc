"""Know labelers who came by a share link by their browser, not by a name that anybody can put into an address.

Labelers who were made before have none: they go on by the session that their browser carries, and imports that
name them are still theirs.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    # In place on both databases; alembic's own way would copy SQLite's whole table.
    op.add_column("membership", sa.Column("browser_hash", sa.String(length=64), nullable=True))


def downgrade() -> None:
    op.drop_column("membership", "browser_hash")
