"""REST: invitations to a project: list them, make one, revoke one."""

from fastapi import APIRouter, Request

from tercet.accounts import invitations
from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.projects.schemas import Done, InvitationIn, InvitationList, InvitationOut, NewInvitationOut
from tercet.web.dependencies import Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Id
from tercet.web.problems import problems
from tercet.web.rendering import site_address

router = APIRouter(
    prefix="/api/v1/projects", tags=["projects"], responses=problems(401, 403, 404), route_class=JsonRoute
)


@router.get("/{project}/invitations")
def get_invitations(project: str, me: Me, db: Db) -> InvitationList:
    """List the invitations that can still be accepted, oldest first."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.OWN)
        rows = invitations.waiting(session, access.project.id)
        return InvitationList(invitations=[InvitationOut.of(row) for row in rows])


@router.post("/{project}/invitations", status_code=201, responses=problems(409, 422))
def post_invitation(request: Request, project: str, body: InvitationIn, me: Me, db: Db) -> NewInvitationOut:
    """Invite someone by address: send them `url`, by which they join as themselves or with a new account.

    One made earlier for the same address ends. 409: the address is that of a member.
    """
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        invitation, token = invitations.invite(session, access.project, **body.model_dump())
        return NewInvitationOut.of(invitation, url=f"{site_address(request)}/invitation/{token}")


@router.delete("/{project}/invitations/{invitation}")
def delete_invitation(project: str, invitation: Id, me: Me, db: Db) -> Done:
    """Revoke an invitation; who has accepted it stays a member."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        invitations.revoke(session, access.project, invitation)
        return Done(deleted=str(invitation))
