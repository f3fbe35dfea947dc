"""The labeling page in a cell of a notebook: a frame that opens a personal labeling link."""

from dataclasses import dataclass
from html import escape
from typing import Protocol

from tercet.client.errors import ClientError
from tercet.client.operations import Call, Steps, respond
from tercet.client.project_operations import Place, make_share_link

FORBIDDEN = "frame-ancestors 'none'"
NOT_ALLOWED = (
    "This server shows its labeling page in no frame: an administrator sets TERCET_FRAME_ORIGINS to the address of the "
    "notebook, such as http://localhost:8888, and starts it again. "
    "Until then, open this link in a window of its own: {}"
)


class LabeledPlace(Place, Protocol):
    """A project with the labeling link of the last frame, which the next one opens too."""

    labeling_url: str | None


@dataclass(frozen=True)
class LabelingFrame:
    """What a cell shows: the labeling page of one labeler."""

    url: str
    height: int

    def _repr_html_(self) -> str:
        """Show the page in a frame."""
        style = f"width:100%;height:{self.height}px;border:1px solid #8886"
        return f'<iframe src="{escape(self.url)}" style="{style}" allow="autoplay" title="Labeling"></iframe>'


def label(
    project: LabeledPlace, /, *, labeler: str = "Notebook", url: str | None = None, height: int = 760
) -> Steps[LabelingFrame]:
    """Return the labeling page for a cell of a notebook, which shows it in a frame.

    Over the network it needs HTTPS, unless notebook and server are at the same host: browsers keep who labels in no
    other frame.

    Parameters
    ----------
    labeler : str
        The name of the labeler, who is new. The link made for them works for a day, and the notebook holds it.
    url : str, optional
        A labeling link that you have, to go on as its labeler.
    height : int
        Of the frame, in pixels.

    Raises
    ------
    ClientError
        Where the server allows no frames; the sentence says which setting is needed, and has the link.
    """
    address = url or project.labeling_url
    if address is None:
        address = (yield from make_share_link(project, labeler=labeler, days=1)).url
    project.labeling_url = address
    page = yield from respond(Call("GET", address))
    if FORBIDDEN in page.headers.get("Content-Security-Policy", ""):
        raise ClientError(NOT_ALLOWED.format(address))
    return LabelingFrame(address, height)
