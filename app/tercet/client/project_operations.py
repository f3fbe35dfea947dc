"""What a program can do with a project: operations that `ProjectClient` waits for and `AsyncProjectClient` awaits."""

import io
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal, Protocol
from urllib.parse import quote

import httpx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.client.errors import ClientError, Refused
from tercet.client.frames import Library, make_frame, rows_of
from tercet.client.operations import Call, Pause, Steps, respond
from tercet.client.progress import Report, progress_bar
from tercet.client.uploading import Package, pack
from tercet.dashboard.schemas import Summary
from tercet.edits.schemas import EditOut
from tercet.exchange.schemas import ReceivedOut
from tercet.intake.schemas import FileReceived, ImportOut, ImportPreview, ReceivedList
from tercet.items.schemas import FeaturesOut, ItemList
from tercet.labeling.schemas import AnswersOut, FlaggedList, FlagOut, NextOut, TripletOut
from tercet.models import ImportStatus
from tercet.projects.schemas import NewShareLinkOut, ShareLinkList, ShareLinkOut
from tercet.runs.schemas import ClusterList, NamedCluster, RunList, RunOut
from tercet.tags.schemas import TagChanged, TagList

# How often an import that is waited for is looked at, in seconds.
SOONEST, LATEST = 0.1, 2.0
ANSWER_COLUMNS = (
    "id",
    "number",
    "anchor",
    "left",
    "right",
    "answer",
    "labeler",
    "response_ms",
    "created_at",
    "withdrawn_at",
    "set_aside_at",
    "comment",
)
ITEM_COLUMNS = ("key", "position", "text", "media_type", "media_url", "bag", "metadata", "tags")
TAG_COLUMNS = ("tag", "items")
FLAG_COLUMNS = ("item", "labeler", "labeler_name", "reason", "note", "created_at")
CLUSTER_COLUMNS = ("item", "cluster", "confidence")
NDJSON = {"Content-Type": "application/x-ndjson"}
ENDED = {"done", "failed", "cancelled"}


class RunFailed(ClientError):
    """A run that was waited for has failed; `run` is its last state."""

    def __init__(self, run: RunOut) -> None:
        """Say why it failed."""
        self.run = run
        super().__init__(f"Run {run.number} failed: {run.error}")


class Place(Protocol):
    """Where a project is, and which frames its tables come out as."""

    key: str
    frames: Library | None
    progress: bool


def address(project: Place, rest: str = "") -> str:
    """Return the path of something in a project."""
    return f"projects/{quote(project.key, safe='')}{rest}"


def get(project: Place, rest: str = "", **query: Any) -> Steps[httpx.Response]:
    """Read something of a project."""
    parameters = {name: value for name, value in query.items() if value is not None}
    return (yield from respond(Call("GET", address(project, rest), {"params": parameters})))


def push(
    project: Place, /, table: Any, *, media: str | None = None, X: ArrayLike | None = None, skip_bad: bool = False
) -> Steps[ImportOut]:
    """Add items, or update those whose keys the project has, and wait until they are stored and have features.

    The first clusters follow by themselves.

    Parameters
    ----------
    table : frame of pandas or polars, list of dicts, or dict of columns
        A row an item. `key`, `text`, `bag` and `bag_labels` have a meaning, other columns are stored as metadata.
        Without `key` (and without `X`) items are named by their media files.
    media : str, optional
        The column with the paths of recordings, pictures or texts on this machine, which are sent.
    X : array-like of shape (N, D), optional
        Features of the items, in the order of the rows; without them Tercet makes features.
    skip_bad : bool
        Store the good items and leave the bad ones out, instead of all or nothing.

    Returns
    -------
    ImportOut
        The import; its `report` says how many items were added and changed.

    Raises
    ------
    Refused
        Where a file, row or value is wrong: `errors` name it, and nothing is stored.
    """
    package = pack(table, media, X)
    options = {"skip_bad": skip_bad} | ({} if media is None else {"media_column": "media"})
    made = yield from respond(Call("POST", address(project, "/imports"), {"json": {"options": options}}, False))
    imported = f"/imports/{made.json()['number']}"
    with progress_bar(f"Sending {len(package.files)} files", shown=project.progress) as report:
        yield from _send(project, imported, package, report)
        yield from respond(Call("POST", address(project, f"{imported}/check"), {"json": {}}, False))
        checked = yield from _until_worked(project, imported, report)
        yield from _refuse_faults(project, imported, checked)
        yield from respond(Call("POST", address(project, f"{imported}/start"), {}, False))
        done = yield from _until_worked(project, imported, report)
        while X is None and (yield from get(project, "/feature-recipe")).json()["making"]:
            report(1.0, "Waiting for features of the items")
            yield Pause(SOONEST)
        return done


def _send(project: Place, imported: str, package: Package, report: Report) -> Steps[None]:
    sizes = {path: package.size_of(path) for path in package.files}
    before, total = 0, max(sum(sizes.values()), 1)
    for path, size in sizes.items():
        received = 0
        while received < size or received == 0:
            report((before + received) / total, f"Sending {path}")
            received = yield from _send_part(project, imported, path, size, received, package.part_at(path, received))
            if not size:
                break
        before += size


def _send_part(project: Place, imported: str, path: str, size: int, offset: int, part: bytes) -> Steps[int]:
    """Send a part of a file and return how many bytes of the file the server has then."""
    options = {"params": {"size": size, "offset": offset}, "content": part}
    try:
        stored = yield from respond(Call("PUT", address(project, f"{imported}/files/{quote(path)}"), options))
    except Refused as refusal:
        if refusal.status != HTTPStatus.CONFLICT:
            raise
        # The part, or its beginning, had come before the connection was lost.
        files = ReceivedList.model_validate((yield from get(project, f"{imported}/files")).json()).files
        received = next((file.received for file in files if file.path == path), 0)
        if received <= offset:
            raise
        return received
    return FileReceived.model_validate(stored.json()).received


def _until_worked(project: Place, imported: str, report: Report) -> Steps[ImportOut]:
    """Wait until an import is checked or stored; raise ClientError where it failed."""
    pause = SOONEST
    while True:
        row = ImportOut.model_validate((yield from get(project, imported)).json())
        if row.status not in (ImportStatus.CHECKING, ImportStatus.IMPORTING):
            break
        report(row.job.progress if row.job else 0.0, f"Import {row.number}: {row.status}")
        yield Pause(pause)
        pause = min(pause * 1.5, LATEST)
    if row.status not in (ImportStatus.READY, ImportStatus.DONE):
        raise ClientError(f"Import {row.number} is {row.status}: {row.report.error or 'no reason was noted'}")
    return row


def _refuse_faults(project: Place, imported: str, checked: ImportOut) -> Steps[None]:
    """Cancel an import with faults and raise Refused with them, unless the bad items are to be left out."""
    if not checked.report.faults_count or checked.options.skip_bad:
        return
    preview = ImportPreview.model_validate((yield from get(project, f"{imported}/preview", limit=1)).json())
    yield from respond(Call("POST", address(project, f"{imported}/cancel"), {}, False))
    faults = [{name: value for name, value in vars(fault).items() if value is not None} for fault in preview.faults]
    raise Refused(422, f"{checked.report.faults_count} faults: nothing was stored.", faults)


def set_features(project: Place, /, X: ArrayLike, keys: Sequence[str] | None = None) -> Steps[FeaturesOut]:
    """Store features of all items as the next version; a run on them starts.

    Parameters
    ----------
    X : array-like of shape (N, D)
    keys : sequence of N str, optional
        The item of each row; without them, rows are in the order of the items.
    """
    arrays = {"X": np.asarray(X)} | ({} if keys is None else {"keys": np.array(keys, dtype=str)})
    written = io.BytesIO()
    np.savez(written, **arrays)  # type: ignore[arg-type]
    call = Call("PUT", address(project, "/features"), {"content": written.getvalue()})
    return FeaturesOut.model_validate((yield from respond(call)).json())


def items(
    project: Place,
    /,
    *,
    keys: Sequence[str] | None = None,
    bag: str | None = None,
    label: str | None = None,
    metadata: Mapping[str, object] | None = None,
    tag: str | None = None,
    cluster: int | None = None,
    set_aside: bool = False,
) -> Steps[Any]:
    """Return a frame of items in their order: key, position, text, media_type, media_url, bag, metadata, tags.

    Parameters
    ----------
    keys : sequence of str, optional
        Only items with these keys, 500 at most.
    bag, label : str, optional
        Only items of a bag; of bags that have a label.
    metadata : mapping, optional
        Only items that have these values in these columns.
    tag : str, optional
        Only items with this tag.
    cluster : int, optional
        Only items that the newest run put in this cluster.
    set_aside : bool
        The items that are set aside, instead of those in use.
    """
    cells = None if metadata is None else [f"{column}={_as_text(value)}" for column, value in metadata.items()]
    query = {"key": keys, "bag": bag, "label": label, "metadata": cells, "tag": tag, "cluster": cluster}
    query["set_aside"] = set_aside
    rows: list[dict[str, Any]] = []
    after: int | None = -1
    while after is not None:
        page = ItemList.model_validate((yield from get(project, "/items", after=after, limit=1000, **query)).json())
        rows += [item.model_dump() for item in page.items]
        after = page.next
    return make_frame(project.frames, rows, ITEM_COLUMNS)


def _as_text(value: object) -> str:
    """Return a cell as the server compares it: truth values and numbers as JSON has them."""
    return value if isinstance(value, str) else json.dumps(value)


def media(project: Place, /, key: str, kind: Literal["media", "picture", "thumbnail"] = "media") -> Steps[bytes]:
    """Return the bytes of an item's recording, picture or text, of its picture, or of a small one."""
    return (yield from get(project, f"/media/{kind}/{quote(key, safe='')}")).content


def ask(project: Place, /, n: int = 1) -> Steps[list[TripletOut]]:
    """Lease the next questions for the token's owner; none when there is nothing to ask at the moment.

    Parameters
    ----------
    n : int
        How many, at most 100. Asking again returns those that are not answered yet first.

    Returns
    -------
    list of TripletOut
        `triplet` has the keys of anchor, left and right, `items` what to show of them.
    """
    reply = yield from get(project, "/triplets/next", n=n)
    return NextOut.model_validate(reply.json()).triplets


def answer(
    project: Place,
    /,
    question: TripletOut | Sequence[str],
    answer: str,
    *,
    response_ms: int | None = None,
    ask: int = 0,
) -> Steps[AnswersOut]:
    """Store an answer of the token's owner, once, however often it had to be sent.

    Parameters
    ----------
    question : TripletOut, or sequence of 3 str
        A question of `ask`, or the keys of anchor, left and right.
    answer : str
        "yes", "no" or "dnk"; to an outlier question "1", "2", "3" or "dnk".
    response_ms : int, optional
        Milliseconds from when the question was fully shown to the answer.
    ask : int
        How many questions to lease next, in the same request: they are in `next.triplets` of what is returned.
    """
    triplet = question.triplet if isinstance(question, TripletOut) else list(question)
    body = {"id": str(uuid.uuid4()), "triplet": triplet, "answer": answer, "response_ms": response_ms}
    stored = yield from respond(Call("POST", address(project, "/answers"), {"json": body, "params": {"ask": ask}}))
    return AnswersOut.model_validate(stored.json())


def tags(project: Place, /) -> Steps[Any]:
    """Return a frame of the tags of items, and how many items in use have each; `items(tag=...)` returns these."""
    listed = TagList.model_validate((yield from get(project, "/tags")).json())
    return make_frame(project.frames, [tag.model_dump() for tag in listed.tags], TAG_COLUMNS)


def tag(project: Place, /, tag: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Steps[TagChanged]:
    """Put a tag on items, and take it off others.

    Parameters
    ----------
    tag : str
    add, remove : iterable of str
        Keys of items, 5,000 each at most.

    Returns
    -------
    TagChanged
        The keys of those that this `added` and `removed`: sent the other way round, it is undone.
    """
    body = {"tag": tag, "add": list(add), "remove": list(remove)}
    reply = yield from respond(Call("POST", address(project, "/tags"), {"json": body}))
    return TagChanged.model_validate(reply.json())


def flag(project: Place, /, item: str, reason: str = "other", note: str = "") -> Steps[FlagOut]:
    """Say that an item is broken; the token's owner is asked nothing about it any more.

    Parameters
    ----------
    item : str
        The key of the item.
    reason : str
        "empty" (nothing to hear, see or read), "cut" (not all of it), "wrong" (not what it should be) or "other".
    note : str
        The same in words.
    """
    body = {"item": item, "reason": reason, "note": note}
    stored = yield from respond(Call("POST", address(project, "/flags"), {"json": body}))
    return FlagOut.model_validate(stored.json())


def flagged(project: Place, /, state: str = "open") -> Steps[Any]:
    """Return a frame of what labelers say is broken, a row for each item and labeler.

    Parameters
    ----------
    state : str
        "open", "dismissed" (it is fine) or "set-aside".
    """
    rows: list[dict[str, Any]] = []
    after: int | None = -1
    while after is not None:
        page = FlaggedList.model_validate(
            (yield from get(project, "/flagged-items", state=state, after=after, limit=1000)).json()
        )
        rows += [{"item": item.key, **flag.model_dump(mode="json")} for item in page.items for flag in item.flags]
        after = page.next
    return make_frame(project.frames, rows, FLAG_COLUMNS)


def judge_flagged(project: Place, /, item: str, state: str) -> Steps[None]:
    """Decide about an item that labelers flagged.

    Parameters
    ----------
    item : str
        The key of the item.
    state : str
        "set-aside" takes it out of questions and fits, "dismissed" says that it is fine, "open" takes either back.
    """
    place = f"/flagged-items/{quote(item, safe='')}"
    yield from respond(Call("PUT", address(project, place), {"json": {"state": state}}))


def constraints(project: Place, /, table: Any) -> Steps[ReceivedOut]:
    """Store answers in bulk, all or none; the same table sent again stores nothing twice.

    Parameters
    ----------
    table : frame of pandas or polars, list of dicts, or dict of columns
        Columns anchor, left, right and answer, perhaps labeler, response_ms and id. What `answers` returns goes in
        again, without the columns that the server writes.

    Returns
    -------
    ReceivedOut
        How many `rows` there were, and how many were `stored` or `repeated`.
    """
    body = "".join(json.dumps(_constraint(row), default=str) + "\n" for row in rows_of(table))
    call = Call("POST", address(project, "/constraints"), {"content": body.encode(), "headers": NDJSON})
    return ReceivedOut.model_validate((yield from respond(call)).json())


def _constraint(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as the server reads it: the triplet as a list, and nothing that is missing."""
    places = ("anchor", "left", "right")
    absent = [name for name in (*places, "answer") if row.get(name) is None]
    if absent:
        raise ValueError(f"each row needs {', '.join(absent)}; this one has {', '.join(map(str, row)) or 'nothing'}")
    others = {name: value for name, value in row.items() if name not in places and value is not None}
    return {"triplet": [row[name] for name in places], **others}


def answers(project: Place, /, *, after: int = 0, withdrawn: bool = False, names: bool = False) -> Steps[Any]:
    """Return a frame of the answers in the order in which they were given.

    Parameters
    ----------
    after : int
        Only answers whose `number` is larger: those that came since the last time.
    withdrawn : bool
        Also those that were withdrawn or set aside, which have a time in `withdrawn_at` or `set_aside_at`.
    names : bool
        Labelers by their names; otherwise by pseudonyms, the same every time.
    """
    chosen = {"after": after, "withdrawn": withdrawn, "names": names}
    reply = yield from get(project, "/constraints", format="ndjson", **chosen)
    rows = [_answer(json.loads(line)) for line in reply.text.splitlines()]
    return make_frame(project.frames, rows, ANSWER_COLUMNS)


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    anchor, left, right = row.pop("triplet")
    return {**row, "anchor": anchor, "left": left, "right": right}


def run(project: Place, /, algorithm: str | None = None, *, wait: bool = True, **parameters: Any) -> Steps[RunOut]:
    """Start a run and, unless told otherwise, wait until it is done.

    Parameters
    ----------
    algorithm : str, optional
        A system of `GET /api/v1/algorithms`; the project's where left out.
    wait : bool
        Whether to wait, with a progress bar, until the run has ended.
    **parameters :
        Parameters of the system, such as `n_clusters`; the project's where left out.

    Raises
    ------
    RunFailed
        Where the run that was waited for failed.
    """
    body = {"algorithm": algorithm, "parameters": parameters or None}
    started = yield from respond(Call("POST", address(project, "/runs"), {"json": body}, False))
    row = RunOut.model_validate(started.json())
    return (yield from wait_for(project, row.number)) if wait else row


def wait_for(project: Place, /, number: int) -> Steps[RunOut]:
    """Wait until a run has ended and return it; raise RunFailed where it failed."""
    with progress_bar(f"Run {number}", shown=project.progress) as report:
        while True:
            row = RunOut.model_validate((yield from get(project, f"/runs/{number}", wait=1)).json())
            report(row.progress, f"Run {number}: {row.status}")
            if row.status in ENDED:
                break
    if row.status == "failed":
        raise RunFailed(row)
    return row


def cancel(project: Place, /, number: int) -> Steps[RunOut]:
    """Cancel a run that has not ended."""
    return RunOut.model_validate((yield from respond(Call("POST", address(project, f"/runs/{number}/cancel")))).json())


def runs(project: Place, /, limit: int = 50) -> Steps[list[RunOut]]:
    """Return the newest runs, newest first, at most 1,000."""
    return RunList.model_validate((yield from get(project, "/runs", limit=limit)).json()).runs


def clusters(project: Place, /, run: int | str = "latest") -> Steps[Any]:
    """Return a frame with the cluster and the confidence of each item: item, cluster, confidence."""
    reply = yield from get(project, f"/runs/{run}/items", format="ndjson")
    return make_frame(project.frames, [json.loads(line) for line in reply.text.splitlines()], CLUSTER_COLUMNS)


def cluster_list(project: Place, /, run: int | str = "latest") -> Steps[ClusterList]:
    """Return a run's clusters with their names, sizes, typical items and those that they are least sure of."""
    return ClusterList.model_validate((yield from get(project, f"/runs/{run}/clusters")).json())


def name_cluster(project: Place, /, cluster: int, name: str, *, note: str = "") -> Steps[NamedCluster]:
    """Name a cluster of the latest run; the name holds from this run on."""
    call = Call("PUT", address(project, f"/runs/latest/clusters/{cluster}"), {"json": {"name": name, "note": note}})
    return NamedCluster.model_validate((yield from respond(call)).json())


def share_links(project: Place, /) -> Steps[list[ShareLinkOut]]:
    """Return the labeling links; of those that were revoked, only the ones that somebody came by."""
    return ShareLinkList.model_validate((yield from get(project, "/share-links")).json()).links


def make_share_link(
    project: Place, /, *, labeler: str = "", days: int | None = None, most: int | None = None
) -> Steps[NewShareLinkOut]:
    """Make a labeling link; its `url` is not shown again.

    Parameters
    ----------
    labeler : str
        The name of its only labeler, who is new; where left out, everybody who has the link becomes a new labeler.
    days : int, optional
        After how many days it ends; where left out, once it is revoked.
    most : int, optional
        How many people may come by it.
    """
    body = {"labeler": labeler, "days": days, "most": most}
    call = Call("POST", address(project, "/share-links"), {"json": body}, False)
    return NewShareLinkOut.model_validate((yield from respond(call)).json())


def revoke_share_link(project: Place, /, link: int) -> Steps[ShareLinkOut]:
    """End a labeling link, and the sessions of everybody who came by it; their answers stay."""
    call = Call("DELETE", address(project, f"/share-links/{link}"))
    return ShareLinkOut.model_validate((yield from respond(call)).json())


def posterior(project: Place, /, run: int | str = "latest") -> Steps[Any]:
    """Return a frame with the probability of every cluster for each item: item, cluster_1, cluster_2, ..."""
    reply = yield from get(project, f"/runs/{run}/posterior", format="npz")
    with np.load(io.BytesIO(reply.content), allow_pickle=False) as arrays:
        keys, values = arrays["keys"].tolist(), arrays["posterior"]
    names = [f"cluster_{cluster}" for cluster in range(1, values.shape[1] + 1)]
    rows = [{"item": key, **dict(zip(names, row, strict=True))} for key, row in zip(keys, values.tolist(), strict=True)]
    return make_frame(project.frames, rows, ["item", *names])


def map_points(project: Place, /, run: int | str = "latest") -> Steps[NDArray[np.float32]]:
    """Return the map, shape (N, 4): x, y, cluster and confidence of each item in item order."""
    reply = yield from get(project, f"/runs/{run}/map")
    return np.frombuffer(reply.content, dtype="<f4").reshape(-1, 4)


def summary(project: Place, /) -> Steps[Summary]:
    """Return the dashboard's figures: answers by labeler, what happens next, and what further answers would buy."""
    return Summary.model_validate((yield from get(project, "/summary")).json())


def edit(project: Place, /, kind: str, items: Iterable[str] = (), **fields: Any) -> Steps[EditOut]:
    """Say how clusters should be; the next run learns it.

    Parameters
    ----------
    kind : str
        move, keep, out, typical, together, apart, merge or split.
    items : iterable of str
        Keys of the items; none to merge.
    **fields :
        `cluster` to move to, or to merge `other` into; `weight`, how many answers it counts as.
    """
    body = {"kind": kind, "items": list(items), **fields}
    made = yield from respond(Call("POST", address(project, "/edits"), {"json": body}, False))
    return EditOut.model_validate(made.json())


def delete(project: Place, /) -> Steps[None]:
    """Delete the project; for 30 days an owner can take this back."""
    yield from respond(Call("DELETE", address(project)))
