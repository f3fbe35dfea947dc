"""JSON of webhooks and their deliveries."""

from datetime import datetime
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tercet.models import Delivery, DeliveryStatus, Occasion, Webhook
from tercet.web.numbers import Count
from tercet.web.texts import Text
from tercet.webhooks.queries import WebhookInUse

DELIVERY_EXAMPLE: dict[str, Any] = {
    "id": 90,
    "occasion": "run",
    "payload": {"occasion": "run", "project": "forest-songs", "run": 41, "purpose": "current", "status": "done"},
    "status": "waiting",
    "attempts": 2,
    "result": "The receiver answered 503.",
    "created_at": "2026-05-02T09:31:00Z",
    "next_at": "2026-05-02T09:36:10Z",
    "ended_at": None,
}
WEBHOOK_EXAMPLE: dict[str, Any] = {
    "id": 4,
    "url": "https://lab.example.org/tercet",
    "runs": True,
    "every_answers": 100,
    "created_at": "2026-05-02T09:30:00Z",
    "newest": DELIVERY_EXAMPLE,
}


class WebhookIn(BaseModel):
    """A new webhook; it is told of runs, of answers, or of both."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"url": "https://lab.example.org/tercet", "runs": True, "every_answers": 100}]},
    )

    url: Annotated[Text, Field(max_length=2_000, description="https:// or http://, of the public internet")]
    runs: bool = Field(False, description="tell it of each run that is done or has failed")
    every_answers: Annotated[Count, Field(le=1_000_000)] = Field(
        0, description="tell it each time that so many more answers were given; 0: never"
    )

    @model_validator(mode="after")
    def _something_is_told(self) -> Self:
        if not self.runs and not self.every_answers:
            raise ValueError("runs or every_answers: choose what it is told, one of them or both")
        return self


class DeliveryOut(BaseModel):
    """A message to a webhook and what came of it; `next_at` is when it is tried again."""

    model_config = ConfigDict(from_attributes=True, json_schema_extra={"examples": [DELIVERY_EXAMPLE]})

    id: int
    occasion: Occasion
    payload: dict[str, Any] = Field(description="the body, but for its `delivery` and `at`")
    status: DeliveryStatus
    attempts: int
    result: str = Field(description="what the last attempt came to")
    created_at: datetime
    next_at: datetime | None
    ended_at: datetime | None

    @classmethod
    def of(cls, delivery: Delivery) -> "DeliveryOut":
        """Show a delivery."""
        return cls.model_validate(delivery)


class DeliveryList(BaseModel):
    """A page of deliveries, newest first; `next` is the `before` of the next page."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"deliveries": [DELIVERY_EXAMPLE], "next": None}]})

    deliveries: list[DeliveryOut]
    next: int | None


class WebhookOut(BaseModel):
    """A webhook, without its secret; `newest` is the newest message to it."""

    model_config = ConfigDict(json_schema_extra={"examples": [WEBHOOK_EXAMPLE]})

    id: int
    url: str
    runs: bool
    every_answers: int
    created_at: datetime
    newest: DeliveryOut | None

    @classmethod
    def of(cls, webhook: Webhook, newest: Delivery | None = None, **values: Any) -> Self:
        """Show a webhook; `values` are those of further fields."""
        fields = {name: getattr(webhook, name) for name in ("id", "url", "runs", "every_answers", "created_at")}
        return cls(**fields, newest=None if newest is None else DeliveryOut.of(newest), **values)


class NewWebhookOut(WebhookOut):
    """A webhook with its secret, which is not shown again."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{**WEBHOOK_EXAMPLE, "newest": None, "secret": "Vq3zT0rYc1"}]}
    )

    secret: str


class WebhookList(BaseModel):
    """All webhooks of a project."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"webhooks": [WEBHOOK_EXAMPLE]}]})

    webhooks: list[WebhookOut]

    @classmethod
    def of(cls, rows: list[WebhookInUse]) -> "WebhookList":
        """Show webhooks."""
        return cls(webhooks=[WebhookOut.of(row.webhook, row.newest) for row in rows])


class WebhookRemoved(BaseModel):
    """The number of the webhook that was removed."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"deleted": 4}]})

    deleted: int
