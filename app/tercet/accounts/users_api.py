"""REST: people with an account, for administrators: list them, add one, keep one out.

Administrators are made and removed on the server's own command line alone.
"""

from fastapi import APIRouter, Request

from tercet.accounts import queries, service
from tercet.accounts.access import identify_administrator
from tercet.accounts.dependencies import Me
from tercet.accounts.schemas import NewUserOut, UserIn, UserList, UserOut, UserPatch
from tercet.audit import chain
from tercet.web.dependencies import Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Id
from tercet.web.problems import problems
from tercet.web.rendering import site_address

router = APIRouter(prefix="/api/v1/users", tags=["server"], responses=problems(401, 403), route_class=JsonRoute)


@router.get("")
def get_users(me: Me, db: Db) -> UserList:
    """List the people with an account, by address."""
    with db.reading() as session:
        identify_administrator(session, me)
        return UserList(users=[UserOut.of(*row) for row in queries.users(session)])


@router.post("", status_code=201, responses=problems(409, 422))
def post_user(request: Request, body: UserIn, me: Me, db: Db) -> NewUserOut:
    """Add somebody; send them `sign_in_url`, which is not shown again. 409: there is somebody with this address."""
    with db.transaction() as session:
        chain.act_as(identify_administrator(session, me).user)
        user = service.make_user(session, body.name or body.email, email=body.email)
        token = service.make_sign_in_link(session, user)
        return NewUserOut.of(user, sign_in_url=f"{site_address(request)}/sign-in/{token}")


@router.patch("/{member}", responses=problems(404, 409))
def patch_user(member: Id, body: UserPatch, me: Me, db: Db) -> UserOut:
    """Keep somebody out from now on, or let them come in again. 409: you cannot keep yourself out."""
    with db.transaction() as session:
        administrator = identify_administrator(session, me).user
        chain.act_as(administrator)
        return UserOut.of(service.set_disabled(session, administrator, member, disabled=body.disabled))
