"""REST: read items, features and media."""

from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from tercet.accounts.access import Action, authorize
from tercet.accounts.dependencies import Me
from tercet.errors import NotFound
from tercet.items import queries
from tercet.items.media_types import CONTENT_TYPES
from tercet.items.schemas import FEATURES_EXAMPLE, FeaturesOut, ItemOut
from tercet.items.sending import send
from tercet.sounds.playing import FASTEST, SLOWEST, Playing
from tercet.web.dependencies import Blobs, Db
from tercet.web.entity_tags import entity_tag
from tercet.web.problems import problems

router = APIRouter(prefix="/api/v1/projects", tags=["items"], responses=problems(401, 403, 404))
BYTES = {name: {"example": "bytes"} for name in sorted(set(CONTENT_TYPES.values()))}


class Medium(StrEnum):
    """The stored files of an item."""

    MEDIA = "media"
    PICTURE = "picture"
    THUMBNAIL = "thumbnail"


@router.get("/{project}/items/{key:path}")
def get_item(project: str, key: str, me: Me, db: Db, response: Response) -> ItemOut:
    """Read one item, also one that is set aside."""
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        row = queries.item_and_bag(session, access.project.id, key)
        if row is None:
            raise NotFound(f"There is no item '{key}' in project '{project}'.")
        tags = queries.tags_by_position(session, access.project.id, [row[0].position])
        item = ItemOut.of_item(project, *row, tags)
    response.headers["ETag"] = entity_tag(item)
    return item


@router.get("/{project}/features", responses={200: {"content": {"application/json": {"example": FEATURES_EXAMPLE}}}})
def get_features(project: str, me: Me, db: Db) -> FeaturesOut:
    """Read which features runs use.

    404: the project has none yet.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.READ)
        features = queries.latest_features(session, access.project.id)
        if features is None:
            raise NotFound(f"Project '{project}' has no features yet: upload them with PUT.")
        return FeaturesOut.model_validate(features)


@router.get(
    "/{project}/media/{kind}/{key:path}",
    response_class=Response,
    responses={
        200: {"content": BYTES, "description": "The file; ranges are served."},
        206: {"content": BYTES, "description": "The range of it that was asked for (Range)."},
        304: {"description": "You have it already (If-None-Match)."},
        **problems(409, 416),
    },
)
def get_media(
    project: str,
    kind: Medium,
    key: str,
    request: Request,
    me: Me,
    db: Db,
    blobs: Blobs,
    level: Annotated[bool, Query(description="sounds: bring the sounding part to one loudness, as a WAV file")] = False,
    speed: Annotated[
        float, Query(ge=SLOWEST, le=FASTEST, description="sounds: 0.1 plays ten times slower and lower, as a WAV file")
    ] = 1.0,
) -> Response:
    """Fetch an item's media (what was given), picture (a spectrogram or the image) or thumbnail.

    Sounds that browsers cannot play (AIFF, W64, CAF, AU, rates above 192 kHz) come as WAV files. 409: a sound is too
    long to be converted.
    """
    with db.reading() as session:
        access = authorize(session, me, project, Action.LOOK)
        item = queries.item_by_key(session, access.project.id, key)
    blob_key: str | None = getattr(item, kind) if item else None
    if blob_key is None:
        raise NotFound(f"There is no {kind} of an item '{key}' here.")
    return send(blobs, blob_key, request, Playing(level, speed) if kind == Medium.MEDIA else None)
