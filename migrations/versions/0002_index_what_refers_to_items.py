"""Index what refers to items and features: deleting one item otherwise reads the triplets of every project."""

from alembic import op

revision = "0002"
down_revision = "0001"

COLUMNS = (
    ("triplet", "anchor_id"),
    ("triplet", "left_id"),
    ("triplet", "right_id"),
    ("run", "feature_set_id"),
)


def upgrade() -> None:
    for table, column in COLUMNS:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column])


def downgrade() -> None:
    for table, column in COLUMNS:
        op.drop_index(op.f(f"ix_{table}_{column}"), table_name=table)
