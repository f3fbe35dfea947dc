"""Pictures of every kind and mode: shown as they are meant to be, or refused by a sentence, in bounded memory."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tercet.intake.media import PICTURE_SIZE, check_image, is_image, prepare
from tercet.intake.reading.plan import SourceFile
from tests.intake.conftest import image
from tests.intake.reading.conftest import Read


def encoded(picture: Image.Image, kind: str, **options: object) -> bytes:
    """A picture as a file."""
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def shown(content: bytes) -> Image.Image:
    """What pages show of a file."""
    return Image.open(io.BytesIO(prepare(content).picture.content)).convert("RGB")


def pixel(content: bytes, x: int = 5, y: int = 5) -> tuple[int, ...]:
    """A pixel of what pages show."""
    value = shown(content).getpixel((x, y))
    assert isinstance(value, tuple)
    return value


def near(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    return max(abs(a - b) for a, b in zip(first, second, strict=True)) <= 12


RED = (200, 30, 40)


def test_many_pictures_are_not_compared_each_with_each(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    compared, is_equal, count = [], SourceFile.__eq__, 200
    monkeypatch.setattr(SourceFile, "__eq__", lambda a, b: compared.append(a) or is_equal(a, b))
    plan = read({f"{number}.png": image() for number in range(count)})
    assert len(plan.rows) == count
    assert len(compared) < 10 * count


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP", "AVIF"])
def test_every_format(kind: str) -> None:
    Image.init()
    if kind not in Image.SAVE:
        pytest.skip(f"this Pillow does not know {kind}")
    content = encoded(Image.new("RGB", (40, 30), RED), kind)
    assert is_image(content[:64])
    assert near(pixel(content), RED)
    assert shown(content).size == (40, 30)


@pytest.mark.parametrize(
    ("picture", "expected"),
    [
        (Image.new("CMYK", (20, 20), (0, 255, 255, 0)), (255, 0, 0)),
        (Image.new("L", (20, 20), 77), (77, 77, 77)),
        (Image.new("1", (20, 20), 1), (255, 255, 255)),
        (Image.new("LA", (20, 20), (0, 0)), (255, 255, 255)),
        (Image.new("RGBA", (20, 20), (0, 0, 0, 0)), (255, 255, 255)),
        (Image.new("RGBA", (20, 20), (0, 0, 0, 127)), (128, 128, 128)),
        (Image.fromarray(np.full((20, 20), 40_000, np.uint16)), (156, 156, 156)),
        (Image.fromarray(np.linspace(-7, 9, 400, dtype=np.float32).reshape(20, 20)), (72, 72, 72)),
        (Image.fromarray(np.arange(400, dtype=np.int32).reshape(20, 20) * 10_000), (67, 67, 67)),
    ],
    ids=["CMYK", "grey", "bits", "clear grey", "clear", "half clear", "16 bits", "floats", "32 bits"],
)
def test_every_mode(picture: Image.Image, expected: tuple[int, ...]) -> None:
    assert near(pixel(encoded(picture, "TIFF")), expected)


def test_a_palette_with_transparency_lies_on_white() -> None:
    picture = Image.new("P", (20, 20), 1)
    picture.putpalette([0, 0, 0, *RED])
    assert near(pixel(encoded(picture, "PNG", transparency=1)), (255, 255, 255))
    assert near(pixel(encoded(picture, "PNG", transparency=0)), RED)
    assert near(pixel(encoded(picture, "PNG", transparency=bytes([255, 128]))), (228, 143, 148))


def test_the_first_frame_and_the_first_page_count() -> None:
    frames = [Image.new("RGB", (20, 20), colour) for colour in (RED, (0, 0, 255))]
    for kind in ("GIF", "WEBP", "PNG", "TIFF"):
        content = encoded(frames[0], kind, save_all=True, append_images=frames[1:])
        assert near(pixel(content), RED), kind


def test_a_photograph_is_turned_as_its_camera_was_held() -> None:
    picture = Image.new("RGB", (40, 20), RED)
    picture.paste((0, 0, 255), (20, 0, 40, 20))
    exif = Image.Exif()
    exif[0x0112] = 6
    for size in ((40, 20), (8_000, 4_000)):
        turned = shown(encoded(picture.resize(size), "JPEG", exif=exif, quality=95))
        assert turned.height == 2 * turned.width
        assert near(turned.getpixel((turned.width // 2, turned.height // 5)), RED)  # type: ignore[arg-type]


@pytest.mark.parametrize(("kind", "stored_type"), [("JPEG", "image/jpeg"), ("PNG", "image/webp")])
def test_what_is_stored_tells_nothing_but_pixels(kind: str, stored_type: str) -> None:
    """Photographs hold where and by whom they were taken; JPEG stays JPEG, anything else becomes WebP."""
    exif = Image.Exif()
    exif[0x013B] = "Somebody by name"
    content = encoded(Image.new("RGB", (40, 30), RED), kind, exif=exif, icc_profile=b"profile of a camera")
    assert b"Somebody" in content
    stored = prepare(content)
    assert stored.media_type == stored_type
    for blob in (stored.media, stored.picture, stored.thumbnail):
        assert Image.MIME[Image.open(io.BytesIO(blob.content)).format or ""] == stored_type
        assert b"Somebody" not in blob.content
        assert b"profile" not in blob.content


@pytest.mark.heavy(but="size0")
@pytest.mark.parametrize("size", [(3_000, 2_000), (5_000, 5_000), (1_025, 1), (2_047, 2_049)])
@pytest.mark.parametrize("mode", ["RGB", "P", "L"])
def test_large_pictures_keep_their_shape_and_colours(size: tuple[int, int], mode: str) -> None:
    left = Image.new("RGB", size, RED)
    left.paste((20, 40, 200), (size[0] // 2, 0, *size))
    stored = left.quantize(4) if mode == "P" else left.convert(mode)
    seen = shown(encoded(stored, "PNG", compress_level=1))
    scale = min(1.0, PICTURE_SIZE[0] / max(size))
    assert abs(seen.width - size[0] * scale) <= 1
    assert abs(seen.height - max(1, size[1] * scale)) <= 1
    expected = stored.convert("RGB")
    for share in (0.1, 0.9):
        there = expected.getpixel((int(share * size[0]), size[1] // 2))
        assert near(seen.getpixel((int(share * seen.width), seen.height // 2)), there)  # type: ignore[arg-type]


def test_a_very_wide_picture_is_shown_whole() -> None:
    wide = Image.new("L", (100_000, 20), 90)
    wide.paste(255, (50_000, 0, 100_000, 20))
    seen = shown(encoded(wide, "PNG"))
    assert seen.size == (1024, 1)
    assert (seen.getpixel((10, 0)), seen.getpixel((1_000, 0))) == ((90, 90, 90), (255, 255, 255))


def header_of(width: int, height: int) -> bytes:
    """A PNG that claims a size and holds nothing."""
    chunks = b"\x89PNG\r\n\x1a\n"
    for kind, data in ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IEND", b"")):
        chunks += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return chunks


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (header_of(100_000, 100_000), "far more pixels"),
        (header_of(2**31 - 1, 2**31 - 1), "pixels"),
        (image((9_000, 9_000), mode="1"), "9000 x 9000 pixels"),
        (image()[:60], "damaged or of another kind"),
        (image((600, 400))[:-20], "damaged or of another kind"),
        (b"\xff\xd8\xff" + b"\0" * 50, "damaged or of another kind"),
        (b"II*\0" + b"\xff" * 60, "damaged or of another kind"),
        (b"GIF89a" + b"\xff" * 60, "damaged or of another kind"),
        (b"\0\0\0\x20ftypavif" + b"\0" * 60, "damaged or of another kind"),
    ],
)
def test_bad_pictures_are_refused_by_name(read: Read, content: bytes, says: str) -> None:
    plan = read({"a.png": image(), "bad.png": content})
    assert [(fault.file, fault.field) for fault in plan.faults] == [("songs/bad.png", "media")]
    assert says in plan.faults[0].detail
    assert " at 0x" not in plan.faults[0].detail
    with pytest.raises(ValueError, match=says):
        prepare(content)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>', "is SVG"),
        (b"<?xml version='1.0'?><svg></svg>", "is SVG"),
        (b"<!doctype html><script>1</script>", "is HTML"),
        (b"just text", "is a text of another kind"),
        (b"", "is empty"),
        (b"%PDF-1.4\n", "is a PDF"),
    ],
)
def test_what_only_calls_itself_a_picture_is_refused(read: Read, content: bytes, says: str) -> None:
    plan = read({"a.png": content, "b.png": image()})
    assert says in plan.faults[0].detail
    assert [row.key for row in plan.rows] == ["b"]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "TIFF", "WEBP"])
def test_a_picture_cut_anywhere_is_a_sentence(kind: str) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8))
    content = encoded(noise, kind)
    refused = 0
    for end in range(0, len(content) - 20, len(content) // 40):
        try:
            prepare(content[:end])
        except ValueError as error:
            refused += " at 0x" not in str(error)
    assert refused >= 38


def test_checking_reads_no_pixel(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(header_of(5_000, 5_000))
    check_image(path)
    with pytest.raises(ValueError, match="damaged"):
        prepare(path.read_bytes())
