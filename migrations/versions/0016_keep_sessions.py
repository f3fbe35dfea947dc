"""Keep sessions on the server, so that they can be listed and ended, and let users be disabled.

Cookies of before hold nothing but a number: everybody signs in once more.
"""

import sqlalchemy as sa
from alembic import op

from tercet.models.base import UtcDateTime

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "session",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("browser", sa.String(length=200), nullable=False),
        sa.Column("address", sa.String(length=45), nullable=False),
        sa.Column("created_at", UtcDateTime(timezone=True), nullable=False),
        sa.Column("seen_at", UtcDateTime(timezone=True), nullable=False),
        sa.Column("expires_at", UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name="fk_session_user_id_user", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_session"),
        sa.UniqueConstraint("token_hash", name="uq_session_token_hash"),
    )
    op.create_index("ix_session_user_id", "session", ["user_id"])
    op.add_column("user", sa.Column("disabled_at", UtcDateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.drop_column("user", "disabled_at")
    op.drop_table("session")
