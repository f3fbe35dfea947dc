"""What a program can do with the webhooks of a project, as operations."""

from tercet.client.operations import Call, Steps, respond
from tercet.client.project_operations import Place, address, get
from tercet.webhooks.schemas import DeliveryList, DeliveryOut, NewWebhookOut, WebhookList, WebhookOut


def webhooks(project: Place, /) -> Steps[list[WebhookOut]]:
    """Return the addresses that are told what happens, each with the newest message to it."""
    return WebhookList.model_validate((yield from get(project, "/webhooks")).json()).webhooks


def make_webhook(project: Place, /, url: str, *, runs: bool = False, every_answers: int = 0) -> Steps[NewWebhookOut]:
    """Have an address told what happens; its `secret`, which messages are signed with, is not shown again.

    Parameters
    ----------
    url : str
        https:// or http://, of the public internet.
    runs : bool
        Tell it of each run that is done or has failed.
    every_answers : int
        Tell it each time that so many more answers were given; 0 for never.
    """
    body = {"url": url, "runs": runs, "every_answers": every_answers}
    response = yield from respond(Call("POST", address(project, "/webhooks"), {"json": body}, False))
    return NewWebhookOut.model_validate(response.json())


def send_test(project: Place, /, webhook: int) -> Steps[DeliveryOut]:
    """Send a webhook a message that only says that it is a test."""
    queued = yield from respond(Call("POST", address(project, f"/webhooks/{webhook}/test"), {}, False))
    return DeliveryOut.model_validate(queued.json())


def remove_webhook(project: Place, /, webhook: int) -> Steps[None]:
    """Remove a webhook; what waits is not sent any more."""
    yield from respond(Call("DELETE", address(project, f"/webhooks/{webhook}")))


def deliveries(project: Place, /, webhook: int, *, limit: int = 50) -> Steps[list[DeliveryOut]]:
    """Return the newest messages to a webhook: what they said, how often they were tried, what came of it."""
    reply = yield from get(project, f"/webhooks/{webhook}/deliveries", limit=limit)
    return DeliveryList.model_validate(reply.json()).deliveries
