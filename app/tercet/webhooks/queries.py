"""Reads webhooks, their deliveries, and what is to be sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from tercet.models import Delivery, DeliveryStatus, Event, Occasion, Project, Webhook, now, out_of_reach

ENDED = {"done", "failed"}


@dataclass(frozen=True)
class WebhookInUse:
    """A webhook with its newest delivery, if there is one."""

    webhook: Webhook
    newest: Delivery | None


def webhooks(session: Session, project_id: int) -> list[WebhookInUse]:
    """List a project's webhooks, oldest first."""
    newest = select(func.max(Delivery.id)).where(Delivery.webhook_id == Webhook.id).correlate(Webhook).scalar_subquery()
    query = select(Webhook, Delivery).outerjoin(Delivery, Delivery.id == newest)
    return [
        WebhookInUse(*row)
        for row in session.execute(query.where(Webhook.project_id == project_id).order_by(Webhook.id))
    ]


def webhook_count(session: Session, project_id: int) -> int:
    """Count a project's webhooks."""
    return session.scalar(select(func.count()).where(Webhook.project_id == project_id)) or 0


def webhook(session: Session, project_id: int, number: int) -> Webhook | None:
    """Find a webhook of a project."""
    return session.scalar(select(Webhook).where(Webhook.project_id == project_id, Webhook.id == number))


def deliveries(session: Session, webhook_id: int, before: int | None, limit: int) -> list[Delivery]:
    """List deliveries to a webhook, newest first, those before one with a number."""
    query = select(Delivery).where(Delivery.webhook_id == webhook_id).order_by(Delivery.id.desc()).limit(limit)
    return list(session.scalars(query if before is None else query.where(Delivery.id < before)))


def behind(session: Session, limit: int) -> list[tuple[Webhook, Project]]:
    """List webhooks of whose projects there may be something to tell, with the projects."""
    new_events = Webhook.runs & (Project.event_number > Webhook.event_number)
    enough = Project.answer_number - Webhook.answer_number >= Webhook.every_answers
    query = (
        select(Webhook, Project)
        .join(Project, Project.id == Webhook.project_id)
        .where(Project.deleted_at.is_(None), new_events | ((Webhook.every_answers > 0) & enough))
    )
    return [(row[0], row[1]) for row in session.execute(query.order_by(Webhook.id).limit(limit))]


def ended_runs(session: Session, project: Project, after: int) -> list[dict[str, Any]]:
    """Return what the events after a number say of runs that have ended, in their order."""
    query = select(Event.payload).where(Event.project_id == project.id, Event.kind == Occasion.RUN)
    numbers = (Event.number > after) & (Event.number <= project.event_number)
    rows = session.scalars(query.where(numbers).order_by(Event.number))
    return [payload for payload in rows if payload["status"] in ENDED]


def due(session: Session, limit: int, longest: Sequence[timedelta]) -> list[Delivery]:
    """List deliveries that may be tried now, those that have waited longest first.

    `longest` are the longest waits after none, one, two, ... attempts: what would wait for longer was written before
    the clock was set back.
    """
    beyond = (
        (Delivery.attempts == attempts) & (Delivery.next_at > out_of_reach(wait.total_seconds()))
        for attempts, wait in enumerate(longest)
    )
    waiting = (Delivery.status == DeliveryStatus.WAITING) & or_(Delivery.next_at <= now(), *beyond)
    return list(session.scalars(select(Delivery).where(waiting).order_by(Delivery.next_at).limit(limit)))
