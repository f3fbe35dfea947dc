"""Let the questions of a project that kept the former default, half of them at random, be chosen by the policy.

Shares that somebody set stay.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

BEFORE, NOW = 0.5, 0.95
PROJECT = sa.table("project", sa.column("informative_share", sa.Double()))


def upgrade() -> None:
    _change(BEFORE, NOW)


def downgrade() -> None:
    _change(NOW, BEFORE)


def _change(old: float, new: float) -> None:
    op.execute(sa.update(PROJECT).where(PROJECT.c.informative_share == old).values(informative_share=new))
