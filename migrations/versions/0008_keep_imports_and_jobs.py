"""Keep imports with their files, background jobs, items that are set aside, and projects that are deleted for now."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
TIME = sa.DateTime(timezone=True)
RUNNING = sa.text("status = 'running'")
SET_ASIDE = sa.text("set_aside_at IS NOT NULL")
COLUMNS = (
    ("item", sa.Column("media_seconds", sa.Double())),
    ("item", sa.Column("content_hash", sa.String(64))),
    ("item", sa.Column("set_aside_at", TIME)),
    ("item", sa.Column("deleted_at", TIME)),
    ("project", sa.Column("deleted_at", TIME)),
    ("project", sa.Column("feature_recipe", JSON)),
    ("project", sa.Column("picture_settings", JSON)),
    ("feature_set", sa.Column("recipe", JSON)),
    ("feature_set", sa.Column("words", sa.Text(), server_default="", nullable=False)),
)


def upgrade() -> None:
    # In place on both databases; alembic's own way would copy SQLite's whole table.
    for table, column in COLUMNS:
        op.add_column(table, column)
    op.create_index("ix_item_set_aside", "item", ["project_id"], sqlite_where=SET_ASIDE, postgresql_where=SET_ASIDE)
    _make_jobs()
    _make_imports()


def _make_jobs() -> None:
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("subject", sa.Integer(), nullable=True),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("lease_expires_at", TIME, nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("started_at", TIME, nullable=True),
        sa.Column("finished_at", TIME, nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("result", JSON, nullable=False),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'done', 'failed', 'cancelled')", name=op.f("ck_job_status")
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_job_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_job_user_id_user"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    op.create_index(
        "uq_job_running", "job", ["project_id", "kind"], unique=True, sqlite_where=RUNNING, postgresql_where=RUNNING
    )
    op.create_index("ix_job_status", "job", ["status", "id"])
    op.create_index("ix_job_project", "job", ["project_id", "kind", "subject"])
    op.create_index("ix_job_user_id", "job", ["user_id"])


def _make_imports() -> None:
    op.create_table(
        "import",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=True),
        sa.Column("source", sa.String(10), nullable=False),
        sa.Column("status", sa.String(10), nullable=False),
        sa.Column("options", JSON, nullable=False),
        sa.Column("report", JSON, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.CheckConstraint("source IN ('page', 'rest', 'command')", name=op.f("ck_import_source")),
        sa.CheckConstraint(
            "status IN ('uploading', 'checking', 'ready', 'importing', 'done', 'failed', 'cancelled', 'undone')",
            name=op.f("ck_import_status"),
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_import_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_import_user_id_user"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_import")),
        sa.UniqueConstraint("project_id", "number", name=op.f("uq_import_project_id_number")),
    )
    op.create_index("ix_import_user_id", "import", ["user_id"])
    op.create_table(
        "import_file",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("import_id", sa.Integer(), nullable=False),
        sa.Column("path", sa.String(1000), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("blob", sa.String(200), nullable=False),
        sa.ForeignKeyConstraint(
            ["import_id"], ["import.id"], name=op.f("fk_import_file_import_id_import"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_import_file")),
        sa.UniqueConstraint("import_id", "path", name=op.f("uq_import_file_import_id_path")),
    )


def downgrade() -> None:
    op.drop_table("import_file")
    op.drop_table("import")
    op.drop_table("job")
    op.drop_index("ix_item_set_aside", table_name="item")
    for table, column in reversed(COLUMNS):
        op.drop_column(table, column.name)
