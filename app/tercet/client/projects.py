"""A project of a server, with every operation on it: `ProjectClient` waits, `AsyncProjectClient` is awaited."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import httpx

from tercet.client import access_operations, changing, labeling_frame, webhook_operations
from tercet.client import project_operations as operations
from tercet.client.errors import Refused
from tercet.client.events import PAUSE_SECONDS, EventStream, ProjectEvent
from tercet.client.frames import Library
from tercet.client.notebook import overview
from tercet.client.operations import awaited, waiting


class ProjectClient:
    """One project, as `Client.project` returns it. In a notebook it shows its map and its clusters."""

    def __init__(self, http: httpx.Client, key: str, frames: Library | None, *, progress: bool) -> None:
        """Store what the operations need."""
        self.http, self.key, self.frames, self.progress = http, key, frames, progress
        self.etags: dict[str, str] = {}
        self.labeling_url: str | None = None

    details = waiting(changing.details)
    update = waiting(changing.update)
    item = waiting(changing.item)
    change_item = waiting(changing.change_item)
    delete_item = waiting(changing.delete_item)
    push = waiting(operations.push)
    set_features = waiting(operations.set_features)
    items = waiting(operations.items)
    media = waiting(operations.media)
    ask = waiting(operations.ask)
    answer = waiting(operations.answer)
    tags = waiting(operations.tags)
    tag = waiting(operations.tag)
    flag = waiting(operations.flag)
    flagged = waiting(operations.flagged)
    judge_flagged = waiting(operations.judge_flagged)
    constraints = waiting(operations.constraints)
    answers = waiting(operations.answers)
    run = waiting(operations.run)
    wait_for = waiting(operations.wait_for)
    cancel = waiting(operations.cancel)
    runs = waiting(operations.runs)
    clusters = waiting(operations.clusters)
    cluster_list = waiting(operations.cluster_list)
    name_cluster = waiting(operations.name_cluster)
    share_links = waiting(operations.share_links)
    make_share_link = waiting(operations.make_share_link)
    revoke_share_link = waiting(operations.revoke_share_link)
    posterior = waiting(operations.posterior)
    map_points = waiting(operations.map_points)
    summary = waiting(operations.summary)
    edit = waiting(operations.edit)
    delete = waiting(operations.delete)
    label = waiting(labeling_frame.label)
    tokens = waiting(access_operations.tokens)
    make_token = waiting(access_operations.make_token)
    revoke_token = waiting(access_operations.revoke_token)
    labeler_data = waiting(access_operations.labeler_data)
    erase_labeler = waiting(access_operations.erase_labeler)
    webhooks = waiting(webhook_operations.webhooks)
    make_webhook = waiting(webhook_operations.make_webhook)
    send_test = waiting(webhook_operations.send_test)
    remove_webhook = waiting(webhook_operations.remove_webhook)
    deliveries = waiting(webhook_operations.deliveries)

    def events(self) -> Iterator[ProjectEvent]:
        """Yield what happens in the project, without end; a lost stream goes on where it broke off."""
        stream = EventStream(self)
        while True:
            try:
                with self.http.stream("GET", stream.path, **stream.options()) as response:
                    if response.is_error:
                        response.read()
                    stream.check(response)
                    yield from filter(None, map(stream.take, response.iter_lines()))
            except httpx.TransportError:
                time.sleep(PAUSE_SECONDS)

    def __repr__(self) -> str:
        """Show the key."""
        return f"ProjectClient({self.key!r})"

    def _repr_html_(self) -> str:
        """Show the project in a notebook: its clusters as a table and a map."""
        details = self.details()
        try:
            return overview(details, self.cluster_list(), self.map_points())
        except Refused:
            return overview(details)


class AsyncProjectClient:
    """One project, as `AsyncClient.project` returns it."""

    def __init__(self, http: httpx.AsyncClient, key: str, frames: Library | None, *, progress: bool) -> None:
        """Store what the operations need."""
        self.http, self.key, self.frames, self.progress = http, key, frames, progress
        self.etags: dict[str, str] = {}
        self.labeling_url: str | None = None

    details = awaited(changing.details)
    update = awaited(changing.update)
    item = awaited(changing.item)
    change_item = awaited(changing.change_item)
    delete_item = awaited(changing.delete_item)
    push = awaited(operations.push)
    set_features = awaited(operations.set_features)
    items = awaited(operations.items)
    media = awaited(operations.media)
    ask = awaited(operations.ask)
    answer = awaited(operations.answer)
    tags = awaited(operations.tags)
    tag = awaited(operations.tag)
    flag = awaited(operations.flag)
    flagged = awaited(operations.flagged)
    judge_flagged = awaited(operations.judge_flagged)
    constraints = awaited(operations.constraints)
    answers = awaited(operations.answers)
    run = awaited(operations.run)
    wait_for = awaited(operations.wait_for)
    cancel = awaited(operations.cancel)
    runs = awaited(operations.runs)
    clusters = awaited(operations.clusters)
    cluster_list = awaited(operations.cluster_list)
    name_cluster = awaited(operations.name_cluster)
    share_links = awaited(operations.share_links)
    make_share_link = awaited(operations.make_share_link)
    revoke_share_link = awaited(operations.revoke_share_link)
    posterior = awaited(operations.posterior)
    map_points = awaited(operations.map_points)
    summary = awaited(operations.summary)
    edit = awaited(operations.edit)
    delete = awaited(operations.delete)
    label = awaited(labeling_frame.label)
    tokens = awaited(access_operations.tokens)
    make_token = awaited(access_operations.make_token)
    revoke_token = awaited(access_operations.revoke_token)
    labeler_data = awaited(access_operations.labeler_data)
    erase_labeler = awaited(access_operations.erase_labeler)
    webhooks = awaited(webhook_operations.webhooks)
    make_webhook = awaited(webhook_operations.make_webhook)
    send_test = awaited(webhook_operations.send_test)
    remove_webhook = awaited(webhook_operations.remove_webhook)
    deliveries = awaited(webhook_operations.deliveries)

    async def events(self) -> AsyncIterator[ProjectEvent]:
        """Yield what happens in the project, without end; a lost stream goes on where it broke off."""
        stream = EventStream(self)
        while True:
            try:
                async with self.http.stream("GET", stream.path, **stream.options()) as response:
                    if response.is_error:
                        await response.aread()
                    stream.check(response)
                    async for line in response.aiter_lines():
                        if (event := stream.take(line)) is not None:
                            yield event
            except httpx.TransportError:
                await asyncio.sleep(PAUSE_SECONDS)

    def __repr__(self) -> str:
        """Show the key."""
        return f"AsyncProjectClient({self.key!r})"
