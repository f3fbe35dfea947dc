"""REST: webhooks of a project, for its owners, and every message to them."""

from typing import Annotated

from fastapi import APIRouter, Query, Request

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.web.dependencies import Db
from tercet.web.json_bodies import JsonRoute
from tercet.web.numbers import Count, Id
from tercet.web.problems import problems
from tercet.webhooks import queries, service
from tercet.webhooks.schemas import (
    DeliveryList,
    DeliveryOut,
    NewWebhookOut,
    WebhookIn,
    WebhookList,
    WebhookRemoved,
)

router = APIRouter(
    prefix="/api/v1/projects", tags=["webhooks"], responses=problems(401, 403, 404), route_class=JsonRoute
)


@router.get("/{project}/webhooks")
def get_webhooks(project: str, me: Me, db: Db) -> WebhookList:
    """List the webhooks, oldest first, each with the newest message to it."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.OWN)
        return WebhookList.of(queries.webhooks(session, access.project.id))


@router.post("/{project}/webhooks", status_code=201, responses=problems(409, 422))
def post_webhook(request: Request, project: str, body: WebhookIn, me: Me, db: Db) -> NewWebhookOut:
    """Have an address told what happens, by POST requests with a JSON object; `secret` is not shown again.

    `occasion` is `run` (with `run`, its `status`, done or failed, and its `purpose`), `answers` (with `answers`, all
    that were given so far) or `test`; `project`, `delivery` and `at` are always there. The header `Tercet-Signature`
    is `t=SECONDS,v1=HEX`: the HMAC-SHA256, with the secret as key, of the seconds, a full stop and the body. What is
    not answered by a status from 200 to 299 within 10 seconds is sent again, seven times within a day; redirects are
    not followed. A message may come twice, with the same `delivery`. 409: there are ten webhooks already. 422: also
    for private addresses.
    """
    private_too = request.app.state.settings.webhooks_to_private
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        webhook = service.make_webhook(session, access.project, **body.model_dump(), private_too=private_too)
        return NewWebhookOut.of(webhook, secret=webhook.secret)


@router.delete("/{project}/webhooks/{webhook}")
def delete_webhook(project: str, webhook: Id, me: Me, db: Db) -> WebhookRemoved:
    """Remove a webhook and the list of its messages; what waits is not sent any more."""
    with db.transaction() as session:
        service.remove_webhook(session, authorize(session, me, project, Action.OWN).project, webhook)
    return WebhookRemoved(deleted=webhook)


@router.post("/{project}/webhooks/{webhook}/test", status_code=202)
def send_test(project: str, webhook: Id, me: Me, db: Db) -> DeliveryOut:
    """Send a webhook a message that only says that it is a test."""
    with db.transaction() as session:
        access = authorize(session, me, project, Action.OWN)
        return DeliveryOut.of(service.queue_test(session, access.project, webhook))


@router.get("/{project}/webhooks/{webhook}/deliveries")
def get_deliveries(
    project: str,
    webhook: Id,
    me: Me,
    db: Db,
    before: Count | None = None,
    limit: Annotated[Count, Query(ge=1, le=1_000)] = 50,
) -> DeliveryList:
    """List the messages to a webhook, newest first: what they said, how often they were tried, what came of it.

    Give `next` of one page as `before` of the next. After 30 days they are removed.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.OWN)
        number = service.find_webhook(session, access.project, webhook).id
        rows = queries.deliveries(session, number, before, limit + 1)
    page = [DeliveryOut.of(row) for row in rows[:limit]]
    return DeliveryList(deliveries=page, next=page[-1].id if len(rows) > limit else None)
