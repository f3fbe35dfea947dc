"""Files that mean no good: a sentence, memory below 500 MB, and processor time in proportion to the bytes."""

import gc
import io
import os
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import soundfile

from tercet.errors import Invalid
from tercet.intake.reading.tables import MOST_BYTES, MOST_CELLS, read_delimited
from tests.intake.reading.conftest import Read

ROOT = Path(__file__).resolve().parent.parent.parent.parent
MOST_MEGABYTES = 500

# Reads each file in a process of its own, forked from one that has everything loaded, and prints what that took.
MEASURE = """
import os, sys
from pathlib import Path, PurePosixPath
from tercet.intake import media
from tercet.intake.reading.plan import ReadOptions, SourceFile
from tercet.intake.reading.reader import read_files

for number, name in enumerate(sys.argv[1:]):
    process = os.fork()
    if process == 0:
        source = SourceFile(PurePosixPath(Path(name).name), Path(name))
        plan = read_files([source], ReadOptions(), lambda share, words: None, Path(name).parent / f"scratch{number}")
        says = plan.faults[0].detail if plan.faults else f"{len(plan.rows)} items"
        for key, where in plan.media.items():
            media.prepare(where.file.local.read_bytes())
        print(says[:200].replace(chr(10), " "), flush=True)
        os._exit(0)
    _, status, usage = os.wait4(process, 0)
    print(status, usage.ru_maxrss // 1024, flush=True)
"""


def bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("zeros.wav", "w") as entry:
        for _ in range(300):
            entry.write(b"\0" * 2**20)
    return out.getvalue()


def zeros(width: int, height: int, colour_type: int, channels: int) -> bytes:
    """A PNG of nothing but zeros, written row by row."""
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(b"\0" * (1 + channels * width)) for _ in range(height)) + packer.flush()
    content = b"\x89PNG\r\n\x1a\n"
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, colour_type, 0, 0, 0])
    for kind, chunk in ((b"IHDR", header), (b"IDAT", data), (b"IEND", b"")):
        content += len(chunk).to_bytes(4, "big") + kind + chunk + zlib.crc32(kind + chunk).to_bytes(4, "big")
    return content


def noise(frames: int, rate: int, channels: int, encoding: str) -> bytes:
    """A WAV file of noise, the same second again and again."""
    second = np.random.default_rng(0).normal(0, 0.1, (rate, channels))
    out = io.BytesIO()
    with soundfile.SoundFile(out, "w", rate, channels, encoding, format="WAV") as file:
        for begin in range(0, frames, rate):
            file.write(second[: frames - begin])
    return out.getvalue()


def gigahertz() -> bytes:
    """A WAV file of one sample that claims a thousand million a second."""
    content = bytearray(noise(1, 8_000, 1, "PCM_16"))
    content[24:32] = struct.pack("<II", 10**9, 2 * 10**9)
    assert len(content) == 46
    return bytes(content)


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "bomb.zip": (bomb, "times its size"),
    "zeros.png": (lambda: zeros(7_000, 7_000, 6, 4), "1 items"),
    "wide.png": (lambda: zeros(100_000, 400, 2, 3), "1 items"),
    "tall.png": (lambda: zeros(1, 100_000, 0, 1), "1 items"),
    "gigahertz.wav": (gigahertz, "1,000,000,000 Hz cannot be"),
    "night.wav": (lambda: noise(40_000_000, 22_050, 1, "PCM_U8"), "1 items"),
    "channels.wav": (lambda: noise(25 * 96_000, 96_000, 8, "PCM_24"), "1 items"),
    "columns.csv": (lambda: b",".join(b"c%d" % n for n in range(1_000_000)) + b"\n1\n", "names 1,000,000 columns"),
    "cells.csv": (lambda: b"p,q,r\n" + b"ab,cd,ef\n" * 400_000, "more than 3,000,000 cells"),
    "line.csv": (lambda: b"p,q\n" + b"x" * 60_000_000, "longer than"),
    "large.csv": (lambda: b"p,q\n" + b"1,2\n" * 17_000_000, "tables of at most"),
    "emoji.csv": (lambda: ("p,q\n" + "\U0001f426,words and words and words\n" * 400_000).encode(), "cells"),
    "wide16.csv": (lambda: ("p,q\n" + "ab,cd\n" * 400_000).encode("utf-16"), "cells"),
    "brackets.json": (lambda: b'[{"p": [' + b"[]," * 5_000_000, "longer than 1,000,000"),
    "empty.json": (lambda: b"[" + b"{}," * 5_000_000 + b"{}]", "cells"),
    "nested.ndjson": (lambda: (b'{"p": [' + b"[]," * 300_000 + b"[]]}\n") * 12, "12 items"),
    "columns.ndjson": (lambda: b"".join(b'{"c%d": 1}\n' % n for n in range(60_000)), "cells"),
    "text.txt": (lambda: b"word " * 1_000_000, "longer than 1,000,000 bytes"),
    "nothing.csv": (lambda: b"\n" * 3_000_000, "nothing to import"),
}


@pytest.mark.heavy
def test_memory_stays_below_the_limit(tmp_path: Path) -> None:
    for name, (make, _) in HOSTILE.items():
        (tmp_path / name).write_bytes(make())
    command = [sys.executable, "-c", MEASURE, *(str(tmp_path / name) for name in HOSTILE)]
    done = subprocess.run(
        command, cwd=ROOT / "app", capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""}
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2 * len(HOSTILE), done.stdout + done.stderr
    for (name, (_, expected)), says, used in zip(HOSTILE.items(), lines[::2], lines[1::2], strict=True):
        status, megabytes = map(int, used.split())
        assert (status, expected in says) == (0, True), f"{name}: {says}"
        assert megabytes < MOST_MEGABYTES, f"{name}: {megabytes} MB"


def seconds(tmp_path: Path, content: bytes) -> float:
    """Processor time of reading a table."""
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    gc.disable()  # how long that takes depends on what other tests have left
    began = time.process_time()
    with suppress(Invalid):
        read_delimited(path, "table.csv")
    used = time.process_time() - began
    gc.enable()
    return used


@pytest.mark.parametrize(
    "make",
    [
        lambda n: b",".join(b"c%d" % number for number in range(n)) + b"\n",
        lambda n: b"key,text\n" + b"".join(b"%d,words\n" % number for number in range(n // 2)),
        lambda n: b"key,text\n" + b'"' + b"x" * (8 * n),
        lambda n: b"key,text\n1," + b'"' + b'""' * (4 * n) + b'"\n',
    ],
    ids=["columns", "rows", "an open quote", "quotes"],
)
def test_time_grows_with_the_bytes_and_no_faster(tmp_path: Path, make: Callable[[int], bytes]) -> None:
    small = min(seconds(tmp_path, make(20_000)) for _ in range(3))
    large = min(seconds(tmp_path, make(160_000)) for _ in range(3))
    assert large < 30 * small + 0.05, "eight times the bytes; squared would be 64 times the time"


def test_limits_leave_room_for_what_people_have() -> None:
    assert MOST_CELLS // (20 + 8) > 100_000, "100,000 items of 20 columns"
    assert MOST_BYTES > 100_000 * 500, "100,000 texts of 500 letters"


def test_an_archive_on_a_full_disk_is_a_sentence(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.txt", "words")
    opened = Path.open

    class Full(io.BytesIO):
        def write(self, _content: object) -> int:
            raise OSError(28, "No space left on device")

    def open_full(self: Path, mode: str = "r", *arguments: object, **options: object) -> object:
        return Full() if mode == "wb" and "scratch" in self.parts else opened(self, mode, *arguments, **options)  # type: ignore[call-overload]

    files = {"a.zip": out.getvalue()}
    read(files)
    monkeypatch.setattr(Path, "open", open_full)
    assert "cannot be unpacked: the disk is full" in read().faults[0].detail
