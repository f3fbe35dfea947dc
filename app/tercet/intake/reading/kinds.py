"""Recognises files by their first bytes, or where these do not tell, by the endings of their names."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from tercet.errors import Invalid
from tercet.intake import media
from tercet.intake.faults import fail
from tercet.intake.reading import archives, encodings
from tercet.intake.reading.folders import fault_of_file
from tercet.intake.reading.plan import Kind, SourceFile
from tercet.sounds.decoding import is_sound
from tercet.sounds.selections import FIRST_BYTES, is_selections

TABLES = {".csv", ".tsv", ".tab"}
JSON_TABLES = {".json", ".ndjson", ".jsonl"}
TEXTS = {".txt", ".text", ".md"}
ARRAYS = {".npy", ".npz"}
SOUND_NAMES = {".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".w64", ".caf", ".au"}
PICTURE_NAMES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".tif", ".tiff", ".bmp", ".avif"}
MARKUP = re.compile(rb"^\s*(?:\xef\xbb\xbf)?\s*<(\?xml|!doctype|svg|html|!--)", re.IGNORECASE)
FOREIGN = (
    (b"%PDF", "a PDF"),
    (b"\x1f\x8b", "a gzip archive: unpack it, or send a ZIP"),
    (b"7z\xbc\xaf", "a 7-Zip archive: unpack it, or send a ZIP"),
    (b"Rar!", "a RAR archive: unpack it, or send a ZIP"),
    (b"SQLite format 3", "a database"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\x80", "a pickle of Python, which is never read: save arrays as .npy"),
)
VIDEO = {b"isom", b"iso2", b"mp42", b"mp41", b"qt  ", b"M4A ", b"M4V ", b"3gp4", b"3gp5", b"MSNV", b"avc1"}


@dataclass(frozen=True)
class Recognised:
    """A source file and its kind; for a foreign one `detail` is what it seems to be."""

    source: SourceFile
    kind: Kind
    detail: str = ""

    @property
    def path(self) -> str:
        """The path as a text."""
        return str(self.source.path)


def recognise(source: SourceFile) -> Recognised:
    """Return the kind of a file; raise Invalid if by its name it is a sound or a picture, but not by its content."""
    if fault := fault_of_file(source.local):
        return Recognised(source, "foreign", fault)
    if source.kind is not None:
        return Recognised(source, source.kind)
    try:
        with source.local.open("rb") as stream:
            beginning = stream.read(FIRST_BYTES)
    except OSError as error:
        raise fail("file", f"cannot be opened: {error.strerror}", file=str(source.path)) from error
    kind, detail = _by_content(source, beginning) or _by_name(source, beginning)
    return Recognised(source, kind, detail)


def holds_files(source: SourceFile) -> bool:
    """Return whether a file is an archive of files to read."""
    if fault_of_file(source.local) or source.kind or ending_of(source.path) in ARRAYS:
        return False
    try:
        with source.local.open("rb") as stream:
            is_zip = archives.is_zip(stream.read(4))
        return is_zip and archives.zip_content(source.local, str(source.path)) == "files"
    except (OSError, Invalid):
        return False  # the fault is reported where the file is recognised


def ending_of(path: PurePosixPath) -> str:
    """Return the ending of a file's name in lower case."""
    return path.suffix.lower()


def _by_content(source: SourceFile, beginning: bytes) -> tuple[Kind, str] | None:
    if media.is_image(beginning):
        return "picture", ""
    if is_sound(beginning[:16]) and ending_of(source.path) not in TABLES | JSON_TABLES | TEXTS:
        return "sound", ""
    if beginning.startswith(b"\x93NUMPY"):
        return "array", ""
    if beginning.startswith(b"PAR1"):
        return "parquet", ""
    if archives.is_zip(beginning):
        content = archives.zip_content(source.local, str(source.path))
        if content == "arrays" or ending_of(source.path) in ARRAYS:
            return "array", ""
        return ("archive", "") if content == "files" else ("foreign", content)
    return None


def _by_name(source: SourceFile, beginning: bytes) -> tuple[Kind, str]:
    ending = ending_of(source.path)
    if ending in SOUND_NAMES | PICTURE_NAMES:
        kind = "sound" if ending in SOUND_NAMES else "picture"
        raise fail(
            "media",
            f"is not a {kind} that can be read, although its name says so: it {_seems(beginning)}",
            file=str(source.path),
        )
    if ending in ARRAYS:
        return "array", ""
    if ending in JSON_TABLES:
        return "json", ""
    if ending in TABLES | TEXTS or ending == ".textgrid":
        return _text_kind(source, beginning, ending)
    return "foreign", f"it {_seems(beginning)}; sounds, pictures, texts, tables and arrays are read"


def _text_kind(source: SourceFile, beginning: bytes, ending: str) -> tuple[Kind, str]:
    if not beginning.strip():
        return "foreign", "it is empty"
    if is_selections(beginning):
        return "selections", ""
    encodings.encoding_of(source.local, str(source.path))
    return ("table" if ending in TABLES else "text"), ""


def _seems(beginning: bytes) -> str:
    """Return a clause on what a file seems to be, by its first bytes."""
    if not beginning:
        return "is empty"
    if match := MARKUP.match(beginning):
        word = match[1].lower()
        return "is SVG" if word == b"svg" or b"<svg" in beginning[:4096].lower() else "is HTML or XML"
    if beginning[4:8] == b"ftyp" and beginning[8:12] in VIDEO:
        return "is MP4, a video or AAC: save its sound as WAV or FLAC"
    for start, name in FOREIGN:
        if beginning.startswith(start):
            return f"is {name}"
    first = " ".join(f"{byte:02X}" for byte in beginning[:4])
    is_text = not any(byte < 32 and byte not in b"\t\n\r" for byte in beginning[:1024])
    return "is a text of another kind" if is_text else f"begins with {first}"
