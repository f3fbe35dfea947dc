"""Make the first tables

Revision: 0001, the first.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

import tercet.models.base

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "project",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=80), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("question_kind", sa.String(length=10), nullable=False),
        sa.Column("question_text", sa.Text(), nullable=False),
        sa.Column("guidelines", sa.Text(), nullable=False),
        sa.Column("n_clusters", sa.Integer(), nullable=False),
        sa.Column("algorithm", sa.String(length=40), nullable=False),
        sa.Column(
            "parameters",
            sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), "postgresql"),
            nullable=False,
        ),
        sa.Column("informative_share", sa.Double(), nullable=False),
        sa.Column("redundancy", sa.Integer(), nullable=False),
        sa.Column("rerun_answers", sa.Integer(), nullable=False),
        sa.Column("rerun_idle_seconds", sa.Double(), nullable=False),
        sa.Column("rerun_max_seconds", sa.Double(), nullable=False),
        sa.Column("answer_number", sa.Integer(), nullable=False),
        sa.Column("event_number", sa.Integer(), nullable=False),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("archived_at", tercet.models.base.UtcDateTime(timezone=True), nullable=True),
        sa.CheckConstraint("question_kind IN ('relative', 'outlier')", name=op.f("ck_project_question_kind")),
        sa.CheckConstraint("n_clusters >= 1", name=op.f("ck_project_n_clusters")),
        sa.CheckConstraint("redundancy >= 1", name=op.f("ck_project_redundancy")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
        sa.UniqueConstraint("key", name=op.f("uq_project_key")),
    )
    op.create_table(
        "user",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("email", sa.String(length=254), nullable=True),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user")),
        sa.UniqueConstraint("email", name=op.f("uq_user_email")),
    )
    op.create_table(
        "api_token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=10), nullable=False),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("expires_at", tercet.models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", tercet.models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", tercet.models.base.UtcDateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_api_token_user_id_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_token")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_api_token_token_hash")),
    )
    with op.batch_alter_table("api_token", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_api_token_user_id"), ["user_id"], unique=False)

    op.create_table(
        "bag",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column(
            "labels", sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), "postgresql"), nullable=False
        ),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_bag_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_bag")),
        sa.UniqueConstraint("project_id", "key", name=op.f("uq_bag_project_id_key")),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column(
            "payload", sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), "postgresql"), nullable=False
        ),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_event_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
        sa.UniqueConstraint("project_id", "number", name=op.f("uq_event_project_id_number")),
    )
    op.create_table(
        "feature_set",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("d", sa.Integer(), nullable=False),
        sa.Column("blob", sa.String(length=200), nullable=False),
        sa.Column("extractor", sa.String(length=80), nullable=True),
        sa.Column(
            "feature_names",
            sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), "postgresql"),
            nullable=False,
        ),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_feature_set_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feature_set")),
        sa.UniqueConstraint("project_id", "version", name=op.f("uq_feature_set_project_id_version")),
    )
    op.create_table(
        "membership",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column("participant", sa.String(length=200), nullable=True),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.CheckConstraint("role IN ('labeler', 'analyst', 'owner')", name=op.f("ck_membership_role")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_membership_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_membership_user_id_user"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_membership")),
        sa.UniqueConstraint("project_id", "participant", name=op.f("uq_membership_project_id_participant")),
        sa.UniqueConstraint("project_id", "user_id", name=op.f("uq_membership_project_id_user_id")),
    )
    with op.batch_alter_table("membership", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_membership_user_id"), ["user_id"], unique=False)

    op.create_table(
        "share_link",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", tercet.models.base.UtcDateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_share_link_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_share_link")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_share_link_token_hash")),
    )
    with op.batch_alter_table("share_link", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_share_link_project_id"), ["project_id"], unique=False)

    op.create_table(
        "sign_in_link",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("expires_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("used_at", tercet.models.base.UtcDateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_sign_in_link_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_link")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_sign_in_link_token_hash")),
    )
    with op.batch_alter_table("sign_in_link", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_sign_in_link_user_id"), ["user_id"], unique=False)

    op.create_table(
        "item",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("media_type", sa.String(length=40), nullable=True),
        sa.Column("media", sa.String(length=200), nullable=True),
        sa.Column("picture", sa.String(length=200), nullable=True),
        sa.Column("thumbnail", sa.String(length=200), nullable=True),
        sa.Column("bag_id", sa.Integer(), nullable=True),
        sa.Column(
            "metadata", sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), "postgresql"), nullable=False
        ),
        sa.ForeignKeyConstraint(["bag_id"], ["bag.id"], name=op.f("fk_item_bag_id_bag")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_item_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item")),
        sa.UniqueConstraint("project_id", "key", name=op.f("uq_item_project_id_key")),
        sa.UniqueConstraint("project_id", "position", name=op.f("uq_item_project_id_position")),
    )
    with op.batch_alter_table("item", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_item_bag_id"), ["bag_id"], unique=False)

    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("algorithm", sa.String(length=40), nullable=False),
        sa.Column(
            "parameters",
            sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), "postgresql"),
            nullable=False,
        ),
        sa.Column("feature_set_id", sa.Integer(), nullable=True),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.Column("due_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("token", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("lease_expires_at", tercet.models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("progress", sa.Double(), nullable=False),
        sa.Column("checkpoint", sa.String(length=200), nullable=True),
        sa.Column("answers_from", sa.Integer(), nullable=False),
        sa.Column("answers_to", sa.Integer(), nullable=True),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("started_at", tercet.models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column("finished_at", tercet.models.base.UtcDateTime(timezone=True), nullable=True),
        sa.Column(
            "metrics", sa.JSON().with_variant(postgresql.JSONB(astext_type=sa.Text()), "postgresql"), nullable=False
        ),
        sa.Column("result", sa.String(length=200), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "status IN ('queued', 'running', 'done', 'failed', 'cancelled')", name=op.f("ck_run_status")
        ),
        sa.ForeignKeyConstraint(["feature_set_id"], ["feature_set.id"], name=op.f("fk_run_feature_set_id_feature_set")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_run_project_id_project"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("project_id", "number", name=op.f("uq_run_project_id_number")),
    )
    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.create_index("ix_run_status", ["status", "due_at"], unique=False)
        batch_op.create_index(
            "uq_run_queued",
            ["project_id"],
            unique=True,
            sqlite_where=sa.text("status = 'queued'"),
            postgresql_where=sa.text("status = 'queued'"),
        )
        batch_op.create_index(
            "uq_run_running",
            ["project_id"],
            unique=True,
            sqlite_where=sa.text("status = 'running'"),
            postgresql_where=sa.text("status = 'running'"),
        )

    op.create_table(
        "cluster_note",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Integer(), nullable=False),
        sa.Column("cluster", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_cluster_note_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_cluster_note_run_id_run"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cluster_note")),
        sa.UniqueConstraint("project_id", "run_id", "cluster", name=op.f("uq_cluster_note_project_id_run_id_cluster")),
    )
    with op.batch_alter_table("cluster_note", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_cluster_note_run_id"), ["run_id"], unique=False)

    op.create_table(
        "triplet",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("anchor_id", sa.Integer(), nullable=False),
        sa.Column("left_id", sa.Integer(), nullable=False),
        sa.Column("right_id", sa.Integer(), nullable=False),
        sa.Column("source", sa.String(length=12), nullable=False),
        sa.Column("priority", sa.Double(), nullable=True),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.CheckConstraint("anchor_id <> left_id AND anchor_id <> right_id", name=op.f("ck_triplet_distinct")),
        sa.CheckConstraint("left_id < right_id", name=op.f("ck_triplet_canonical")),
        sa.ForeignKeyConstraint(["anchor_id"], ["item.id"], name=op.f("fk_triplet_anchor_id_item"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["left_id"], ["item.id"], name=op.f("fk_triplet_left_id_item"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_triplet_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["right_id"], ["item.id"], name=op.f("fk_triplet_right_id_item"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_triplet")),
        sa.UniqueConstraint(
            "project_id",
            "anchor_id",
            "left_id",
            "right_id",
            name=op.f("uq_triplet_project_id_anchor_id_left_id_right_id"),
        ),
    )
    with op.batch_alter_table("triplet", schema=None) as batch_op:
        batch_op.create_index("ix_triplet_queue", ["project_id", "priority"], unique=False)

    op.create_table(
        "answer",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("triplet_id", sa.Integer(), nullable=False),
        sa.Column("labeler_id", sa.Integer(), nullable=False),
        sa.Column("value", sa.String(length=3), nullable=False),
        sa.Column("response_ms", sa.Integer(), nullable=True),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.Column("withdrawn_at", tercet.models.base.UtcDateTime(timezone=True), nullable=True),
        sa.CheckConstraint("value IN ('yes', 'no', 'dnk', '1', '2', '3')", name=op.f("ck_answer_value")),
        sa.ForeignKeyConstraint(["labeler_id"], ["user.id"], name=op.f("fk_answer_labeler_id_user")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_answer_project_id_project"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["triplet_id"], ["triplet.id"], name=op.f("fk_answer_triplet_id_triplet"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_answer")),
        sa.UniqueConstraint("project_id", "number", name=op.f("uq_answer_project_id_number")),
    )
    with op.batch_alter_table("answer", schema=None) as batch_op:
        batch_op.create_index("ix_answer_created", ["project_id", "created_at"], unique=False)
        batch_op.create_index("ix_answer_labeler", ["project_id", "labeler_id", "number"], unique=False)
        batch_op.create_index(batch_op.f("ix_answer_labeler_id"), ["labeler_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_answer_triplet_id"), ["triplet_id"], unique=False)
        batch_op.create_index(
            "ix_answer_withdrawn",
            ["project_id", "labeler_id", "number"],
            unique=False,
            sqlite_where=sa.text("withdrawn_at IS NOT NULL"),
            postgresql_where=sa.text("withdrawn_at IS NOT NULL"),
        )

    op.create_table(
        "lease",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("triplet_id", sa.Integer(), nullable=False),
        sa.Column("labeler_id", sa.Integer(), nullable=False),
        sa.Column("expires_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["labeler_id"], ["user.id"], name=op.f("fk_lease_labeler_id_user"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["triplet_id"], ["triplet.id"], name=op.f("fk_lease_triplet_id_triplet"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lease")),
        sa.UniqueConstraint("triplet_id", "labeler_id", name=op.f("uq_lease_triplet_id_labeler_id")),
    )
    with op.batch_alter_table("lease", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_lease_expires_at"), ["expires_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_lease_labeler_id"), ["labeler_id"], unique=False)

    op.create_table(
        "skip",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("triplet_id", sa.Integer(), nullable=False),
        sa.Column("labeler_id", sa.Integer(), nullable=False),
        sa.Column("created_at", tercet.models.base.UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["labeler_id"], ["user.id"], name=op.f("fk_skip_labeler_id_user"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["triplet_id"], ["triplet.id"], name=op.f("fk_skip_triplet_id_triplet"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_skip")),
        sa.UniqueConstraint("triplet_id", "labeler_id", name=op.f("uq_skip_triplet_id_labeler_id")),
    )
    with op.batch_alter_table("skip", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_skip_labeler_id"), ["labeler_id"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("skip", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_skip_labeler_id"))

    op.drop_table("skip")
    with op.batch_alter_table("lease", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_lease_labeler_id"))
        batch_op.drop_index(batch_op.f("ix_lease_expires_at"))

    op.drop_table("lease")
    with op.batch_alter_table("answer", schema=None) as batch_op:
        batch_op.drop_index("ix_answer_withdrawn")
        batch_op.drop_index(batch_op.f("ix_answer_triplet_id"))
        batch_op.drop_index(batch_op.f("ix_answer_labeler_id"))
        batch_op.drop_index("ix_answer_labeler")
        batch_op.drop_index("ix_answer_created")

    op.drop_table("answer")
    with op.batch_alter_table("triplet", schema=None) as batch_op:
        batch_op.drop_index("ix_triplet_queue")

    op.drop_table("triplet")
    with op.batch_alter_table("cluster_note", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_cluster_note_run_id"))

    op.drop_table("cluster_note")
    with op.batch_alter_table("run", schema=None) as batch_op:
        batch_op.drop_index(
            "uq_run_running",
            sqlite_where=sa.text("status = 'running'"),
            postgresql_where=sa.text("status = 'running'"),
        )
        batch_op.drop_index(
            "uq_run_queued", sqlite_where=sa.text("status = 'queued'"), postgresql_where=sa.text("status = 'queued'")
        )
        batch_op.drop_index("ix_run_status")

    op.drop_table("run")
    with op.batch_alter_table("item", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_item_bag_id"))

    op.drop_table("item")
    with op.batch_alter_table("sign_in_link", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_sign_in_link_user_id"))

    op.drop_table("sign_in_link")
    with op.batch_alter_table("share_link", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_share_link_project_id"))

    op.drop_table("share_link")
    with op.batch_alter_table("membership", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_membership_user_id"))

    op.drop_table("membership")
    op.drop_table("feature_set")
    op.drop_table("event")
    op.drop_table("bag")
    with op.batch_alter_table("api_token", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_api_token_user_id"))

    op.drop_table("api_token")
    op.drop_table("user")
    op.drop_table("project")
