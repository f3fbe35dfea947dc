"""Answers, pairs and pictures to and from other programs: cblearn, metric-learn, tables of pairs, Label Studio, COCO.

Answers are tables with the columns anchor, left, right and answer, as `tercet.Client` gives and takes them: frames of
pandas or polars, lists of dicts, or dicts of columns. Those programs name items by positions, so each function takes
the keys of the items in the order of their features. Salmon's files, and cblearn's arrays in an .npz, go through the
import and export of a project.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.client.frames import rows_of

Positions = NDArray[np.int64]
CblearnForm = Literal["list-order", "list-boolean", "list-count"]
PLACES = ("anchor", "left", "right")
# How many times the first of two items was nearer, less how many times the second was.
COUNTS = {"yes": 1, "no": -1, "dnk": 0}
# What the choices of Label Studio's interface are stored as.
CHOICES = {"left": "yes", "right": "no", "dnk": "dnk"}


def to_cblearn(answers: Any, items: Sequence[str], form: CblearnForm = "list-order") -> Any:
    """Return answers as cblearn's estimators take them.

    Parameters
    ----------
    answers : frame of pandas or polars, list of dicts, or dict of columns
        With the columns anchor, left, right and answer.
    items : sequence of str
        The keys of the items; their places are the objects' numbers.
    form : {"list-order", "list-boolean", "list-count"}
        Only "list-count" can say "don't know", as 0; the others leave such answers out.

    Returns
    -------
    ndarray of shape (M, 3), or a pair of it and an ndarray of shape (M,)
        Rows (anchor, nearer, farther) alone as "list-order"; else rows (anchor, left, right) and responses: whether
        left is nearer as "list-boolean", 1, -1 or 0 as "list-count".

    Raises
    ------
    ValueError
        If an item, an answer or the form is unknown, with the row.
    """
    triplets, counts = _read(answers, items)
    if form == "list-count":
        return triplets, counts
    decided = counts != 0
    triplets, nearer_left = triplets[decided], counts[decided] > 0
    if form == "list-boolean":
        return triplets, nearer_left
    if form != "list-order":
        raise ValueError(f"form must be list-order, list-boolean or list-count, got {form!r}")
    return np.where(nearer_left[:, None], triplets, triplets[:, [0, 2, 1]])


def from_cblearn(triplets: ArrayLike, items: Sequence[str], responses: ArrayLike | None = None) -> list[dict[str, str]]:
    """Return the answers that arrays of cblearn stand for.

    Parameters
    ----------
    triplets : array-like of shape (M, 3)
        Numbers of objects from 0: anchor, nearer, farther without responses, else anchor, left, right.
    items : sequence of str
        The keys of the items; the place of each is its object's number.
    responses : array-like of shape (M,), optional
        Whether the first of the two is nearer; or counts: n times the first was nearer, -n times the second, 0 for
        "don't know". An answer that was counted n times comes n times.

    Returns
    -------
    list of dict
        Rows with anchor, left, right and answer, which `ProjectClient.constraints` takes.

    Raises
    ------
    ValueError
        If shapes do not fit, or a number is no item's, with the row.
    """
    places = _tuples(triplets, (3,), items)
    counts = np.ones(len(places), dtype=np.int64) if responses is None else _counts(responses, len(places))
    times = np.maximum(1, np.abs(counts))
    rows = zip(np.repeat(places, times, axis=0).tolist(), np.repeat(np.sign(counts), times).tolist(), strict=True)
    return [_row(triplet, count, items) for triplet, count in rows]


def to_metric_learn(answers: Any, items: Sequence[str], size: Literal[3, 4] = 3) -> Positions:
    """Return answers as tuples of metric-learn, for estimators whose `preprocessor` are the items' features.

    Parameters
    ----------
    answers : frame of pandas or polars, list of dicts, or dict of columns
        With the columns anchor, left, right and answer; "don't know" is left out.
    items : sequence of str
        The keys of the items in the order of their features.
    size : {3, 4}
        3 for triplets (anchor, nearer, farther), which SCML learns from; 4 for quadruplets of which the first two
        are nearer to each other than the last two (anchor, nearer, anchor, farther), which LSML learns from.

    Returns
    -------
    ndarray of shape (M, size)

    Raises
    ------
    ValueError
        If an item, an answer or the size is unknown.
    """
    triplets = to_cblearn(answers, items)
    if size not in (3, 4):
        raise ValueError(f"size must be 3 for triplets or 4 for quadruplets, got {size!r}")
    return np.asarray(triplets if size == 3 else triplets[:, [0, 1, 0, 2]])


def from_metric_learn(tuples: ArrayLike, items: Sequence[str], y: ArrayLike | None = None) -> list[dict[str, str]]:
    """Return the answers that triplets or quadruplets of metric-learn stand for.

    Parameters
    ----------
    tuples : array-like of shape (M, 3) or (M, 4)
        Positions of items. Quadruplets have to share an item between their pairs, which is the anchor: the distance of
        two pairs without one is no question of Tercet's.
    items : sequence of str
        The keys of the items in the order of their features.
    y : array-like of shape (M,), optional
        1 where the first pair is the nearer one, -1 where the second is; all 1 without it.

    Returns
    -------
    list of dict
        Rows with anchor, left, right and answer.

    Raises
    ------
    ValueError
        If shapes do not fit, a position is no item's, or a quadruplet has no anchor, with the row.
    """
    places = _tuples(tuples, (3, 4), items)
    if places.shape[1] == 4:
        places = np.array([_anchored(row, number) for number, row in enumerate(places.tolist())]).reshape(-1, 3)
    return from_cblearn(places, items, None if y is None else _signs(y, len(places)))


def to_pairs(table: Any, items: Sequence[str]) -> tuple[Positions, Positions]:
    """Return the pairs that must and that cannot be in one cluster, as the estimators take them.

    Parameters
    ----------
    table : frame of pandas or polars, list of dicts, or dict of columns
        With the columns first, second and link: "must" or 1, "cannot" or -1.
    items : sequence of str
        The keys of the items in the order of their features.

    Returns
    -------
    must_link, cannot_link : ndarray of shape (L, 2)
        Positions of items.

    Raises
    ------
    ValueError
        If an item or a link is unknown, with the row.
    """
    place_of = _places(items)
    pairs: dict[str, list[list[int]]] = {"must": [], "cannot": []}
    for number, row in enumerate(rows_of(table)):
        link = {"1": "must", "-1": "cannot"}.get(str(row.get("link")), str(row.get("link")))
        if link not in pairs:
            raise ValueError(f"row {number}: link must be 'must' or 1, 'cannot' or -1, got {row.get('link')!r}")
        pairs[link].append([_place(row, name, place_of, number) for name in ("first", "second")])
    must, cannot = (np.array(listed, dtype=np.int64).reshape(-1, 2) for listed in pairs.values())
    return must, cannot


def from_pairs(pairs: ArrayLike, y: ArrayLike, items: Sequence[str]) -> list[dict[str, str]]:
    """Return pairs of metric-learn as a table.

    Parameters
    ----------
    pairs : array-like of shape (L, 2)
        Positions of items.
    y : array-like of shape (L,)
        1 for items that belong together, -1 for those that do not.
    items : sequence of str
        The keys of the items in the order of their features.

    Returns
    -------
    list of dict
        Rows with first, second and link, "must" or "cannot".

    Raises
    ------
    ValueError
        If shapes do not fit, or a position is no item's.
    """
    places = _tuples(pairs, (2,), items)
    links = ["must" if sign > 0 else "cannot" for sign in _signs(y, len(places)).tolist()]
    return [
        {"first": items[first], "second": items[second], "link": link}
        for (first, second), link in zip(places.tolist(), links, strict=True)
    ]


def label_studio_config(kind: Literal["Image", "Audio", "Text"] = "Image", question: str = "") -> str:
    """Return the labeling interface of a Label Studio project whose tasks `to_label_studio` makes.

    Parameters
    ----------
    kind : {"Image", "Audio", "Text"}
        What the items are.
    question : str
        What labelers read above them.
    """
    text = question or "Is 1 more similar to 2 or to 3?"
    displays = "".join(
        f'\n  <Header value="{number}" size="5"/><{kind} name="{place}" value="${place}"/>'
        for number, place in enumerate(PLACES, start=1)
    )
    words = zip(CHOICES, ("2 is more similar", "3 is more similar", "don't know"), strict=True)
    choices = "".join(f'\n    <Choice value="{value}" alias="{alias}"/>' for alias, value in words)
    asked = f'<Choices name="answer" toName="anchor">{choices}\n  </Choices>'
    return f"<View>\n  <Header value={quoteattr(text)}/>{displays}\n  {asked}\n</View>\n"


def to_label_studio(triplets: Iterable[Sequence[str]], address: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return questions as tasks that Label Studio imports.

    Parameters
    ----------
    triplets : iterable of sequences of str
        Keys of anchor, left and right, as `ProjectClient.ask` has them in `triplet`.
    address : callable
        Gives what Label Studio is to show for the key of an item: an address, or a text.
    """
    return [
        {
            "data": {
                **{place: address(key) for place, key in zip(PLACES, triplet, strict=True)},
                "triplet": list(triplet),
            }
        }
        for triplet in triplets
    ]


def from_label_studio(tasks: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the answers in an export of Label Studio, as JSON, of tasks that `to_label_studio` made.

    Annotations that were skipped, or that choose nothing, are left out. The labeler is the annotator's address, or
    the number that the export has for it.

    Raises
    ------
    ValueError
        If a task is none of ours, or a choice is none of the three.
    """
    rows = []
    for task in tasks:
        triplet = task.get("data", {}).get("triplet")
        if not isinstance(triplet, list) or len(triplet) != 3:
            raise ValueError(
                f"task {task.get('id')}: data.triplet with three keys is expected; to_label_studio writes it"
            )
        for annotation in task.get("annotations", []):
            if not annotation.get("was_cancelled") and (answer := _chosen(annotation, task)):
                labeler = _annotator(annotation.get("completed_by"))
                rows.append({**dict(zip(PLACES, map(str, triplet), strict=True)), "answer": answer} | labeler)
    return rows


def _chosen(annotation: Mapping[str, Any], task: Mapping[str, Any]) -> str | None:
    for result in annotation.get("result", []):
        if result.get("type") == "choices":
            choices = result["value"]["choices"]
            if len(choices) != 1 or choices[0] not in CHOICES:
                raise ValueError(f"task {task.get('id')}: left, right or dnk is expected as the choice, got {choices}")
            return CHOICES[choices[0]]
    return None


def _annotator(completed_by: Any) -> dict[str, str]:
    """Return the column labeler; exports have an annotator as a number or as a record with an address."""
    if isinstance(completed_by, Mapping):
        completed_by = completed_by.get("email") or completed_by.get("id")
    return {} if completed_by is None else {"labeler": str(completed_by)}


def _row(triplet: list[int], count: int, items: Sequence[str]) -> dict[str, str]:
    answer = next(answer for answer, sign in COUNTS.items() if sign == count)
    return {**{place: items[position] for place, position in zip(PLACES, triplet, strict=True)}, "answer": answer}


def _read(answers: Any, items: Sequence[str]) -> tuple[Positions, Positions]:
    """Return the triplets (M, 3) of positions and the counts (M,) of a table of answers."""
    place_of = _places(items)
    triplets, counts = [], []
    for number, row in enumerate(rows_of(answers)):
        if row.get("answer") not in COUNTS:
            raise ValueError(f"row {number}: answer must be yes, no or dnk, got {row.get('answer')!r}")
        triplets.append([_place(row, name, place_of, number) for name in PLACES])
        counts.append(COUNTS[row["answer"]])
    return np.array(triplets, dtype=np.int64).reshape(-1, 3), np.array(counts, dtype=np.int64)


def _places(items: Sequence[str]) -> dict[str, int]:
    return {key: place for place, key in enumerate(items)}


def _place(row: Mapping[str, Any], name: str, place_of: Mapping[str, int], number: int) -> int:
    if row.get(name) not in place_of:
        raise ValueError(f"row {number}: {name} is no item's key: {row.get(name)!r}")
    return place_of[row[name]]


def _tuples(tuples: ArrayLike, sizes: tuple[int, ...], items: Sequence[str]) -> Positions:
    """Return rows of positions, once they are known to be positions of items."""
    places = np.asarray(tuples)
    if places.ndim != 2 or places.shape[1] not in sizes or places.dtype.kind not in "iu":
        expected = " or ".join(f"(M, {size})" for size in sizes)
        raise ValueError(f"positions of shape {expected} are expected, got {places.dtype} of shape {places.shape}")
    beyond = np.flatnonzero(((places < 0) | (places >= len(items))).any(axis=1))
    if len(beyond):
        raise ValueError(f"row {beyond[0]}: positions must be from 0 to {len(items) - 1}, got {places[beyond[0]]}")
    return places.astype(np.int64)


def _counts(responses: ArrayLike, n_rows: int) -> Positions:
    """Return responses as counts: True and False as 1 and -1."""
    values = np.asarray(responses)
    if values.shape != (n_rows,) or values.dtype.kind not in "biuf":
        raise ValueError(f"{n_rows} booleans or counts are expected, got {values.dtype} of shape {values.shape}")
    if values.dtype.kind == "b":
        return np.where(values, 1, -1).astype(np.int64)
    if (values != np.round(values)).any():
        raise ValueError("counts must be whole numbers")
    return values.astype(np.int64)


def _signs(y: ArrayLike, n_rows: int) -> Positions:
    signs = _counts(y, n_rows)
    if not np.isin(signs, (-1, 1)).all():
        raise ValueError("y must be 1 or -1")
    return signs


def _anchored(quadruplet: list[int], number: int) -> list[int]:
    """Return anchor, nearer and farther of a quadruplet whose pairs share an item."""
    nearer, farther = quadruplet[:2], quadruplet[2:]
    for anchor in nearer:
        if anchor in farther:
            return [anchor, nearer[1 - nearer.index(anchor)], farther[1 - farther.index(anchor)]]
    raise ValueError(f"row {number}: the pairs {nearer} and {farther} share no item, which would be the anchor")


def from_coco(
    document: Mapping[str, Any], images: str | PathLike[str], crops: str | PathLike[str] | None = None
) -> list[dict[str, Any]]:
    """Return the pictures of a COCO file as items, or the boxes that are marked in them.

    Parameters
    ----------
    document : mapping
        What `json.load` reads of the file: images, categories and annotations.
    images : path
        The folder in which the names of the images are.
    crops : path, optional
        A folder to write each box to, as a picture of its own: the boxes are the items then, and the image that they
        are cut from is their bag, whose labels are all categories in it.

    Returns
    -------
    list of dict
        Rows that `ProjectClient.push` takes with `media="file"`. The column category has the names of the categories.

    Raises
    ------
    ValueError
        If an annotation names an image or a category that is not there, or has a box outside of its image.
    FileNotFoundError
        If an image is not in the folder.
    """
    names = {category["id"]: str(category["name"]) for category in document.get("categories", [])}
    boxes_of: dict[Any, list[Mapping[str, Any]]] = {image["id"]: [] for image in document.get("images", [])}
    for box in document.get("annotations", []):
        if box.get("image_id") not in boxes_of or box.get("category_id") not in names:
            raise ValueError(f"annotation {box.get('id')}: its image_id or its category_id is not in the file")
        boxes_of[box["image_id"]].append(box)
    rows = []
    for image in document.get("images", []):
        boxes, file = boxes_of[image["id"]], Path(images) / image["file_name"]
        categories = sorted({names[box["category_id"]] for box in boxes})
        if crops is None:
            rows.append({"key": image["file_name"], "file": str(file), "category": "; ".join(categories)})
            continue
        about = {"bag": image["file_name"], "bag_labels": "; ".join(categories)}
        rows += [
            {"key": _box_key(image, box), "file": str(path), "category": names[box["category_id"]], **about}
            for box, path in zip(boxes, _cut(file, image, boxes, Path(crops)), strict=True)
        ]
    return rows


def to_coco(document: Mapping[str, Any], clusters: Any, names: Mapping[int, str] | None = None) -> dict[str, Any]:
    """Return a COCO file with clusters as its categories, for items that `from_coco` made of a file.

    Parameters
    ----------
    document : mapping
        The file that the items are of.
    clusters : frame of pandas or polars, list of dicts, or dict of columns
        With the columns item, cluster and confidence, as `ProjectClient.clusters` returns it.
    names : mapping of int to str, optional
        Names of clusters by their numbers; the others are called "cluster 3".

    Returns
    -------
    dict
        The images of the file, an annotation for each box, or for each whole image where these are the items, and a
        category for each cluster. An annotation's `score` is the item's confidence. What is in no cluster is left out.
    """
    placed = {str(row["item"]): row for row in rows_of(clusters)}
    images = {image["id"]: image for image in document.get("images", [])}
    marked = [(_box_key(images[box["image_id"]], box), dict(box)) for box in document.get("annotations", [])]
    if not any(key in placed for key, _ in marked):
        marked = [(image["file_name"], _whole(image, number)) for number, image in enumerate(images.values(), 1)]
    annotations = [
        {**box, "category_id": int(placed[key]["cluster"]), "score": float(placed[key]["confidence"])}
        for key, box in marked
        if key in placed
    ]
    numbers = sorted({annotation["category_id"] for annotation in annotations})
    categories = [{"id": number, "name": (names or {}).get(number, f"cluster {number}")} for number in numbers]
    return {**document, "images": list(images.values()), "annotations": annotations, "categories": categories}


def _box_key(image: Mapping[str, Any], box: Mapping[str, Any]) -> str:
    return f"{image['file_name']}#{box['id']}"


def _whole(image: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return an annotation of a whole image."""
    width, height = image["width"], image["height"]
    area = {"area": width * height, "iscrowd": 0}
    return {"id": number, "image_id": image["id"], "bbox": [0, 0, width, height], **area}


def _cut(file: Path, image: Mapping[str, Any], boxes: Sequence[Mapping[str, Any]], folder: Path) -> Iterator[Path]:
    """Write each box of a picture to a file of its own, and yield the files."""
    from PIL import Image

    with Image.open(file) as picture:
        for box in boxes:
            left, top, width, height = box["bbox"]
            start = max(0, round(left)), max(0, round(top))
            end = min(picture.width, round(left + width)), min(picture.height, round(top + height))
            if start[0] >= end[0] or start[1] >= end[1]:
                raise ValueError(f"annotation {box['id']}: its bbox {box['bbox']} is outside of {image['file_name']}")
            path = folder / f"{image['id']}-{box['id']}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            picture.crop((*start, *end)).convert("RGB").save(path)
            yield path
