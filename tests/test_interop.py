"""Answers and pairs to and from other programs, which stand in an environment of their own."""

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from tercet import DCRC, interop

ITEMS = ["ant", "bee", "cat", "dog"]
ANSWERS = {"anchor": ["ant", "cat", "bee"], "left": ["bee", "ant", "dog"], "right": ["dog", "dog", "cat"]}
ANSWERS["answer"] = ["yes", "no", "dnk"]
ROWS = [dict(zip(ANSWERS, cells, strict=True)) for cells in zip(*ANSWERS.values(), strict=True)]
TASKS = interop.to_label_studio(
    [[row[place] for place in interop.PLACES] for row in ROWS], "https://example.org/{}".format
)

# What the other programs make of our arrays, and theirs for us. cblearn sorts its rows; the answers stay the same.
USE = """
import json, sys
import numpy as np
from cblearn.embedding import SOE
from cblearn.utils import check_query_response
from metric_learn import LSML, MMC, SCML
ours = np.load(sys.argv[1])
order = ours["order"]
boolean, truth = check_query_response(order, result_format="list-boolean")
count, counts = check_query_response(order, result_format="list-count")
back = check_query_response(ours["boolean"], ours["truth"], result_format="list-order")
summed = check_query_response(ours["count"], ours["counts"], result_format="list-count", standard=False)
points = SOE(2, random_state=0).fit(order, n_objects=len(ours["X"])).embedding_
def lengths(model):
    places = model.transform(ours["X"])[order]
    return np.linalg.norm(places[:, :1] - places[:, 1:], axis=2)
metrics = {
    "scml": SCML(preprocessor=ours["X"], random_state=0).fit(order),
    "lsml": LSML(preprocessor=ours["X"], random_state=0).fit(ours["quadruplets"]),
}
pairs = np.concatenate([ours["must"], ours["cannot"]])
y = np.repeat([1, -1], [len(ours["must"]), len(ours["cannot"])])
MMC(preprocessor=ours["X"], random_state=0).fit(pairs, y)
np.savez(sys.argv[2], order=back, boolean=boolean, truth=truth, count=count, counts=counts, summed=summed[1],
         quadruplets=ours["quadruplets"], pairs=pairs, y=y)
apart = np.linalg.norm(points[order[:, :1]] - points[order[:, 1:]], axis=2)
print(json.dumps({"soe": float((apart[:, 0] < apart[:, 1]).mean()),
                  **{name: float((np.diff(lengths(model))[:, 0] > 0).mean()) for name, model in metrics.items()}}))
"""


def decided(rows: list[dict[str, str]]) -> set[tuple[str, str, str]]:
    """The anchor, nearer and farther item of each answer."""
    sides = {"yes": ("left", "right"), "no": ("right", "left")}
    return {(row["anchor"], *(row[side] for side in sides[row["answer"]])) for row in rows}


def test_cblearns_three_forms() -> None:
    order = interop.to_cblearn(ANSWERS, ITEMS)
    triplets, nearer_left = interop.to_cblearn(ROWS, ITEMS, "list-boolean")
    every, counts = interop.to_cblearn(ROWS, ITEMS, "list-count")
    assert order.tolist() == [[0, 1, 3], [2, 3, 0]]
    assert (triplets.tolist(), nearer_left.tolist()) == ([[0, 1, 3], [2, 0, 3]], [True, False])
    assert (every.tolist(), counts.tolist()) == ([[0, 1, 3], [2, 0, 3], [1, 3, 2]], [1, -1, 0])
    assert interop.from_cblearn(every, ITEMS, counts) == ROWS
    assert interop.from_cblearn(triplets, ITEMS, nearer_left) == ROWS[:2]
    assert [row["answer"] for row in interop.from_cblearn(order, ITEMS)] == ["yes", "yes"]
    assert interop.from_cblearn([[0, 1, 3]], ITEMS, [-2]) == [{**ROWS[0], "answer": "no"}] * 2


def test_quadruplets_have_an_anchor_wherever_it_stands() -> None:
    quadruplets = interop.to_metric_learn(ROWS, ITEMS, 4)
    assert quadruplets.tolist() == [[0, 1, 0, 3], [2, 3, 2, 0]]
    rows = interop.from_metric_learn([[0, 1, 0, 3], [1, 0, 3, 0], [0, 3, 1, 0]], ITEMS, [1, 1, -1])
    assert rows == [ROWS[0], ROWS[0], {**ROWS[0], "left": "dog", "right": "bee", "answer": "no"}]


@pytest.mark.parametrize("links", [["must", "cannot"], [1, -1]])
def test_pairs_are_what_estimators_take(links: list[Any]) -> None:
    table = {"first": ["ant", "cat"], "second": ["bee", "dog"], "link": links}
    must, cannot = interop.to_pairs(table, ITEMS)
    assert (must.tolist(), cannot.tolist()) == ([[0, 1]], [[2, 3]])
    X = np.array([[0.0], [0.4], [0.6], [1.0]])
    labels = DCRC(2, random_state=0).fit_predict(X, must_link=must, cannot_link=cannot)
    assert labels[0] == labels[1]
    assert labels[2] != labels[3]
    back = interop.from_pairs([[0, 1], [2, 3]], [1, -1], ITEMS)
    assert [row["link"] for row in back] == ["must", "cannot"]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: interop.to_cblearn([{**ROWS[0], "left": "elk"}], ITEMS), "row 0: left is no item's key: 'elk'"),
        (lambda: interop.to_cblearn([{**ROWS[0], "answer": "maybe"}], ITEMS), "row 0: answer must be yes, no or dnk"),
        (lambda: interop.to_cblearn(ROWS, ITEMS, "list"), "form must be list-order"),  # type: ignore[arg-type]
        (lambda: interop.from_cblearn([[0, 1, 4]], ITEMS), "row 0: positions must be from 0 to 3"),
        (lambda: interop.from_cblearn([[0.0, 1.0, 2.0]], ITEMS), "shape .M, 3. are expected"),
        (lambda: interop.from_cblearn([[0, 1, 2]], ITEMS, [0.5]), "counts must be whole numbers"),
        (lambda: interop.from_cblearn([[0, 1, 2]], ITEMS, [1, 1]), "1 booleans or counts are expected"),
        (lambda: interop.to_metric_learn(ROWS, ITEMS, 5), "size must be 3"),  # type: ignore[arg-type]
        (lambda: interop.from_metric_learn([[0, 1, 2, 3]], ITEMS), "row 0: the pairs .* share no item"),
        (lambda: interop.from_metric_learn([[0, 1, 2]], ITEMS, [0]), "y must be 1 or -1"),
        (lambda: interop.to_pairs([{"first": "ant", "second": "bee", "link": "may"}], ITEMS), "row 0: link must be"),
        (lambda: interop.from_label_studio([{"id": 7, "data": {}}]), "task 7: data.triplet with three keys"),
    ],
)
def test_what_is_wrong_is_said_with_its_row(call: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call()


def annotated(choice: str, **more: Any) -> dict[str, Any]:
    """An annotation as Label Studio's JSON export has it."""
    result = {"from_name": "answer", "to_name": "anchor", "type": "choices", "value": {"choices": [choice]}}
    return {
        "id": 1,
        "completed_by": {"id": 3, "email": "ada@example.org"},
        "was_cancelled": False,
        "result": [result],
        **more,
    }


def test_label_studio_there_and_back() -> None:
    assert TASKS[0]["data"]["left"] == "https://example.org/bee"
    exported = [
        {"id": number, **task, "annotations": [annotated(choice)]}
        for number, (task, choice) in enumerate(zip(TASKS, ("left", "right", "dnk"), strict=True))
    ]
    assert interop.from_label_studio(exported) == [{**row, "labeler": "ada@example.org"} for row in ROWS]
    skipped = [annotated("left", was_cancelled=True), annotated("left", result=[])]
    assert interop.from_label_studio([{"id": 1, **TASKS[0], "annotations": skipped}]) == []
    with pytest.raises(ValueError, match="task 1: left, right or dnk is expected"):
        interop.from_label_studio([{"id": 1, **TASKS[0], "annotations": [annotated("both")]}])


def test_what_label_studio_wrote() -> None:
    """The export of three of our tasks that somebody answered on the page of Label Studio 1.23."""
    exported = json.loads(Path(__file__).with_name("label_studio_export.json").read_text())
    triplets = [("ant", "bee", "dog"), ("cat", "ant", "dog"), ("bee", "dog", "cat")]
    assert interop.from_label_studio(exported) == [
        {**dict(zip(interop.PLACES, triplet, strict=True)), "answer": answer, "labeler": "1"}
        for triplet, answer in zip(triplets, ("yes", "no", "dnk"), strict=True)
    ]


@pytest.mark.parametrize("kind", ["Image", "Audio", "Text"])
def test_the_labeling_interface_shows_what_tasks_hold(kind: Any) -> None:
    view = ET.fromstring(interop.label_studio_config(kind, 'Which is "nearer" & <alike>?'))
    assert {tag.get("value") for tag in view.findall(kind)} == {f"${place}" for place in interop.PLACES}
    assert {tag.get("alias") for tag in view.iter("Choice")} == set(interop.CHOICES)
    choices = view.find("Choices")
    assert choices is not None
    assert choices.get("toName") in {tag.get("name") for tag in view.findall(kind)}


def test_coco_there_and_back(tmp_path: Path) -> None:
    colours = {"red": (220, 30, 30), "blue": (30, 30, 220)}
    document: dict[str, Any] = {"info": {"year": 2026}, "images": [], "annotations": [], "categories": []}
    document["categories"] = [{"id": 7, "name": "cat"}, {"id": 9, "name": "dog"}]
    for number in range(1, 5):
        picture = Image.new("RGB", (80, 60), "white")
        for box, colour in enumerate(colours.values()):
            picture.paste(colour, (40 * box + number, 5, 40 * box + number + 20, 45))
            about = {"image_id": number, "category_id": 7 + 2 * box, "bbox": [40 * box + number, 5.0, 20, 40]}
            document["annotations"].append({"id": 10 * number + box, **about, "iscrowd": 0, "area": 800})
        picture.save(tmp_path / f"{number}.png")
        document["images"].append({"id": number, "file_name": f"{number}.png", "width": 80, "height": 60})
    whole = interop.from_coco(document, tmp_path)
    assert whole[0] == {"key": "1.png", "file": str(tmp_path / "1.png"), "category": "cat; dog"}
    rows = interop.from_coco(document, tmp_path, tmp_path / "crops")
    with Image.open(rows[1]["file"]) as cut:
        assert (cut.size, cut.getpixel((0, 0))) == ((20, 40), colours["blue"])
    about_image = {"bag": "1.png", "bag_labels": "cat; dog"}
    assert rows[1] == {"key": "1.png#11", "file": rows[1]["file"], "category": "dog", **about_image}
    clusters = [{"item": row["key"], "cluster": 1 + (row["category"] == "dog"), "confidence": 0.9} for row in rows]
    made = interop.to_coco(document, clusters[1:], names={2: "hound"})
    assert made["categories"] == [{"id": 1, "name": "cluster 1"}, {"id": 2, "name": "hound"}]
    assert made["info"] == {"year": 2026}
    assert made["annotations"][0] == {**document["annotations"][1], "category_id": 2, "score": 0.9}
    assert len(made["annotations"]) == 7, "an item in no cluster is left out"
    placed = interop.to_coco(document, [{"item": "2.png", "cluster": 1, "confidence": 0.5}])
    [annotation] = placed["annotations"]
    assert (annotation["image_id"], annotation["bbox"], annotation["category_id"]) == (2, [0, 0, 80, 60], 1)
    document["annotations"].append({"id": 99, "image_id": 1, "category_id": 7, "bbox": [90, 0, 5, 5]})
    with pytest.raises(ValueError, match=r"annotation 99: its bbox .* is outside of 1\.png"):
        interop.from_coco(document, tmp_path, tmp_path / "crops")
    document["annotations"].append({"id": 100, "image_id": 5, "category_id": 7, "bbox": [0, 0, 5, 5]})
    with pytest.raises(ValueError, match="annotation 100: its image_id"):
        interop.from_coco(document, tmp_path)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python in an environment with cblearn, which asks for numpy below 2, and metric-learn."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    command = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet", "--no-compile"]
    subprocess.run(
        [*command, "cblearn>=0.4,<0.5", "metric-learn>=0.7,<0.8", "scikit-learn<1.8"], check=True, timeout=300
    )
    return folder / "bin" / "python"


@pytest.mark.heavy
def test_cblearn_and_metric_learn_take_our_answers_and_we_theirs(elsewhere: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) * [5.0, 1.0, 0.2]
    items = [f"item-{number}" for number in range(20)]
    drawn = np.array([rng.permutation(20)[:3] for _ in range(400)])
    anchor, left, right = (X[drawn[:, place], 0] for place in range(3))
    nearer = np.abs(anchor - left) < np.abs(anchor - right)
    answers = [
        {**{place: items[at] for place, at in zip(interop.PLACES, row, strict=True)}, "answer": "yes" if yes else "no"}
        for row, yes in zip(drawn.tolist(), nearer.tolist(), strict=True)
    ]
    order = interop.to_cblearn(answers, items)
    boolean, truth = interop.to_cblearn(answers, items, "list-boolean")
    count, counts = interop.to_cblearn(answers, items, "list-count")
    halves = [[place, place + 1] for place in range(0, 20, 2)]
    np.savez(
        tmp_path / "ours.npz",
        X=X, order=order, boolean=boolean, truth=truth, count=count, counts=counts,
        quadruplets=interop.to_metric_learn(answers, items, 4), must=halves[:5], cannot=halves[5:],
    )  # fmt: skip
    command = [elsewhere, "-W", "ignore", "-c", USE, tmp_path / "ours.npz", tmp_path / "theirs.npz"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    learned = json.loads(done.stdout)
    assert min(learned.values()) > 0.8, learned  # they learn what nearness was made of
    theirs = np.load(tmp_path / "theirs.npz")
    assert theirs["order"].tolist() == order.tolist()
    assert theirs["summed"].tolist() == counts.tolist()
    for rows in (
        interop.from_cblearn(theirs["order"], items),
        interop.from_cblearn(theirs["boolean"], items, theirs["truth"]),
        interop.from_cblearn(theirs["count"], items, theirs["counts"]),
        interop.from_metric_learn(theirs["quadruplets"], items),
    ):
        assert decided(rows) == decided(answers)
    must, cannot = interop.to_pairs(interop.from_pairs(theirs["pairs"], theirs["y"], items), items)
    assert [*must.tolist(), *cannot.tolist()] == halves
