"""Makes, tests and removes webhooks, and queues the messages to them."""

import secrets
from datetime import timedelta

from sqlalchemy import delete
from sqlalchemy.orm import Session

from tercet.audit import chain
from tercet.errors import Conflict, FieldError, Invalid, NotFound
from tercet.models import Delivery, DeliveryStatus, Occasion, Project, Webhook, now
from tercet.webhooks import queries
from tercet.webhooks.addresses import fault_of_url

MOST_WEBHOOKS = 10
SECRET_BYTES = 32
LISTED_FOR = timedelta(days=30)


def make_webhook(
    session: Session, project: Project, *, url: str, runs: bool, every_answers: int, private_too: bool
) -> Webhook:
    """Add a webhook, which is told what happens from now on; raise Invalid for an address that cannot be told."""
    if fault := fault_of_url(url, private_too=private_too):
        raise Invalid("This webhook was not made.", [FieldError("url", fault)])
    if queries.webhook_count(session, project.id) >= MOST_WEBHOOKS:
        raise Conflict(f"This project has {MOST_WEBHOOKS} webhooks, as many as it may: remove one first.")
    webhook = Webhook(
        project_id=project.id,
        url=url,
        secret=secrets.token_urlsafe(SECRET_BYTES),
        runs=runs,
        every_answers=every_answers,
        event_number=project.event_number,
        answer_number=project.answer_number,
    )
    session.add(webhook)
    session.flush()
    chain.record(session, "webhook made", project=project, after=_named(webhook))
    return webhook


def find_webhook(session: Session, project: Project, number: int) -> Webhook:
    """Find a webhook of a project, or raise NotFound."""
    webhook = queries.webhook(session, project.id, number)
    if webhook is None:
        raise NotFound(f"The project '{project.key}' has no webhook {number}.")
    return webhook


def remove_webhook(session: Session, project: Project, number: int) -> None:
    """Remove a webhook with its deliveries; what waits is not sent any more."""
    webhook = find_webhook(session, project, number)
    chain.record(session, "webhook removed", project=project, before=_named(webhook))
    session.delete(webhook)


def _named(webhook: Webhook) -> dict[str, object]:
    return {
        "webhook": webhook.id,
        "url": webhook.url,
        "runs": webhook.runs,
        "every_answers": webhook.every_answers,
    }


def queue_test(session: Session, project: Project, number: int) -> Delivery:
    """Queue a message that only says that it is one."""
    webhook = find_webhook(session, project, number)
    delivery = _delivery(webhook, project, Occasion.TEST)
    session.add(delivery)
    session.flush()
    return delivery


def queue_news(session: Session, webhook: Webhook, project: Project) -> int:
    """Queue what there is to tell a webhook, in the transaction that locks it; return how many messages that is."""
    messages = []
    if webhook.runs:
        for run in queries.ended_runs(session, project, webhook.event_number):
            about = {"run": run["number"], "purpose": run["purpose"], "status": run["status"]}
            messages.append(_delivery(webhook, project, Occasion.RUN, **about))
    webhook.event_number = project.event_number
    new_answers = project.answer_number - webhook.answer_number
    if webhook.every_answers and new_answers >= webhook.every_answers:
        # One message, however many answers came at once.
        webhook.answer_number += new_answers - new_answers % webhook.every_answers
        messages.append(_delivery(webhook, project, Occasion.ANSWERS, answers=project.answer_number))
    session.add_all(messages)
    session.flush()
    return len(messages)


def _delivery(webhook: Webhook, project: Project, occasion: Occasion, **about: object) -> Delivery:
    payload = {"occasion": occasion.value, "project": project.key, **about}
    return Delivery(webhook_id=webhook.id, occasion=occasion, payload=payload)


def forget_old(session: Session) -> None:
    """Remove deliveries that are over and were made 30 days ago or earlier."""
    ended = (Delivery.status != DeliveryStatus.WAITING) & (Delivery.created_at < now() - LISTED_FOR)
    session.execute(delete(Delivery).where(ended))
