"""Pictures of sounds drawn anew, after the project's settings for them changed or clips of another length came."""

from sqlalchemy import select

from tercet.intake import media
from tercet.intake.picture_scale import fit_to_stored, stored_settings, to_store
from tercet.intake.storing import remove_unused
from tercet.intake.work import Work
from tercet.models import Item, Project
from tercet.projects.service import blob_folder
from tercet.runs.queries import lock_project
from tercet.sounds.picture_settings import PictureSettings


def draw_pictures(work: Work) -> None:
    """Draw the pictures of all sounds of the job's project; people see the old ones until all new ones are there."""
    project_id = work.job.project_id
    folder = blob_folder(project_id)
    with work.database.reading() as session:
        sounds = select(Item).where(Item.project_id == project_id, Item.media_type.startswith("audio/"))
        settings = stored_settings(session.get_one(Project, project_id))
        items = list(session.scalars(sounds.where(Item.deleted_at.is_(None))))
    fitted = fit_to_stored(work.storage, items) if settings is None else None
    settings = settings or (fitted[0] if fitted else PictureSettings())
    drawn: dict[int, tuple[str, str]] = {}
    for number, item in enumerate(items):
        work.report(number / len(items), f"Drawing {number + 1} of {len(items)} sounds")
        if item.media is not None:
            prepared = media.prepare(work.storage.get(item.media), settings)
            pictures = (prepared.picture, "picture"), (prepared.thumbnail, "thumbnail")
            picture, thumbnail = (
                work.storage.put_content(f"{folder}/{kind}", blob.content, blob.suffix) for blob, kind in pictures
            )
            drawn[item.id] = picture, thumbnail
    before = [key for item in items for key in (item.picture, item.thumbnail) if key]
    with work.database.transaction() as session:
        project = lock_project(session, project_id)
        if fitted and project.picture_settings is None:
            project.picture_settings = to_store(*fitted)
        for item_id, (picture, thumbnail) in drawn.items():
            row = session.get(Item, item_id)
            if row is not None and row.deleted_at is None:
                row.picture, row.thumbnail = picture, thumbnail
        work.finish(session, f"{len(drawn)} pictures drawn")
    remove_unused(work.database, work.storage, project_id, before)
