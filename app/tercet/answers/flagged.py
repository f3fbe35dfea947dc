"""What becomes of the items that labelers flagged as broken: an analyst sets them aside, or says that they are fine."""

from typing import NamedTuple

from sqlalchemy.orm import Session

from tercet.accounts.access import Access
from tercet.intake import editing
from tercet.labeling import flags
from tercet.labeling.schemas import FlaggedItem, FlaggedList, FlaggedState
from tercet.models import Project

ON_PAGE = 50


class FlaggedItems(NamedTuple):
    """The flagged items that the page shows: those to decide about, and those decided about."""

    open: list[FlaggedItem]
    decided: list[FlaggedItem]


def judge(session: Session, access: Access, key: str, state: FlaggedState) -> None:
    """Set a flagged item aside, dismiss its flags, or open the matter again; an item set aside comes back then."""
    project = access.project
    flags.dismiss(session, project, key, dismissed=state == FlaggedState.DISMISSED)
    item = editing.find(session, project, key)
    is_aside = state == FlaggedState.SET_ASIDE
    if is_aside != (item.set_aside_at is not None):
        editing.change(session, project, key, {"set_aside": is_aside}, access.user.id)


def page(session: Session, project: Project, state: FlaggedState, after: int, limit: int) -> FlaggedList:
    """Return a page of flagged items."""
    items = flags.page(session, project, state, after, limit + 1)
    return FlaggedList(items=items[:limit], next=items[limit - 1].position if len(items) > limit else None)


def on_page(session: Session, project: Project) -> FlaggedItems:
    """Return what the answers page shows."""
    undecided = flags.page(session, project, FlaggedState.OPEN, -1, ON_PAGE)
    return FlaggedItems(undecided, flags.decided(session, project, ON_PAGE))
