"""Draw the pictures of all sounds anew: larger, and without the marks that the labeling page now draws itself."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

ITEM = sa.table("item", sa.column("project_id"), sa.column("media_type", sa.String), sa.column("picture"))
JOB_VALUES = {
    "kind": sa.literal("draw_pictures", sa.String),
    "status": sa.literal("queued", sa.String),
    "progress": sa.literal(0.0, sa.Float),
    "note": sa.literal("", sa.Text),
    "token": sa.literal(0, sa.Integer),
    "attempts": sa.literal(0, sa.Integer),
    "cancel_requested": sa.false(),
    "created_at": sa.func.now(),
    "result": sa.literal({}, sa.JSON),
}


def upgrade() -> None:
    job = sa.table("job", sa.column("project_id"), *(sa.column(name, value.type) for name, value in JOB_VALUES.items()))
    with_sounds = ITEM.c.media_type.startswith("audio/") & ITEM.c.picture.is_not(None)
    projects = sa.select(ITEM.c.project_id).where(with_sounds).distinct().subquery()
    rows = sa.select(projects.c.project_id, *JOB_VALUES.values())
    op.get_bind().execute(sa.insert(job).from_select(["project_id", *JOB_VALUES], rows))


def downgrade() -> None:
    pass  # a picture without marks is one to the version before, too
