"""Labelled recordings, pictures, texts and tables for the table of recipes, as files such as people have.

Each set is made in a folder by its function here and read again from there; no network is needed. What this machine
lacks (a folder of clips, the speech synthesiser espeak-ng) is left out with a word.
"""

import csv
import importlib
import inspect
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from sklearn import datasets as bundled

from tercet.demo.birdsong import PATTERN_NAMES, make_syllables, to_wav
from tercet.features.inputs import FeatureInput

WORDS = ("yes", "no", "up", "down", "left", "right", "stop", "go", "seven", "marvin", "house", "wow")
VOICES = ("en-us", "en-gb", "en-gb-x-rp", "en-gb-scotland", "en-029")
VARIANTS = ("f1", "f2", "f3", "f4", "f5", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "croak", "whisper")
RENDITIONS = 25
MODULES = (
    *("argparse", "asyncio", "collections", "csv", "datetime", "decimal", "email.message", "http.client", "inspect"),
    *("logging", "multiprocessing.pool", "pathlib", "random", "sqlite3", "statistics", "subprocess", "tarfile"),
    *("threading", "unittest", "zipfile"),
)
PARTS = (
    *("cluster", "decomposition", "ensemble", "linear_model", "metrics"),
    *("model_selection", "preprocessing", "svm", "tree", "neighbors"),
)
SHAPES = ("disc", "ring", "square", "triangle", "cross", "star")
TEXTURES = ("stripes", "checks", "dots", "waves", "noise", "bricks")


@dataclass(frozen=True)
class LabelledSet:
    """Items of known classes; `triplets` and `answers` where people answered about them."""

    name: str
    inputs: list[FeatureInput]
    y: np.ndarray
    triplets: np.ndarray | None = None  # (M, 3), the second item is more similar to the first than the third is


def sets(folder: Path, data: Path | None) -> dict[str, Callable[[], LabelledSet | None]]:
    """Return every set's maker by its name, in the order of the table."""
    return {
        "songs": lambda: songs(folder),
        "words": lambda: words(folder, "words", VARIANTS, speeds=(110, 230), pitches=(10, 90)),
        "words_alike": lambda: words(folder, "words_alike", VARIANTS[:9:2], speeds=(150, 180), pitches=(40, 60)),
        "spoken": lambda: spoken_digits(data, "spoken", "*"),
        "spoken_by_one": lambda: spoken_digits(data, "spoken_by_one", "jackson"),
        "clips": lambda: clips(data),
        "tits": lambda: great_tits(data),
        "digits": lambda: digits(folder),
        "shapes": lambda: drawings(folder, "shapes"),
        "textures": lambda: drawings(folder, "textures"),
        "coloured": lambda: drawings(folder, "coloured"),
        "eggs": lambda: eggs(data),
        "docstrings": lambda: docstrings("stdlib"),
        "sklearn_docs": lambda: docstrings("sklearn"),
        "wine": lambda: table("wine"),
        "iris": lambda: table("iris"),
    }


def of_files(name: str, paths: Sequence[Path], labels: Sequence[str], media_type: str) -> LabelledSet:
    inputs = [FeatureInput(path.stem, media_type=media_type, path=path) for path in paths]
    return LabelledSet(name, inputs, np.unique(list(labels), return_inverse=True)[1])


def songs(folder: Path, seed: int = 0) -> LabelledSet:
    """The demo's 600 synthetic songs of 14 patterns."""
    folder = folder / f"songs{seed}"
    syllables = make_syllables(600, seed)
    if not folder.exists():
        folder.mkdir(parents=True)
        for syllable in syllables:
            (folder / f"{syllable.key}.wav").write_bytes(to_wav(syllable.samples, syllable.sample_rate))
    labels = [PATTERN_NAMES[syllable.pattern] for syllable in syllables]
    return of_files("songs", [folder / f"{s.key}.wav" for s in syllables], labels, "audio/wav")


def words(
    folder: Path, name: str, variants: Sequence[str], *, speeds: tuple[int, int], pitches: tuple[int, int]
) -> LabelledSet | None:
    """300 renditions of 12 words by a speech synthesiser, each by another voice at another speed and pitch."""
    folder = folder / name
    if not folder.exists():
        if shutil.which("espeak-ng") is None:
            return None
        folder.mkdir(parents=True)
        rng = np.random.default_rng(0)
        for word in WORDS:
            for number in range(RENDITIONS):
                voice = f"{rng.choice(VOICES)}+{rng.choice(variants)}"
                speed, pitch = rng.integers(*speeds), rng.integers(*pitches)
                file = folder / f"{word}-{number:02d}.wav"
                options = ["-v", voice, "-s", str(speed), "-p", str(pitch), "-w", str(file)]
                subprocess.run(["espeak-ng", *options, word], check=True, capture_output=True)
    paths = sorted(folder.glob("*.wav"))
    return of_files(name, paths, [path.stem.split("-")[0] for path in paths], "audio/wav")


def spoken_digits(data: Path | None, name: str, speaker: str, renditions: int = 30) -> LabelledSet | None:
    """Digits spoken by one person, or some of each of six (a repository of that name has the recordings)."""
    files = sorted((data / "free-spoken-digit-dataset" / "recordings").glob(f"*_{speaker}_*.wav")) if data else []
    n_speakers = len({path.stem.split("_")[1] for path in files})
    chosen = [path for path in files if int(path.stem.split("_")[2]) < renditions // n_speakers]
    labels = [path.stem.split("_")[0] for path in chosen]
    return of_files(name, chosen, labels, "audio/wav") if chosen else None


def clips_table(data: Path | None) -> list[dict[str, str]]:
    path = data / "birdsong_clips" / "clips.csv" if data else None
    if path is None or not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [row | {"path": str(path.parent / row["file"])} for row in csv.DictReader(file)]


def clips(data: Path | None) -> LabelledSet | None:
    """Real clips of birds by species."""
    rows = [row for row in clips_table(data) if row["species"]]
    if not rows:
        return None
    return of_files("clips", [Path(row["path"]) for row in rows], [row["species"] for row in rows], "audio/wav")


def great_tits(data: Path | None) -> LabelledSet | None:
    """Real songs of two great tits by male."""
    rows = [row for row in clips_table(data) if row["species"] == "Great tit"]
    if not rows:
        return None
    return of_files("tits", [Path(row["path"]) for row in rows], [row["individual"] for row in rows], "audio/wav")


def digits(folder: Path) -> LabelledSet:
    """A thousand of scikit-learn's digits as grey PNGs of 8 x 8 pixels."""
    folder = folder / "digits"
    X, y = bundled.load_digits(return_X_y=True)
    X, y = X[:1000], y[:1000]
    paths = [folder / f"{number:04d}.png" for number in range(len(X))]
    if not folder.exists():
        folder.mkdir(parents=True)
        for path, row in zip(paths, X, strict=True):
            Image.fromarray(np.rint(row.reshape(8, 8) * 255 / 16).astype(np.uint8)).save(path)
    return of_files("digits", paths, [str(label) for label in y], "image/png")


def drawings(folder: Path, name: str) -> LabelledSet:
    """300 drawn pictures: shapes and textures in any colour, or shapes whose colour alone is the class."""
    folder = folder / name
    kinds = TEXTURES if name == "textures" else SHAPES
    paths = [folder / f"{kind}-{number:02d}.png" for kind in kinds for number in range(50)]
    if not folder.exists():
        folder.mkdir(parents=True)
        rng = np.random.default_rng(1)
        for path in paths:
            draw_one(name, path.stem.split("-")[0], rng).save(path)
    return of_files(name, paths, [path.stem.split("-")[0] for path in paths], "image/png")


def draw_one(name: str, kind: str, rng: np.random.Generator, size: int = 96) -> Image.Image:
    colours = rng.integers(0, 256, (2, 3))
    while np.abs(colours[0] - colours[1]).sum() < 200:
        colours = rng.integers(0, 256, (2, 3))
    if name == "coloured":
        hue = SHAPES.index(kind) / len(SHAPES) * 256 + rng.normal(0, 8)
        colour = Image.new("HSV", (1, 1), (int(hue) % 256, int(rng.integers(140, 256)), int(rng.integers(120, 256))))
        colours = np.array([colour.convert("RGB").getpixel((0, 0)), rng.integers(90, 166, 1).repeat(3)])
        kind = str(rng.choice(SHAPES))
    mask = texture(kind, rng, size) if kind in TEXTURES else shape(kind, rng, size)
    pixels = colours[1] + mask[:, :, None] * (colours[0] - colours[1])
    return Image.fromarray(np.clip(pixels + rng.normal(0, 12, pixels.shape), 0, 255).astype(np.uint8))


def texture(kind: str, rng: np.random.Generator, size: int) -> np.ndarray:
    angle, period, shift = rng.uniform(0, np.pi), rng.uniform(6, 14), rng.uniform(0, 20, 2)
    down, across = np.mgrid[:size, :size] + shift[:, None, None]
    u = (np.cos(angle) * across + np.sin(angle) * down) / period
    v = (-np.sin(angle) * across + np.cos(angle) * down) / period
    if kind == "stripes":
        return (u % 1 < 0.5).astype(float)
    if kind == "checks":
        return ((u % 1 < 0.5) ^ (v % 1 < 0.5)).astype(float)
    if kind == "dots":
        return ((u % 1 - 0.5) ** 2 + (v % 1 - 0.5) ** 2 < 0.09).astype(float)
    if kind == "waves":
        return ((u + 0.5 * np.sin(2 * np.pi * v / 2)) % 1 < 0.5).astype(float)
    if kind == "noise":
        coarse = Image.fromarray(rng.integers(0, 256, (int(size / period) + 4,) * 2).astype(np.uint8))
        return np.asarray(coarse.resize((size, size), Image.Resampling.BICUBIC), dtype=float) / 255
    row = np.floor(v)
    return ((v % 1 < 0.2) | ((u / 2 + 0.5 * (row % 2)) % 1 < 0.1)).astype(float)


def shape(kind: str, rng: np.random.Generator, size: int) -> np.ndarray:
    picture = Image.new("L", (size, size))
    draw = ImageDraw.Draw(picture)
    x, y, r = rng.uniform(36, 60), rng.uniform(36, 60), rng.uniform(18, 34)
    turn = rng.uniform(-0.3, 0.3)
    if kind in ("disc", "ring"):
        draw.ellipse((x - r, y - r, x + r, y + r), fill=255)
        if kind == "ring":
            draw.ellipse((x - r / 2, y - r / 2, x + r / 2, y + r / 2), fill=0)
    elif kind == "cross":
        for a in (turn, turn + np.pi / 2):
            dx, dy = r * np.cos(a), r * np.sin(a)
            draw.line((x - dx, y - dy, x + dx, y + dy), fill=255, width=int(r / 2))
    else:
        corners = {"square": 4, "triangle": 3, "star": 10}[kind]
        radii = [r * (0.45 if kind == "star" and corner % 2 else 1.0) for corner in range(corners)]
        angles = turn - np.pi / 2 + 2 * np.pi * np.arange(corners) / corners + (np.pi / 4 if corners == 4 else 0)
        draw.polygon([(x + q * np.cos(a), y + q * np.sin(a)) for q, a in zip(radii, angles, strict=True)], fill=255)
    return np.asarray(picture, dtype=float) / 255


def eggs(data: Path | None) -> LabelledSet | None:
    """30 pictures about which 416 people answered; the classes are thirds of the line that they were drawn along."""
    path = data / "human_alien_eggs30.npz" if data else None
    if path is None or not path.exists():
        return None
    with np.load(path) as arrays:
        triplets, place = arrays["triplets"], arrays["X"][:, 0]
    paths = sorted((path.parent / "alien_eggs_images").glob("*.png"))
    labels = [str(np.searchsorted(np.quantile(place, [1 / 3, 2 / 3]), p)) for p in place]
    eggs = of_files("eggs", paths, labels, "image/png")
    return LabelledSet(eggs.name, eggs.inputs, eggs.y, triplets.astype(np.int64))


def docstrings(library: str) -> LabelledSet:
    """Docstrings of functions and classes; the class of a text is its module."""
    names: Sequence[str] = MODULES
    if library == "sklearn":
        names = [f"sklearn.{part}" for part in PARTS]
    texts, labels = [], []
    for name in names:
        module = importlib.import_module(name)
        for text in sorted(set(texts_of(module, name.split(".")[0]))):
            texts.append(text)
            labels.append(name)
    inputs = [FeatureInput(f"text-{number}", text=text) for number, text in enumerate(texts)]
    source = "docstrings" if library == "stdlib" else "sklearn_docs"
    return LabelledSet(source, inputs, np.unique(labels, return_inverse=True)[1])


def texts_of(module: object, package: str) -> list[str]:
    """The first 600 characters of every docstring of some length that a module's public names and methods have."""
    texts = []
    for name, thing in inspect.getmembers(module):
        if name.startswith("_") or package not in str(getattr(thing, "__module__", "")):
            continue
        parts = [thing, *(m for key, m in inspect.getmembers(thing) if not key.startswith("_"))]
        for part in parts if inspect.isclass(thing) and package != "sklearn" else [thing]:
            text = part.__doc__ if callable(part) else None
            if text and len(text) > 80:
                texts.append(" ".join(text.split())[:600])
    return texts


def table(name: str) -> LabelledSet:
    """A table of measurements as a CSV would bring it: numbers as texts, beside a key and a constant column."""
    data = {"wine": bundled.load_wine, "iris": bundled.load_iris}[name]()
    rows = [
        {"sheet": "1", "number": f"n{number}"} | dict(zip(data.feature_names, (f"{v:g}" for v in row), strict=True))
        for number, row in enumerate(data.data)
    ]
    return LabelledSet(name, [FeatureInput(f"row-{i}", details=row) for i, row in enumerate(rows)], data.target)
