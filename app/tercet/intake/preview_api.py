"""What can be changed about an import before it is started, over REST: how recordings are cut, and its files."""

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from tercet.accounts.access import Action, Me
from tercet.intake import imports, removing, segment_preview
from tercet.intake.schemas import ImportOut
from tercet.intake.segment_preview import ProposedSegments
from tercet.sounds.segments import SegmentSettings
from tercet.web.dependencies import Blobs, Db
from tercet.web.errors import Invalid
from tercet.web.numbers import Id
from tercet.web.problems import problems
from tercet.web.texts import Text

router = APIRouter(prefix="/api/v1/projects", tags=["items"], responses=problems(401, 403, 404, 409, 422))
ONE_IMPORT = "/{project}/imports/{number}"
DEFAULTS = SegmentSettings()

Path = Annotated[Text, Query(description="the recording, as it is called in the import")]
Begin = Annotated[float, Query(ge=0, le=1e9, description="seconds from its beginning", allow_inf_nan=False)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class SegmentQuery(BaseModel):
    """A recording, and what counts as a segment of it."""

    model_config = ConfigDict(extra="forbid")

    path: Text = Field(description="the recording, as it is called in the import")
    low_hz: Number = DEFAULTS.low_hz
    high_hz: Number = DEFAULTS.high_hz
    threshold_db: Number = Field(DEFAULTS.threshold_db, description="so much louder than the noise of their band")
    smallest_gap: Number = Field(DEFAULTS.smallest_gap, description="seconds; sounds closer than that are one")
    shortest: Number = Field(DEFAULTS.shortest, description="seconds")
    pad: Number = Field(DEFAULTS.pad, description="seconds that are added at both ends")

    def settings(self) -> SegmentSettings:
        """Return what counts as a segment; raise Invalid with a sentence if it makes no sense."""
        try:
            return SegmentSettings(**self.model_dump(exclude={"path"}))
        except ValueError as error:
            raise Invalid(f"Nothing can be cut like this: {error}.") from error


@router.get(ONE_IMPORT + "/segments")
def get_segments(
    project: str, number: Id, asked: Annotated[SegmentQuery, Query()], me: Me, db: Db, blobs: Blobs
) -> ProposedSegments:
    """Try how a recording that has come would be cut into segments; of a long one, its first ten minutes.

    Nothing is changed: send the settings with `check` to have the whole import cut by them. 409: it has not come whole.
    """
    settings = asked.settings()
    with db.reading() as session:
        _, row = imports.find(session, me, project, number, Action.READ)
        file = segment_preview.recording_of(session, row, asked.path)
    return segment_preview.propose(blobs, file, settings)


@router.get(
    ONE_IMPORT + "/spectrogram",
    response_class=Response,
    responses={200: {"content": {"image/png": {"example": "bytes"}}}},
)
def get_spectrogram(project: str, number: Id, path: Path, me: Me, db: Db, blobs: Blobs, begin: Begin = 0.0) -> Response:
    """Fetch the spectrogram of half a minute of a recording that has come, up to its highest frequency."""
    with db.reading() as session:
        _, row = imports.find(session, me, project, number, Action.READ)
        file = segment_preview.recording_of(session, row, path)
    headers = {"Cache-Control": "private, max-age=600", "X-Content-Type-Options": "nosniff"}
    return Response(segment_preview.picture(blobs, file, begin), media_type="image/png", headers=headers)


@router.delete(ONE_IMPORT + "/files/{path:path}")
def delete_import_file(project: str, number: Id, path: str, me: Me, db: Db, blobs: Blobs) -> ImportOut:
    """Take one file out of an import, for instance one that cannot be sent to its end; then check the import again.

    404: it has no such file. 409: the import is under way or over.
    """
    with db.transaction() as session:
        access, row = imports.find(session, me, project, number, Action.WRITE)
        folder = removing.remove_file(session, access.project, row, path)
        answer = imports.show(session, row)
    blobs.delete_folder(folder)
    return answer
