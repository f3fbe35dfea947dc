"""Invite people to a project by a link with a role, which they accept themselves."""

import sqlalchemy as sa
from alembic import op

import tercet.models.base

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    op.create_table(
        "invitation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("expires_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.CheckConstraint("role IN ('labeler', 'analyst', 'owner')", name=op.f("ck_invitation_role")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_invitation_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation")),
        sa.UniqueConstraint("project_id", "email", name=op.f("uq_invitation_project_id_email")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_invitation_token_hash")),
    )


def downgrade() -> None:
    op.drop_table("invitation")
