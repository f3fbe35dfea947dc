"""The events of a project, read from the lines of a stream of server-sent events."""

import json
from dataclasses import dataclass
from typing import Any

import httpx

from tercet.client.errors import Refused
from tercet.client.project_operations import Place, address

# The server sends a comment every few seconds; a stream that is silent for longer is lost.
SILENCE_SECONDS = 60.0
PAUSE_SECONDS = 1.0


@dataclass(frozen=True)
class ProjectEvent:
    """Something that happened, with its data: `run`, `job`, `clusters`, `project`, `answers` or `outage`."""

    kind: str
    data: dict[str, Any]
    number: int | None


class EventStream:
    """Puts lines together to events, and knows where a new stream has to go on."""

    def __init__(self, project: Place) -> None:
        """Begin with what happens from now on."""
        self.path = address(project, "/events")
        self._last = ""
        self._fields: dict[str, str] = {}

    def options(self) -> dict[str, Any]:
        """Return the options of the request for the stream."""
        return {"headers": {"Last-Event-ID": self._last} if self._last else {}, "timeout": SILENCE_SECONDS}

    def check(self, response: httpx.Response) -> None:
        """Raise Refused where the server refused the stream; its body has been read."""
        if response.is_error:
            raise Refused.of(response)
        self._fields = {}

    def take(self, line: str) -> ProjectEvent | None:
        """Take a line; return an event where the line ends one."""
        if line:
            name, _, value = line.partition(":")
            if name:
                self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        self._last = fields.get("id", self._last)
        if "event" not in fields:
            return None
        number = int(fields["id"]) if "id" in fields else None
        return ProjectEvent(fields["event"], json.loads(fields.get("data", "{}")), number)
