"""JPEG files are kept bit by bit but for what is no picture in them."""

import io

import numpy as np
import pytest
from PIL import Image

from tercet.intake.jpeg import without_metadata
from tercet.intake.media import prepare

SECRET = b"52.5200 N 13.4050 E"


def photograph(mode: str = "RGB", **options: object) -> bytes:
    noise = np.random.default_rng(0).integers(0, 255, (60, 83, 3), dtype=np.uint8)
    picture = Image.fromarray(noise).convert(mode)
    exif = Image.Exif()
    exif[0x010E] = SECRET.decode()
    out = io.BytesIO()
    picture.save(out, "JPEG", exif=exif, comment=SECRET, **options)
    return out.getvalue()


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize(
    "options", [{}, {"progressive": True}, {"quality": 35}, {"subsampling": 0}, {"restart_marker_rows": 1}]
)
def test_the_picture_stays_bit_by_bit_and_nothing_else(mode: str, options: dict[str, int]) -> None:
    content = photograph(mode, **options) + b"\xff\xd8 another picture " + SECRET
    bare = without_metadata(content)
    assert bare is not None
    assert SECRET in content
    assert SECRET not in bare
    np.testing.assert_array_equal(Image.open(io.BytesIO(bare)), Image.open(io.BytesIO(content)))
    assert without_metadata(bare) == bare
    assert prepare(content).media.content == bare


@pytest.mark.parametrize("place", [0.05, 0.3, 0.6, 0.95])
def test_a_file_cut_anywhere_is_none(place: float) -> None:
    content = photograph()
    assert without_metadata(content[: int(place * len(content))]) is None


def test_bytes_between_segments_are_no_jpeg() -> None:
    content = photograph()
    assert without_metadata(content[:2] + SECRET + content[2:]) is None


@pytest.mark.parametrize("change", ["turned", "large", "CMYK"])
def test_what_pages_show_otherwise_is_made_anew(change: str) -> None:
    exif = Image.Exif()
    if change == "turned":
        exif[0x0112] = 6
    picture = Image.new("CMYK" if change == "CMYK" else "RGB", (1500, 40) if change == "large" else (40, 40))
    out = io.BytesIO()
    picture.save(out, "JPEG", exif=exif)
    stored = prepare(out.getvalue()).media.content
    assert stored != without_metadata(out.getvalue())
    assert Image.open(io.BytesIO(stored)).mode == "RGB"
