"""What people's files cost on their way in: features and pictures by decoding, memory, the first question, archives.

    python -m benchmarks.intake                       every part; writes results/intake.txt
    python -m benchmarks.intake --part sounds -n 300  one part, fewer files; its lines of the results are replaced

sounds: clips of one second (FLAC, 22.05 kHz). The yardstick is what anybody pays before anything else: reading the file
with soundfile and one STFT by scipy.signal.stft with the windows of our pictures; it is timed between the pieces of our
work, in the same process. pictures: PNG and JPEG of 640 x 480, by Pillow's decoding of them; features are made of what
is stored, as in the app. memory: tiny pictures, the most memory of a process that makes features. road: `tercet import`
of a folder on a new database up to the first clusters and a link that asks; then `tercet archive` and `tercet restore`
of it, each in its own process.
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
from scipy.signal import ShortTimeFFT, stft
from scipy.signal.windows import hann

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
DIFFERENT_PHOTOGRAPHS = 200


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
    """Processor time of features and drawn pictures by decoding and one STFT, by three functions that make one."""
    inputs = clips(folder, n)
    settings = PictureSettings(seconds=1.0)
    base, features, drawing = alternately(
        inputs, decode_sound, lambda item: media.prepare(read(item), settings), lambda: inputs
    )
    others = {
        "SciPy's newer ShortTimeFFT": seconds(decode_short_time, inputs[::PIECES]) * PIECES,
        "our own, the fastest": seconds(decode_for_picture, inputs[::PIECES]) * PIECES,
    }
    return [
        f"{n:,} clips of one second, FLAC at 22.05 kHz",
        f"decoding and scipy.signal.stft {1e3 * base / n:.2f} ms a clip",
        f"features {features / base:.2f} times, pictures {drawing / base:.2f} times; "
        f"both {(features + drawing) / base:.2f} times, bar {BAR:g}",
        *(f"by {name} ({1e3 * t / n:.2f} ms): both {(features + drawing) / t:.2f} times" for name, t in others.items()),
        most_memory(),
    ]


def pictures(folder: Path, n: int) -> list[str]:
    """Processor time of the pictures and thumbnails that are stored, and of features of them, by decoding."""
    lines = [f"{n:,} pictures of 640 x 480, {DIFFERENT_PHOTOGRAPHS} of them different"]
    for kind in ("png", "jpg"):
        inputs = photographs(folder / kind, n, kind)
        stored: list[FeatureInput] = []

        def store(item: FeatureInput, stored: list[FeatureInput] = stored) -> None:
            prepared = media.prepare(read(item))
            assert item.path is not None
            path = item.path.with_suffix(f".stored{prepared.media.suffix}")
            path.write_bytes(prepared.media.content)
            stored.append(FeatureInput(item.key, media_type=prepared.media_type, path=path))

        base, features, storing = alternately(inputs, decode_picture, store, lambda stored=stored: stored)
        lines.append(
            f"{kind.upper()}: decoding {1e3 * base / n:.2f} ms a picture; storing {storing / base:.2f} times, features "
            f"{features / base:.2f} times; both {(storing + features) / base:.2f} times, bar {BAR:g}"
        )
    return [*lines, most_memory()]


def alternately(
    inputs: Sequence[FeatureInput],
    decode: Callable[[FeatureInput], object],
    prepare: Callable[[FeatureInput], object],
    measured: Callable[[], Sequence[FeatureInput]],
) -> tuple[float, float, float]:
    """Return processor time of decoding, features and preparing; decoding is timed between the pieces of the work."""
    decode(inputs[0])
    base = preparing = 0.0
    for first in range(PIECES):
        base += seconds(decode, inputs[first::PIECES])
        preparing += seconds(prepare, inputs[first::PIECES])
    begin = time.process_time()
    compute(default_recipe(measured()), measured(), None, lambda share, words: None)
    return base, time.process_time() - begin, preparing


def seconds(work: Callable[[FeatureInput], object], inputs: Sequence[FeatureInput]) -> float:
    begin = time.process_time()
    for item in inputs:
        work(item)
    return time.process_time() - begin


def decode_sound(item: FeatureInput) -> object:
    assert item.path is not None
    samples, rate = soundfile.read(item.path, dtype="float32")
    return stft(samples, rate, nperseg=WINDOW, noverlap=WINDOW - HOP, nfft=512)


def decode_short_time(item: FeatureInput) -> object:
    assert item.path is not None
    samples, rate = soundfile.read(item.path, dtype="float32")
    return ShortTimeFFT(hann(WINDOW, sym=False), HOP, rate, mfft=512).stft(samples)


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
    """The most memory of features of very many very small pictures, whose rows are the longest there are."""
    inputs = dots(folder, n)
    before = most_memory()
    compute(default_recipe(inputs), inputs, None, lambda share, words: None)
    return [f"features of {n:,} pictures of 8 x 8", f"before {before}; {most_memory()}"]


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


def clips(folder: Path, n: int) -> list[FeatureInput]:
    """Write sounds that glide, in a little noise."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    place = np.arange(RATE) / RATE
    for number in range(n):
        hz = rng.uniform(1500, 6000) * 2 ** (rng.uniform(-1, 1) * place)
        voice = np.hanning(len(place)) * np.sin(2 * np.pi * np.cumsum(hz) / RATE)
        soundfile.write(folder / f"{number}.flac", 0.5 * voice + rng.normal(0, 0.01, len(place)), RATE)
    return [FeatureInput(path.stem, media_type="audio/flac", path=path) for path in sorted(folder.glob("*.flac"))]


def photographs(folder: Path, n: int, kind: str) -> list[FeatureInput]:
    """Write coloured clouds with the noise of a camera, some of them under many names."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(min(n, DIFFERENT_PHOTOGRAPHS)):
        coarse = Image.fromarray(rng.integers(0, 256, (12, 16, 3)).astype(np.uint8))
        smooth = np.asarray(coarse.resize((640, 480), Image.Resampling.BICUBIC), dtype=np.float32)
        noisy = smooth + rng.normal(0, 3, smooth.shape[:2])[..., None]
        options = {"compress_level": 1} if kind == "png" else {"quality": 92}
        Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(folder / f"{number}.{kind}", **options)
    for number in range(DIFFERENT_PHOTOGRAPHS, n):
        (folder / f"{number}.{kind}").hardlink_to(folder / f"{number % DIFFERENT_PHOTOGRAPHS}.{kind}")
    return [FeatureInput(str(number), media_type="image/png", path=folder / f"{number}.{kind}") for number in range(n)]


def dots(folder: Path, n: int) -> list[FeatureInput]:
    """Write grey pictures of 8 x 8 pixels."""
    rng = np.random.default_rng(0)
    for number in range(n):
        Image.fromarray(rng.integers(0, 256, (8, 8)).astype(np.uint8)).save(folder / f"{number}.png", compress_level=0)
    return [FeatureInput(str(number), media_type="image/png", path=folder / f"{number}.png") for number in range(n)]


PARTS: dict[str, tuple[Callable[[Path, int], list[str]], int]] = {
    "sounds": (sounds, 10_000),
    "pictures": (pictures, 10_000),
    "memory": (memory, 100_000),
    "road": (road, 10_000),
}


if __name__ == "__main__":
    main()
