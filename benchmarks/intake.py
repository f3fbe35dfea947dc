"""What people's files cost on their way in: features and pictures by decoding, memory, the first question, archives.

    python -m benchmarks.intake                       every part; writes results/intake.txt
    python -m benchmarks.intake --part sounds -n 300  one part, fewer files; its lines of the results are replaced

sounds: clips of one second (FLAC, 22.05 kHz). The yardstick is what anybody pays before anything else: reading the file
with soundfile and one STFT by SciPy with the windows of our pictures; it is timed again between the parts of our work,
in the same process. pictures: PNGs of 640 x 480, by Pillow's decoding of them. memory: tiny sounds, the most memory of
a process that makes features. road: `tercet import` of a folder on a new database up to the first clusters and a link
that asks; then `tercet archive` and `tercet restore` of it, each in its own process.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

# Before numpy, which asks once: processes that share cores are many times slower with several threads each.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import soundfile
from PIL import Image
from scipy.signal import stft

from tercet.features.computing import compute
from tercet.features.inputs import FeatureInput
from tercet.features.recipes import default_recipe
from tercet.intake import media
from tercet.sounds.picture_settings import PictureSettings
from tercet.sounds.spectrograms import WINDOW_SECONDS, spectrogram

RESULT = Path(__file__).parent / "results" / "intake.txt"
RATE = 22_050
WINDOW, HOP = round(WINDOW_SECONDS * RATE), round(WINDOW_SECONDS * RATE * 3 / 16)
PIECES = 10
OWNER = "benchmark@example.org"
BAR = 4.0


def main() -> None:
    """Measure the parts that are asked for, and keep their lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=[*PARTS], action="append")
    parser.add_argument("-n", type=int, help="files, where they are not those of the results")
    chosen = parser.parse_args()
    for part in chosen.part or PARTS:
        measure, n = PARTS[part]
        with tempfile.TemporaryDirectory(prefix="tercet-intake-") as folder:
            keep(part, measure(Path(folder), chosen.n or n))


def keep(part: str, lines: Sequence[str]) -> None:
    """Put a part's lines in the place of those before."""
    text = RESULT.read_text() if RESULT.exists() else "python -m benchmarks.intake\n"
    blocks = [block for block in text.strip().split("\n\n") if not block.startswith(f"{part}: ")]
    block = "\n".join([f"{part}: {lines[0]}", *(f"  {line}" for line in lines[1:])])
    print(block, flush=True)
    RESULT.write_text("\n\n".join([*blocks, block]) + "\n")


def sounds(folder: Path, n: int) -> list[str]:
    """Processor time of features and drawn pictures by decoding and one STFT."""
    inputs = clips(folder, n)
    settings = PictureSettings(seconds=1.0)
    base, features, drawing = alternately(inputs, decode_sound, lambda item: media.prepare(read(item), settings))
    alone = seconds(decode_for_picture, inputs[::PIECES]) * PIECES
    return [
        f"{n:,} clips of one second, FLAC at 22.05 kHz",
        f"decoding and one STFT {1e3 * base / n:.2f} ms a clip",
        f"features {features / base:.2f} times, bar {BAR:g}; pictures {drawing / base:.2f} times; "
        f"both {(features + drawing) / base:.2f} times",
        f"by decoding and our own STFT ({1e3 * alone / n:.2f} ms): features {features / alone:.2f} times, "
        f"pictures {drawing / alone:.2f} times",
        most_memory(),
    ]


def pictures(folder: Path, n: int) -> list[str]:
    """Processor time of features, and of the pictures and thumbnails that are stored, by decoding."""
    inputs = photographs(folder, n)
    base, features, storing = alternately(inputs, decode_picture, lambda item: media.prepare(read(item)))
    return [
        f"{n:,} pictures of 640 x 480, PNG",
        f"decoding {1e3 * base / n:.2f} ms a picture",
        f"features {features / base:.2f} times, bar {BAR:g}; picture and thumbnail as WebP {storing / base:.2f} times",
        most_memory(),
    ]


def alternately(
    inputs: Sequence[FeatureInput], decode: Callable[[FeatureInput], object], draw: Callable[[FeatureInput], object]
) -> tuple[float, float, float]:
    """Return processor time of decoding, features and drawing; decoding is timed before and after the features."""
    decode(inputs[0]), draw(inputs[0])
    base = drawing = 0.0
    for first in range(PIECES // 2):
        base += seconds(decode, inputs[first::PIECES])
        drawing += seconds(draw, inputs[first::PIECES])
    begin = time.process_time()
    compute(default_recipe(inputs), inputs, None, lambda share, words: None)
    features = time.process_time() - begin
    for first in range(PIECES // 2, PIECES):
        base += seconds(decode, inputs[first::PIECES])
        drawing += seconds(draw, inputs[first::PIECES])
    return base, features, drawing


def seconds(work: Callable[[FeatureInput], object], inputs: Sequence[FeatureInput]) -> float:
    begin = time.process_time()
    for item in inputs:
        work(item)
    return time.process_time() - begin


def decode_sound(item: FeatureInput) -> object:
    assert item.path is not None
    samples, rate = soundfile.read(item.path, dtype="float32")
    return stft(samples, rate, nperseg=WINDOW, noverlap=WINDOW - HOP, nfft=512)


def decode_for_picture(item: FeatureInput) -> object:
    assert item.path is not None
    samples, rate = soundfile.read(item.path, dtype="float32")
    return spectrogram(samples, rate)


def decode_picture(item: FeatureInput) -> object:
    assert item.path is not None
    with Image.open(item.path) as picture:
        return picture.convert("RGB")


def read(item: FeatureInput) -> bytes:
    assert item.path is not None
    return item.path.read_bytes()


def memory(folder: Path, n: int) -> list[str]:
    """The most memory of features of very many very short sounds."""
    inputs = clips(folder, n, length=0.1)
    compute(default_recipe(inputs), inputs, None, lambda share, words: None)
    return [f"features of {n:,} sounds of 0.1 seconds", most_memory()]


def road(folder: Path, n: int) -> list[str]:
    """Import, archive and restore by the command line."""
    clips(folder / "clips", n)
    data = ["--data", str(folder / "data")]
    tercet("user", "add", OWNER, *data)
    imported = tercet("import", "songs", str(folder / "clips"), "--owner", OWNER, "--clusters", "8", *data)
    assert "/join/" in imported[0], imported[0]
    archived = tercet("archive", "songs", str(folder / "songs.zip"), *data)
    restored = tercet("restore", str(folder / "songs.zip"), "--key", "again", "--owner", OWNER, *data)
    size = (folder / "songs.zip").stat().st_size
    return [
        f"{n:,} clips of one second, SQLite, files on disk",
        f"import, features, first clusters and a link that asks: {imported[1]}",
        f"archive of {size / 2**20:.0f} MiB: {archived[1]}",
        f"restore: {restored[1]}",
    ]


def tercet(*arguments: str) -> tuple[str, str]:
    """Run a command; return what it prints, and its seconds and memory in words."""
    code = "import resource, sys; from atexit import register; from tercet.cli import main; "
    code += "register(lambda: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)); main()"
    begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False, timeout=7_200
    )
    assert done.returncode == 0, done.stderr
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = int(done.stderr.split()[-1]) / 1024
    return done.stdout, f"{time.monotonic() - begin:.0f} s, {processor:.0f} s of processor time, {peak:.0f} MiB at most"


def most_memory() -> str:
    """Return the most memory of this process so far, in words."""
    return f"most memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB"


def clips(folder: Path, n: int, length: float = 1.0) -> list[FeatureInput]:
    """Write sounds that glide, in a little noise."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    place = np.arange(round(length * RATE)) / (length * RATE)
    for number in range(n):
        hz = rng.uniform(1500, 6000) * 2 ** (rng.uniform(-1, 1) * place)
        voice = np.hanning(len(place)) * np.sin(2 * np.pi * np.cumsum(hz) / RATE)
        soundfile.write(folder / f"{number}.flac", 0.5 * voice + rng.normal(0, 0.01, len(place)), RATE)
    return [FeatureInput(path.stem, media_type="audio/flac", path=path) for path in sorted(folder.glob("*.flac"))]


def photographs(folder: Path, n: int) -> list[FeatureInput]:
    """Write coloured clouds with the noise of a camera."""
    rng = np.random.default_rng(0)
    for number in range(n):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3)).astype(np.uint8))
        smooth = np.asarray(coarse.resize((640, 480), Image.Resampling.BICUBIC), dtype=np.float32)
        noisy = smooth + rng.normal(0, 3, smooth.shape[:2])[..., None]
        Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(folder / f"{number}.png", compress_level=1)
    return [FeatureInput(path.stem, media_type="image/png", path=path) for path in sorted(folder.glob("*.png"))]


PARTS: dict[str, tuple[Callable[[Path, int], list[str]], int]] = {
    "sounds": (sounds, 10_000),
    "pictures": (pictures, 10_000),
    "memory": (memory, 100_000),
    "road": (road, 10_000),
}


if __name__ == "__main__":
    main()
