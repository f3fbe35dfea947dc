"""What goes wrong between a client and its server, in the server's own sentences."""

import httpx


class ClientError(Exception):
    """What a client raises; its text is a sentence for people."""


class NoConnection(ClientError):
    """The server was not reached, or the connection broke off too often."""

    def __init__(self, cause: httpx.TransportError) -> None:
        """Say which server, and what happened."""
        try:
            place = str(cause.request.url.copy_with(path="/", query=None))
        except RuntimeError:  # an error that httpx raised before it had a request
            place = "the server"
        super().__init__(f"No connection to {place}: {cause or type(cause).__name__}")


class Refused(ClientError):
    """The server refused: `status` is the HTTP status, `errors` name file, row and field where that helps."""

    def __init__(self, status: int, detail: str, errors: list[dict[str, object]]) -> None:
        """Say the problem's sentence and what is wrong in what was sent."""
        self.status, self.detail, self.errors = status, detail, errors
        super().__init__("\n".join([detail, *map(_line, errors)]))

    @classmethod
    def of(cls, response: httpx.Response) -> "Refused":
        """Read a refusal; one by a proxy is no problem+json, and is named by its status."""
        if response.status_code == httpx.codes.PRECONDITION_FAILED:
            return ChangedMeanwhile()
        if response.headers.get("content-type", "").startswith("application/problem+json"):
            problem = response.json()
            return cls(response.status_code, problem["detail"], problem.get("errors", []))
        return cls(response.status_code, f"{response.status_code} {response.reason_phrase}", [])


class ChangedMeanwhile(Refused):
    """Somebody else has changed what was read before, so nothing was done."""

    def __init__(self) -> None:
        """Say what to do."""
        detail = "Somebody else has changed it since you read it, so nothing was done: read it again, then decide."
        super().__init__(httpx.codes.PRECONDITION_FAILED, detail, [])


def _line(error: dict[str, object]) -> str:
    """Return one fault as a line: where it is, and what is wrong."""
    places = [str(error["file"])] if "file" in error else []
    places += [f"row {error['row']}"] if "row" in error else []
    return f"- {', '.join([*places, str(error['field'])])}: {error['detail']}"
