"""Keep an audit log that can only be added to."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from tercet.models.base import UtcDateTime

revision = "0018"
down_revision = "0017"

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", UtcDateTime(timezone=True), nullable=False),
        sa.Column("by_id", sa.Integer(), nullable=True),
        sa.Column("by_name", sa.String(length=200), nullable=False),
        sa.Column("address", sa.String(length=45), nullable=False),
        sa.Column("project", sa.String(length=80), nullable=True),
        sa.Column("what", sa.String(length=40), nullable=False),
        sa.Column("before", JSON, nullable=False),
        sa.Column("after", JSON, nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_audit"),
    )
    op.create_index("ix_audit_project", "audit", ["project"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'the audit log can only be added to'; END $$"
        )
        op.execute(
            "CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()"
        )
    else:
        for deed in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER audit_refuses_{deed.lower()} BEFORE {deed} ON audit "
                "BEGIN SELECT RAISE(ABORT, 'the audit log can only be added to'); END"
            )


def downgrade() -> None:
    op.drop_table("audit")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION refuse_audit_change()")
