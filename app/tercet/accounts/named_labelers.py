"""Joins labelers, with the names that their project shows, to any statement; and what exports call them instead."""

from typing import TypeVar

from sqlalchemy import ColumnElement, Select, SQLColumnExpression, String, cast, func, literal
from sqlalchemy.orm import aliased

from tercet.models import Membership, User

Statement = TypeVar("Statement", bound=Select[*tuple[object, ...]])
PSEUDONYM = "labeler-"


def pseudonym(labeler_id: int) -> str:
    """Return what exports call a labeler unless names are asked for: the same in all of them."""
    return f"{PSEUDONYM}{labeler_id}"


def pseudonym_of(labeler_id: SQLColumnExpression[int]) -> ColumnElement[str]:
    """Build the expression of the same for a column of labelers."""
    return literal(PSEUDONYM).concat(cast(labeler_id, String))


class NamedLabeler:
    """A labeler to join to a statement, with the name that the project shows."""

    def __init__(self) -> None:
        """Use aliases of the tables, so that a statement may join other people too."""
        self.user, self.member = aliased(User), aliased(Membership)
        self.name: ColumnElement[str] = func.coalesce(self.member.participant, self.user.name)

    def join(
        self, statement: Statement, labeler_id: SQLColumnExpression[int], project_id: SQLColumnExpression[int]
    ) -> Statement:
        """Join the labeler whose id this column holds."""
        is_member = (self.member.user_id == labeler_id) & (self.member.project_id == project_id)
        return statement.join(self.user, self.user.id == labeler_id).outerjoin(self.member, is_member)
