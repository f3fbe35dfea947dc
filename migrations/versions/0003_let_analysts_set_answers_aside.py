"""Let analysts set answers aside: the log of their decisions, and each answer's mark."""

import sqlalchemy as sa
from alembic import op

import tercet.models.base

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "decision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(length=10), nullable=False),
        sa.Column("labeler_id", sa.Integer(), nullable=False),
        sa.Column("answer_number", sa.Integer(), nullable=True),
        sa.Column("answers", sa.Integer(), nullable=False),
        sa.Column("by_id", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.CheckConstraint("verdict IN ('set aside', 'put back')", name=op.f("ck_decision_verdict")),
        sa.ForeignKeyConstraint(["by_id"], ["user.id"], name=op.f("fk_decision_by_id_user")),
        sa.ForeignKeyConstraint(["labeler_id"], ["user.id"], name=op.f("fk_decision_labeler_id_user")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_decision_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision")),
    )
    for column in ("project_id", "labeler_id", "by_id"):
        op.create_index(op.f(f"ix_decision_{column}"), "decision", [column])
    # In place on both databases; alembic's own way would copy SQLite's whole table.
    op.execute(
        "ALTER TABLE answer ADD COLUMN set_aside_id INTEGER "
        "CONSTRAINT fk_answer_set_aside_id_decision REFERENCES decision (id)"
    )
    given = sa.text("set_aside_id IS NOT NULL")
    op.create_index("ix_answer_set_aside", "answer", ["set_aside_id"], sqlite_where=given, postgresql_where=given)


def downgrade() -> None:
    op.drop_index("ix_answer_set_aside", table_name="answer")
    with op.batch_alter_table("answer") as batch_op:
        batch_op.drop_column("set_aside_id")
    op.drop_table("decision")
