"""Which features cluster best by themselves: recipes against what people have without them, on labelled sets.

    python -m benchmarks.recipes --cache DIR [--data FOLDER] [--runs 5] [--jobs 1]
    python -m benchmarks.recipes --cache DIR --cost

Every set lies on the disk as files such as people have. For each recipe: NMI of K-means and of DCRC without an answer
(mean ± half of its 95 % interval over seeds of the clustering), the share of items whose nearest neighbour is of their
class, and the agreement of distances with people's answers where there are any. The second table weighs the groups of
the default recipe by 300 answers with the mistakes of Table IV (or half of people's own) and asks whether they predict
answers that were held out. The third is the processor time of features by the time that decoding and one spectrogram
take. Results go to benchmarks/results/recipes.txt.
"""

import argparse
import os
import resource
import tempfile
import time
from functools import cache
from pathlib import Path

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import soundfile
from PIL import Image
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from sklearn.neighbors import NearestNeighbors

from benchmarks import recipes_data, rounds
from benchmarks.recipes_data import LabelledSet
from benchmarks.rounds import Cache, Row, Task, mean_and_half_width
from tercet.features.decoding import read_picture
from tercet.features.inputs import FeatureInput
from tercet.features.recipes import FeatureTable, Recipe, compute, default_recipe
from tercet.features.weighing import group_differences, weigh_groups
from tercet.sounds.spectrograms import spectrogram
from tercet_algorithms import DCRC
from tercet_algorithms.answers.simulated_labelers import TABLE_IV, noisy_answers, random_triplets, true_answers

RESULTS = Path(__file__).with_name("results") / "recipes.txt"
COMMAND = "python -m benchmarks.recipes --cache DIR --data FOLDER"
LAM = 2**-6
N_ANSWERS, N_HELD_OUT = 300, 2_000
COST_SOUNDS, COST_PICTURES = 1_000, 300


def main() -> None:
    parser = rounds.parser(__doc__, runs=5, jobs=1)
    parser.add_argument("--data", type=Path, help="folder with birdsong_clips and the eggs")
    parser.add_argument("--cost", action="store_true", help="measure processor time instead")
    parser.add_argument("--only", nargs="*", help="names of sets")
    arguments = parser.parse_args()
    os.environ["RECIPES_CACHE"], os.environ["RECIPES_DATA"] = str(arguments.cache), str(arguments.data or "")
    finished = Cache(arguments.cache, "recipes")
    if arguments.cost:
        (arguments.cache / "recipes_cost.txt").write_text(cost(arguments.cache))
    else:
        rounds.run(tasks(arguments), measure, finished, arguments.jobs)
    text = report(finished, arguments.cache)
    print(text)
    RESULTS.write_text(f"{COMMAND}\n\n{text}\n")


def tasks(arguments: argparse.Namespace) -> list[Task]:
    listed = []
    for name in arguments.only or recipes_data.sets(arguments.cache, arguments.data):
        made = labelled_set(name)
        if made is None:
            print(f"{name} is left out: its files or its program are not here")
            continue
        listed += [
            Task("recipe", name, "", recipe, seed) for recipe in recipes_of(made) for seed in range(arguments.runs)
        ]
        if len(default_recipe(made.inputs).groups) > 1:
            listed += [Task("weights", name, "", "default", seed) for seed in range(arguments.runs)]
    return listed


@cache
def labelled_set(name: str) -> LabelledSet | None:
    data = os.environ["RECIPES_DATA"]
    return recipes_data.sets(Path(os.environ["RECIPES_CACHE"]), Path(data) if data else None)[name]()


def recipes_of(made: LabelledSet) -> list[str]:
    """Names of what is compared on a set: the default recipe in two scales, its groups, and raw pixels."""
    kinds = list(dict.fromkeys(feature_table(made.name).groups))
    pixels = ["pixels"] if "picture_shapes" in kinds else []
    return ["default", "default, standardised", *(kinds if len(kinds) > 1 else []), *pixels]


@cache
def features(name: str, recipe: str) -> np.ndarray:
    made = labelled_set(name)
    assert made is not None
    if recipe == "pixels":
        return np.array([read_picture(item.path, 16).mean(axis=2).ravel() for item in made.inputs if item.path])
    table = feature_table(name)
    values = table.values.astype(np.float64)
    if recipe in table.groups:
        return values[:, np.array(table.groups) == recipe]
    return values / np.maximum(values.std(axis=0), 1e-9) if "standardised" in recipe else values


@cache
def feature_table(name: str) -> FeatureTable:
    made = labelled_set(name)
    assert made is not None
    return compute(default_recipe(made.inputs), made.inputs, None, lambda share, words: None)


def measure(task: Task) -> Row:
    return weighed(task) if task.experiment == "weights" else clustered(task)


def clustered(task: Task) -> Row:
    """How well features cluster by themselves."""
    X, made = features(task.dataset, task.method), labelled_set(task.dataset)
    assert made is not None
    n_clusters = len(np.unique(made.y))
    k_means = KMeans(n_clusters, n_init=10, random_state=task.seed).fit_predict(X)
    row: Row = {"k_means": normalized_mutual_info_score(made.y, k_means), "neighbour": nearest_share(X, made.y)}
    if task.method.startswith("default"):
        model = DCRC(n_clusters, lam=LAM, n_init=3, standardize=False, random_state=task.seed).fit(unit_variance(X))
        row["dcrc"] = normalized_mutual_info_score(made.y, model.labels_)
    if made.triplets is not None:
        row["agreement"] = agreement(X, made.triplets)
    return row


def unit_variance(X: np.ndarray) -> np.ndarray:
    return X * np.sqrt(X.shape[1] / X.var(axis=0).sum())


def nearest_share(X: np.ndarray, y: np.ndarray) -> float:
    neighbours = NearestNeighbors(n_neighbors=1).fit(X).kneighbors(return_distance=False)[:, 0]
    return float((y[neighbours] == y).mean())


def agreement(X: np.ndarray, triplets: np.ndarray) -> float:
    """Share of triplets whose second item lies closer to the first than the third does."""
    head, near, far = X[triplets.T]
    return float((((head - near) ** 2).sum(axis=1) < ((head - far) ** 2).sum(axis=1)).mean())


def weighed(task: Task) -> Row:
    """What answers gain by weighing the groups: agreement with answers that were held out, NMI of K-means."""
    made = labelled_set(task.dataset)
    assert made is not None
    table = feature_table(task.dataset)
    rng = np.random.default_rng(task.seed)
    if made.triplets is None:
        triplets = random_triplets(len(made.y), N_ANSWERS, rng)
        answers = noisy_answers(made.y, triplets, TABLE_IV, rng)
        asked = random_triplets(len(made.y), N_HELD_OUT, rng)
        answered = set(map(tuple, np.sort(triplets, axis=1)))
        asked = asked[[tuple(np.sort(row)) not in answered for row in asked]]
        right = true_answers(made.y, asked)
    else:
        order = rng.permutation(len(made.triplets))
        triplets, asked = made.triplets[order[:N_ANSWERS]], made.triplets[order[len(order) // 2 :]]
        answers, right = np.ones(len(triplets), dtype=int), np.ones(len(asked), dtype=int)
    weights = weigh_groups(table.values, table.groups, triplets, answers)
    names = list(dict.fromkeys(table.groups))
    differences = group_differences(table.values, table.groups, asked[right != 0]) * right[right != 0][:, None]
    scale = np.sqrt([weights[name] for name in table.groups])
    row: Row = {"weights": [round(weights[name], 2) for name in names]}
    for shown, factors in (("equal", np.ones(len(names))), ("weighed", np.array([weights[name] for name in names]))):
        row[f"{shown}_agreement"] = float((differences @ factors > 0).mean())
        X = table.values * (scale if shown == "weighed" else 1.0)
        found = KMeans(len(np.unique(made.y)), n_init=10, random_state=task.seed).fit_predict(X)
        row[f"{shown}_nmi"] = normalized_mutual_info_score(made.y, found)
    return row


def report(finished: Cache, folder: Path) -> str:
    lines = [f"{'set':14}{'recipe':24}{'K-means NMI':>16}{'DCRC NMI':>16}{'neighbour':>11}{'answers':>9}"]
    for (name, recipe), rows in by_method(finished, "recipe").items():
        lines.append(f"{name:14}{recipe:24}" + cells(rows, ("k_means", "dcrc"), 16) + last(rows))
    lines += ["", f"{'set':14}{'':12}{'held-out agreement':>20}{'K-means NMI':>16}   weights of the groups by answers"]
    for (name, _), rows in by_method(finished, "weights").items():
        for shown in ("equal", "weighed"):
            weights = ", ".join(f"{w:.2f}" for w in np.mean([row["weights"] for row in rows], axis=0))
            line = (
                f"{name:14}{shown:12}" + cells(rows, (f"{shown}_agreement",), 20) + cells(rows, (f"{shown}_nmi",), 16)
            )
            lines.append(f"{line}   {weights if shown == 'weighed' else ''}".rstrip())
        gain = mean_and_half_width([row["weighed_agreement"] - row["equal_agreement"] for row in rows])
        lines.append(f"{name:14}{'gain':12}{gain[0]:+14.3f} ±{gain[1]:.3f}")
    gains = [
        np.mean([row["weighed_agreement"] - row["equal_agreement"] for row in rows])
        for rows in by_method(finished, "weights").values()
    ]
    mean, half = mean_and_half_width([float(gain) for gain in gains])
    lines.append(f"{'mean gain over the sets':26}{mean:+14.3f} ±{half:.3f}")
    measured = folder / "recipes_cost.txt"
    return "\n".join([*lines, "", measured.read_text() if measured.exists() else ""]).rstrip()


def by_method(finished: Cache, experiment: str) -> dict[tuple[str, str], list[Row]]:
    rows: dict[tuple[str, str], list[Row]] = {}
    order = list(recipes_data.sets(Path(), None))
    for row in sorted(finished.rows.values(), key=lambda row: order.index(row["dataset"])):
        if row["experiment"] == experiment and "failed" not in row:
            rows.setdefault((row["dataset"], row["method"]), []).append(row)
    return rows


def cells(rows: list[Row], names: tuple[str, ...], width: int) -> str:
    text = ""
    for name in names:
        mean, half = mean_and_half_width([row[name] for row in rows]) if name in rows[0] else (np.nan, np.nan)
        text += f"{f'{mean:.3f} ±{half:.3f}' if name in rows[0] else '':>{width}}"
    return text


def last(rows: list[Row]) -> str:
    people = f"{rows[0]['agreement']:.3f}" if "agreement" in rows[0] else ""
    return f"{rows[0]['neighbour']:11.3f}{people:>9}".rstrip()


def cost(folder: Path) -> str:
    """Processor time by that of decoding and one spectrogram, in one process with one thread, and memory."""
    with tempfile.TemporaryDirectory() as scratch:
        sound_ratio, sound_times = cost_of_sounds(one_second_clips(Path(scratch)))
        picture_ratio, picture_times = cost_of_pictures(photographs(Path(scratch)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return "\n".join(
        [
            "processor time, one process, one thread",
            f"{COST_SOUNDS} clips of one second, FLAC at 22.05 kHz: {sound_times}: {sound_ratio:.2f} times",
            f"{COST_PICTURES} pictures of 640 x 480, PNG: {picture_times}: {picture_ratio:.2f} times",
            f"most memory: {peak:.0f} MiB",
        ]
    )


def one_second_clips(folder: Path) -> list[FeatureInput]:
    rng = np.random.default_rng(0)
    place = np.arange(22_050) / 22_050
    for number in range(COST_SOUNDS):
        hz = rng.uniform(1500, 6000) * 2 ** (rng.uniform(-1, 1) * place)
        voice = np.hanning(len(place)) * np.sin(2 * np.pi * np.cumsum(hz) / 22_050)
        soundfile.write(folder / f"{number}.flac", 0.5 * voice + rng.normal(0, 0.01, len(place)), 22_050)
    paths = sorted(folder.glob("*.flac"))
    return [FeatureInput(path.stem, media_type="audio/flac", path=path) for path in paths]


def photographs(folder: Path) -> list[FeatureInput]:
    rng = np.random.default_rng(0)
    for number in range(COST_PICTURES):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3)).astype(np.uint8))
        smooth = np.asarray(coarse.resize((640, 480), Image.Resampling.BICUBIC), dtype=float)
        Image.fromarray(np.clip(smooth + rng.normal(0, 3, smooth.shape), 0, 255).astype(np.uint8)).save(
            folder / f"{number}.png", compress_level=1
        )
    paths = sorted(folder.glob("*.png"))
    return [FeatureInput(path.stem, media_type="image/png", path=path) for path in paths]


def cost_of_sounds(inputs: list[FeatureInput]) -> tuple[float, str]:
    start = time.process_time()
    decoded = 0.0
    for item in inputs:
        assert item.path is not None
        begin = time.process_time()
        samples, rate = soundfile.read(item.path, dtype="float32")
        decoded += time.process_time() - begin
        spectrogram(samples, rate)
    base = time.process_time() - start
    times = {"all": seconds_of(default_recipe(inputs), inputs)}
    times |= {group.kind: seconds_of(Recipe((group,)), inputs) for group in default_recipe(inputs).groups}
    parts = ", ".join(f"{kind} {value:.1f} s" for kind, value in times.items())
    return times["all"] / base, f"decoding {decoded:.1f} s, with one spectrogram {base:.1f} s, features {parts}"


def cost_of_pictures(inputs: list[FeatureInput]) -> tuple[float, str]:
    start = time.process_time()
    for item in inputs:
        assert item.path is not None
        with Image.open(item.path) as picture:
            picture.convert("RGB").load()
    base = time.process_time() - start
    features_time = seconds_of(default_recipe(inputs), inputs)
    return features_time / base, f"decoding {base:.1f} s, features {features_time:.1f} s"


def seconds_of(recipe: Recipe, inputs: list[FeatureInput]) -> float:
    start = time.process_time()
    compute(recipe, inputs, None, lambda share, words: None)
    return time.process_time() - start


if __name__ == "__main__":
    main()
