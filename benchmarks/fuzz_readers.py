"""Feeds damaged files to the readers of sounds and selections: `python -m benchmarks.fuzz_readers [EXAMPLES]`.

Every file is a good one of some format with bytes changed, cut out, doubled or appended, or bytes by chance behind a
format's first ones. A reader has to answer with a result or a ValueError, in time, and with numbers only. What was
tried is counted in `benchmarks/results/fuzz_readers.txt`.
"""

import io
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tercet.sounds.decoding import cut_clip, describe_sound, is_sound, read_blocks, read_sound
from tercet.sounds.measures import measure_sound
from tercet.sounds.picture_settings import PictureSettings
from tercet.sounds.playing import Playing, to_played_wav
from tercet.sounds.selections import is_selections, read_selections
from tests.sounds import test_selections as texts

RESULTS = Path(__file__).parent / "results" / "fuzz_readers.txt"
EXAMPLES = 5_000
SLOWEST_SECONDS = 5.0
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "cp1252")
KINDS = [
    ("WAV", "PCM_16"),
    ("WAV", "PCM_24"),
    ("WAV", "FLOAT"),
    ("WAV", "DOUBLE"),
    ("WAV", "IMA_ADPCM"),
    ("WAV", "MS_ADPCM"),
    ("WAVEX", "PCM_U8" if soundfile.check_format("WAVEX", "PCM_U8") else "PCM_16"),
    ("RF64", "PCM_16"),
    ("W64", "PCM_16"),
    ("AIFF", "PCM_24"),
    ("CAF", "PCM_16"),
    ("CAF", "ALAC_16"),
    ("AU", "PCM_16"),
    ("FLAC", "PCM_16"),
    ("OGG", "VORBIS"),
    ("OGG", "OPUS"),
    ("MP3", "MPEG_LAYER_III"),
]


def make_sounds() -> list[bytes]:
    """Return a small good file of every format, in one channel and in three where the format has them."""
    rng = np.random.default_rng(0)
    files = []
    for kind, encoding in KINDS:
        for channels in (1, 2):
            out = io.BytesIO()
            soundfile.write(out, 0.1 * rng.normal(size=(3_000, channels)), 48_000, subtype=encoding, format=kind)
            files.append(out.getvalue())
    return files


def make_selections() -> list[bytes]:
    """Return the texts that the tests read, in every encoding."""
    named = [text for name, text in vars(texts).items() if name.isupper() and isinstance(text, str)]
    return [text.encode(encoding, errors="replace") for text in named for encoding in ENCODINGS]


def damaged(files: list[bytes]) -> st.SearchStrategy[bytes]:
    """Return a strategy for files with a few bytes changed, cut out, doubled or appended."""
    place = st.integers(0, 2**16)
    header_place = st.integers(0, 120)
    change = st.one_of(
        st.tuples(st.just("set"), header_place, st.binary(min_size=1, max_size=8)),
        st.tuples(st.just("set"), place, st.binary(min_size=1, max_size=8)),
        st.tuples(st.just("cut"), place, st.binary(max_size=200)),
        st.tuples(st.just("double"), place, st.binary(max_size=64)),
        st.tuples(st.just("append"), place, st.binary(max_size=64)),
    )
    changed = st.builds(apply_changes, st.sampled_from(files), st.lists(change, max_size=4))
    by_chance = st.builds(lambda file, tail: file[:16] + tail, st.sampled_from(files), st.binary(max_size=400))
    return st.one_of(changed, by_chance)


def apply_changes(content: bytes, changes: list[tuple[str, int, bytes]]) -> bytes:
    """Return a file after its changes."""
    for kind, place, data in changes:
        at = place % (len(content) + 1)
        if kind == "set":
            content = content[:at] + data + content[at + len(data) :]
        elif kind == "cut":
            content = content[:at] + content[at + len(data) :] if data else content[:at]
        elif kind == "double":
            content = content[:at] + content[at : at + len(data)] * 2 + content[at + len(data) :]
        else:
            content += data
    return content


def read_every_way(content: bytes) -> bool:
    """Read a sound in all ways there are; return whether it was good."""
    if not is_sound(content[:16]):
        return False
    try:
        info = describe_sound(io.BytesIO(content))
        sound = read_sound(io.BytesIO(content))
    except ValueError:
        return False
    assert 0 < info.frames == sound.samples.size
    assert np.isfinite(sound.samples).all()
    assert sum(len(block) for block in read_blocks(io.BytesIO(content))) == info.frames
    assert np.isfinite(measure_sound(sound.samples, sound.rate, PictureSettings().low_hz, 11_000.0)).all()
    assert describe_sound(io.BytesIO(to_played_wav(io.BytesIO(content), Playing(level=True)))).frames > 0
    assert describe_sound(io.BytesIO(cut_clip(io.BytesIO(content), 0.0, info.seconds))).frames == info.frames
    return True


def read_as_selections(content: bytes) -> bool:
    """Read a file of selections; return whether it was good."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        try:
            selections = read_selections(Path(file.name), "it")
        except ValueError:
            return False
    is_selections(content[:1_000])
    assert selections
    assert all(0 <= s.begin_s < s.end_s < np.inf for s in selections)
    return True


def fuzz(name: str, read: Callable[[bytes], bool], files: list[bytes], examples: int) -> str:
    """Try a reader on many damaged files; return what came of them in a line."""
    counts: Counter[bool] = Counter()
    slowest = 0.0

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(damaged(files))
    def try_one(content: bytes) -> None:
        nonlocal slowest
        begin = time.process_time()
        counts[read(content)] += 1
        slowest = max(slowest, time.process_time() - begin)
        assert slowest < SLOWEST_SECONDS, f"took {slowest:.1f} s for {len(content)} bytes"

    try_one()
    return f"{name}: {sum(counts.values()):,} files, {counts[True]:,} read, {counts[False]:,} refused by a ValueError"


def main(examples: int) -> None:
    """Try both readers, and keep the counts."""
    lines = [
        fuzz("sounds", read_every_way, make_sounds(), examples),
        fuzz("selections", read_as_selections, make_selections(), examples),
    ]
    text = f"Files with damage by chance (hypothesis), libsndfile {soundfile.__libsndfile_version__}.\n\n"
    RESULTS.write_text(text + "\n".join(lines) + "\n")
    print(RESULTS.read_text())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else EXAMPLES)
