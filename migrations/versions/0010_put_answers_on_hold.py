"""Let Tercet itself put a labeler's answers on hold: a decision that nobody made yet."""

import sqlalchemy as sa
from alembic import op

import tercet.models.base

revision = "0010"
down_revision = "0009"

VERDICTS = "verdict IN ('set aside', 'put back')"
WITH_HELD = "verdict IN ('held', 'set aside', 'put back')"


def upgrade() -> None:
    _change(WITH_HELD, by_is_optional=True)


def downgrade() -> None:
    # What was on hold counts again.
    op.execute(
        "UPDATE answer SET set_aside_id = NULL WHERE set_aside_id IN (SELECT id FROM decision WHERE by_id IS NULL)"
    )
    op.execute("DELETE FROM decision WHERE by_id IS NULL")
    _change(VERDICTS, by_is_optional=False)


def _change(verdicts: str, *, by_is_optional: bool) -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE decision DROP CONSTRAINT ck_decision_verdict")
        op.execute(f"ALTER TABLE decision ADD CONSTRAINT ck_decision_verdict CHECK ({verdicts})")
        op.alter_column("decision", "by_id", nullable=by_is_optional)
        return
    # SQLite cannot change a constraint. The answers that refer to decisions find them again before the commit.
    op.execute("PRAGMA defer_foreign_keys = ON")
    op.execute("CREATE TEMPORARY TABLE decision_before AS SELECT * FROM decision")
    op.drop_table("decision")
    _create(verdicts, by_is_optional)
    op.execute("INSERT INTO decision SELECT * FROM decision_before")
    op.execute("DROP TABLE decision_before")


def _create(verdicts: str, by_is_optional: bool) -> None:
    op.create_table(
        "decision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("verdict", sa.String(length=10), nullable=False),
        sa.Column("labeler_id", sa.Integer(), nullable=False),
        sa.Column("answer_number", sa.Integer(), nullable=True),
        sa.Column("answers", sa.Integer(), nullable=False),
        sa.Column("by_id", sa.Integer(), nullable=by_is_optional),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.CheckConstraint(verdicts, name=op.f("ck_decision_verdict")),
        sa.ForeignKeyConstraint(["by_id"], ["user.id"], name=op.f("fk_decision_by_id_user")),
        sa.ForeignKeyConstraint(["labeler_id"], ["user.id"], name=op.f("fk_decision_labeler_id_user")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_decision_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision")),
    )
    for column in ("project_id", "labeler_id", "by_id"):
        op.create_index(op.f(f"ix_decision_{column}"), "decision", [column])
