"""Operations that change what was read, and are refused where somebody else was faster.

The ETag of what was read last is kept with the project and sent with the change, so a program overwrites nothing that
it has not seen.
"""

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote

from tercet.client.errors import ChangedMeanwhile
from tercet.client.operations import Call, Steps, respond
from tercet.client.project_operations import Place, address, get
from tercet.intake.schemas import ItemRemoved
from tercet.items.schemas import ItemOut
from tercet.projects.schemas import ProjectOut


class TaggedPlace(Place, Protocol):
    """A project with the ETags of what was read, by the rest of the path."""

    tags: dict[str, str]


def details(project: TaggedPlace, /) -> Steps[ProjectOut]:
    """Read the project's settings and counts."""
    return ProjectOut.model_validate((yield from _read(project, "")))


def update(project: TaggedPlace, /, **settings: Any) -> Steps[ProjectOut]:
    """Change settings of the project, such as `n_clusters` or `question_text`, and return all of them.

    Parameters
    ----------
    **settings :
        Fields of `PATCH /api/v1/projects/{project}`; what is left out stays as it is.

    Raises
    ------
    ChangedMeanwhile
        Where this object has read `details`, and somebody else has changed a setting since.
    """
    return ProjectOut.model_validate((yield from _change(project, "", settings)))


def item(project: TaggedPlace, /, key: str) -> Steps[ItemOut]:
    """Read one item, also one that is set aside."""
    return ItemOut.model_validate((yield from _read(project, _place_of(key))))


def change_item(project: TaggedPlace, /, key: str, **fields: Any) -> Steps[ItemOut]:
    """Change one item and return it.

    Parameters
    ----------
    key : str
    **fields :
        `text`, `bag`, `metadata` (changed by name; None removes one), or `set_aside`; what is left out stays.

    Raises
    ------
    ChangedMeanwhile
        Where this object has read the item, and somebody else has changed it since.
    """
    return ItemOut.model_validate((yield from _change(project, _place_of(key), fields)))


def delete_item(project: TaggedPlace, /, key: str) -> Steps[ItemRemoved]:
    """Delete an item; one with answers is set aside instead, and can be put back."""
    removed = yield from respond(Call("DELETE", address(project, _place_of(key)), {}, False))
    return ItemRemoved.model_validate(removed.json())


def _place_of(key: str) -> str:
    return f"/items/{quote(key, safe='')}"


def _read(project: TaggedPlace, rest: str) -> Steps[dict[str, Any]]:
    reply = yield from get(project, rest)
    project.tags[rest] = reply.headers["ETag"]
    return reply.json()  # type: ignore[no-any-return]


def _change(project: TaggedPlace, rest: str, changes: Mapping[str, Any]) -> Steps[dict[str, Any]]:
    """Change something, if it is as it was read; where the answer to the same change was lost, that is success."""
    headers = {"If-Match": project.tags[rest]} if rest in project.tags else {}
    try:
        reply = yield from respond(Call("PATCH", address(project, rest), {"json": dict(changes), "headers": headers}))
    except ChangedMeanwhile:
        stored = (yield from get(project, rest)).json()
        if not _holds(stored, changes):
            raise
        return stored  # type: ignore[no-any-return]
    project.tags[rest] = reply.headers["ETag"]
    return reply.json()  # type: ignore[no-any-return]


def _holds(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> bool:
    """Return whether what is stored is as the changes make it; of objects, such as metadata, what they name counts."""
    return all(
        _holds(stored.get(name) or {}, value) if isinstance(value, Mapping) else stored.get(name) == value
        for name, value in changes.items()
    )
