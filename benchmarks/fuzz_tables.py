"""Bytes and tables that nobody would think of: reading any folder ends in a plan, a sentence for each fault, no crash.

python -m benchmarks.fuzz_tables                    10,000 folders, seed 0; writes results/fuzz_tables.txt
python -m benchmarks.fuzz_tables --examples 500     fewer

Files are drawn three ways: arbitrary bytes under every ending; tables, JSON, arrays, pictures and archives that are
proper; and proper ones with bytes changed, cut off or doubled. Whatever comes, `read_files` returns; every fault is a
sentence without an address of memory; every item has a key that can be stored and media that came.
"""

import argparse
import csv
import io
import json
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from PIL import Image

from tercet.intake import media
from tercet.intake.reading.folders import gather
from tercet.intake.reading.plan import ImportPlan, ReadOptions
from tercet.intake.reading.reader import read_files
from tercet.web.texts import fault_of_name

RESULT = Path(__file__).parent / "results" / "fuzz_tables.txt"
ENDINGS = ("csv", "tsv", "json", "ndjson", "parquet", "txt", "md", "png", "jpg", "tif", "npy", "npz", "zip", "dat", "")
CELL = st.one_of(
    st.text(max_size=12), st.floats().map(str), st.integers().map(str), st.sampled_from(["a.png", "b", ""])
)
HEADER = st.sampled_from(["key", "text", "file", "media", "bag", "bag_labels", "id", "note", "begin", "end", ""])
VALUE = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    """A delimited table in some encoding, some of its rows too short."""
    width = draw(st.integers(1, 5))
    rows = [draw(st.lists(HEADER, min_size=width, max_size=width))]
    rows += draw(st.lists(st.lists(CELL, min_size=max(1, width - 1), max_size=width), max_size=6))
    out = io.StringIO()
    csv.writer(
        out, delimiter=draw(st.sampled_from(",;\t|")), lineterminator=draw(st.sampled_from(["\n", "\r\n", "\r"]))
    ).writerows(rows)
    return out.getvalue().encode(
        draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])), "replace"
    )


@st.composite
def json_texts(draw: st.DrawFn) -> bytes:
    """Items as a list, as an object or a line each."""
    items = draw(st.lists(st.dictionaries(st.one_of(HEADER, st.text(max_size=5)), VALUE, max_size=4), max_size=4))
    form = draw(st.sampled_from(["list", "items", "lines"]))
    if form == "lines":
        return "\n".join(json.dumps(item) for item in items).encode("utf-8", "surrogatepass")
    return json.dumps(items if form == "list" else {"items": items}, ensure_ascii=draw(st.booleans())).encode(
        "utf-8", "replace"
    )


@st.composite
def pictures(draw: st.DrawFn) -> bytes:
    """A small picture of some format and mode."""
    mode, kind = draw(
        st.sampled_from([("RGB", "PNG"), ("P", "GIF"), ("L", "TIFF"), ("CMYK", "JPEG"), ("RGBA", "WEBP"), ("1", "BMP")])
    )
    out = io.BytesIO()
    Image.new(mode, (draw(st.integers(1, 40)), draw(st.integers(1, 40)))).save(out, kind)
    return out.getvalue()


@st.composite
def arrays(draw: st.DrawFn) -> bytes:
    """An array of some shape and kind of numbers, as .npy or .npz."""
    shape = draw(st.lists(st.integers(0, 4), max_size=3))
    value = draw(st.sampled_from([0.0, 1.5, np.nan, np.inf]))
    with np.errstate(invalid="ignore"):  # whole numbers that are not finite
        values = np.full(shape, value, draw(st.sampled_from(["f2", "f8", "i4", "U3", "c16"])))
    out = io.BytesIO()
    np.savez(out, X=values) if draw(st.booleans()) else np.save(out, values)
    return out.getvalue()


PROPER = st.one_of(
    tables(),
    json_texts(),
    pictures(),
    arrays(),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A proper file with bytes changed, its end cut off, or a part there twice."""
    content = bytearray(draw(PROPER))
    for _ in range(draw(st.integers(1, 4))):
        if content:
            content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    end = draw(st.integers(0, len(content)))
    return bytes(content[:end] + (content[: draw(st.integers(0, end))] if draw(st.booleans()) else b""))


CONTENT = st.one_of(st.binary(max_size=300), PROPER, damaged())


@st.composite
def archives(draw: st.DrawFn) -> bytes:
    """A ZIP of some files under some names, perhaps damaged."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))) as archive:
        for name in draw(
            st.sets(st.sampled_from(["a.png", "t.csv", "../x.png", "d/b.txt", "X.npy", "\udcff", "a\nb"]), max_size=4)
        ):
            archive.writestr(name.encode("utf-8", "replace").decode(), draw(CONTENT))
    content = bytearray(out.getvalue())
    for _ in range(draw(st.integers(0, 3))):
        content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    return bytes(content)


FILES = st.lists(st.tuples(st.sampled_from(ENDINGS), st.one_of(CONTENT, archives())), min_size=1, max_size=4)


def check(plan: ImportPlan) -> None:
    """Hold what every plan promises."""
    keys = [row.key for row in plan.rows]
    assert len(keys) == len(set(keys))
    assert not any(fault_of_name(key) for key in keys)
    assert set(plan.media) <= set(keys)
    assert all(source.file.local.is_file() for source in plan.media.values())
    assert plan.fault_count or plan.rows or plan.features is not None
    for fault in plan.faults:
        assert fault.detail.strip()
        assert " at 0x" not in fault.detail, fault
        fault.detail.encode()
    json.dumps([row.details for row in plan.rows], allow_nan=False).encode()
    assert plan.features is None or np.isfinite(plan.features.values).all()


def prepared(path: Path) -> str:
    """Prepare a media file as an import does; return the sentence if it is refused."""
    try:
        media.prepare(path.read_bytes())
    except ValueError as error:
        return str(error)
    return ""


def main() -> None:
    """Read folders until the examples are spent; the first that breaks a promise ends it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    counts: Counter[str] = Counter()
    began = time.process_time()

    @seed(chosen.seed)
    @settings(
        max_examples=chosen.examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    @given(FILES)
    def run(files: list[tuple[str, bytes]]) -> None:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "dropped"
            folder.mkdir()
            for number, (ending, content) in enumerate(files):
                (folder / f"{'ab'[number % 2]}{number // 2 or ''}.{ending}").write_bytes(content)
            plan = read_files(
                gather([folder]), ReadOptions(cut="never"), lambda _share, _words: None, Path(place) / "scratch"
            )
            check(plan)
            counts.update(["folders", "with faults" if plan.fault_count else "without faults"])
            counts.update({"files": len(files), "items": len(plan.rows)})
            counts.update(f"became {report.became}" for report in plan.files)
            for source in plan.media.values():
                fault = prepared(source.file.local)
                assert " at 0x" not in fault, fault
                counts["pictures refused when decoded"] += bool(fault)

    run()
    lines = [f"{name:30} {count:9,}" for name, count in sorted(counts.items())]
    report = "\n".join(
        [
            f"python -m benchmarks.fuzz_tables --examples {chosen.examples} --seed {chosen.seed}",
            "",
            *lines,
            "",
            f"No crash, no broken promise; {time.process_time() - began:,.0f} s of processor time.",
        ]
    )
    print(report)
    RESULT.write_text(report + "\n")


if __name__ == "__main__":
    main()
