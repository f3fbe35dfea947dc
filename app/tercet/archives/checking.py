"""Checks all of an archive before anything is stored: its kind, and that nothing is missing, changed or malicious.

A member is read only up to its size in the directory of the ZIP, so that these sizes can be relied on.
"""

import hashlib
import json
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tercet.archives import layout
from tercet.errors import FieldError, Invalid
from tercet.storage import MEGABYTE

# The directory of a ZIP is read into memory; this size is enough for about 500,000 files.
LARGEST_DIRECTORY = 32 * MEGABYTE
LARGEST_MANIFEST = MEGABYTE
LONGEST_LINE = 16 * MEGABYTE
# Largest ratio of unpacked to packed size; that of JSON rows is ten to twenty.
MOST_PACKED = 100
# The signature of the record at the end of a ZIP's directory, its size, and the largest size of the comment after it.
END_SIGNATURE, END_SIZE, LONGEST_COMMENT = b"PK\x05\x06", 22, 0xFFFF
UNREADABLE = (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, zlib.error)
NOT_WHOLE = "It is not a complete ZIP file: the download or the upload may have been cut off."


def refusal(detail: str, file: str | None = None, row: int | None = None) -> Invalid:
    """Return the problem to raise for an archive that is not restored."""
    return Invalid("The archive was not restored; nothing was stored.", [FieldError("archive", detail, row, file)])


@dataclass(frozen=True)
class Archive:
    """An archive that was checked and can be restored."""

    zip: zipfile.ZipFile
    manifest: dict[str, Any]

    def rows(self, name: str) -> Iterator[tuple[int, Any]]:
        """Return the rows of a table with their numbers, as JSON objects; none if there is no such table."""
        if layout.table_path(name) in self.zip.NameToInfo:
            with self.zip.open(layout.table_path(name)) as stream:
                yield from _lines(stream, layout.table_path(name))

    def has(self, name: str) -> bool:
        """Return whether there is a file of that name."""
        return name in self.zip.NameToInfo


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """Open an archive and check all of it; raise Invalid with a sentence on why it is refused."""
    _check_directory(path)
    with ExitStack() as files:
        try:
            opened = files.enter_context(zipfile.ZipFile(path))
            _check_members(opened, path.stat().st_size)
            manifest = _read_manifest(opened)
            _check_listing(opened, manifest)
        except UNREADABLE as error:
            raise refusal(f"{NOT_WHOLE} ({error})") from error
        yield Archive(opened, manifest)


def _check_directory(path: Path) -> None:
    """Raise Invalid, before it is read, for a ZIP directory that would fill the memory."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - END_SIZE - LONGEST_COMMENT))
        tail = file.read()
    place = tail.rfind(END_SIGNATURE)
    if place < 0 or len(tail) - place < END_SIZE:
        raise refusal(NOT_WHOLE)
    directory = size - len(tail) + place - int.from_bytes(tail[place + 16 : place + 20], "little")
    announced = int.from_bytes(tail[place + 12 : place + 16], "little")
    # In a ZIP of more than four gigabytes both are in the record before this one.
    if announced == 0xFFFFFFFF or int.from_bytes(tail[place + 16 : place + 20], "little") == 0xFFFFFFFF:
        large = tail.rfind(b"PK\x06\x06", 0, place)
        directory = announced = int.from_bytes(tail[large + 40 : large + 48], "little") if large >= 0 else 0
    if max(directory, announced) > LARGEST_DIRECTORY:
        raise refusal("It has more files than are read: about 500,000.")


def _check_members(opened: zipfile.ZipFile, size: int) -> None:
    members = opened.infolist()
    for member in members:
        if fault := _fault_of(member):
            raise refusal(fault, member.filename[:200])
    if len(members) != len(opened.NameToInfo):
        raise refusal("It holds two files of one name.")
    unpacked = sum(member.file_size for member in members)
    if unpacked > MOST_PACKED * size + MEGABYTE:
        raise refusal(f"It would unpack to {unpacked:,} bytes, {unpacked // max(size, 1):,} times its size.")


def _fault_of(member: zipfile.ZipInfo) -> str | None:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        return "is a link or a folder, where archives hold plain files only"
    if member.flag_bits & 0x1:
        return "is encrypted: an archive is not"
    if not layout.MEMBER.fullmatch(member.filename):
        return "has a name that no file of an archive has"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed with another method than archives use"
    return None


def _read_manifest(opened: zipfile.ZipFile) -> dict[str, Any]:
    member = opened.NameToInfo.get(layout.MANIFEST)
    if member is None:
        raise refusal(f"It is not an archive of a Tercet project: there is no {layout.MANIFEST} in it.")
    if member.file_size > LARGEST_MANIFEST:
        raise refusal("is too large", layout.MANIFEST)
    try:
        manifest = json.loads(opened.read(member))
    except (ValueError, RecursionError) as error:
        raise refusal(f"is not JSON: {error}", layout.MANIFEST) from error
    if not isinstance(manifest, dict) or manifest.get("format") != layout.FORMAT:
        raise refusal("has another format than archives of Tercet projects", layout.MANIFEST)
    if manifest.get("version") != layout.VERSION:
        detail = f"is of version {manifest.get('version')!r:.20}; this server reads version {layout.VERSION}"
        raise refusal(f"{detail}: a newer Tercet may read it", layout.MANIFEST)
    return manifest


def _check_listing(opened: zipfile.ZipFile, manifest: dict[str, Any]) -> None:
    """Compare every file with the listing, and the listing with the manifest."""
    files = manifest.get("files")
    if layout.LISTING not in opened.NameToInfo or not isinstance(files, dict):
        raise refusal(f"It is incomplete: there is no {layout.LISTING} in it, or the manifest does not name it.")
    if _digest(opened, layout.LISTING) != files.get("sha256"):
        raise refusal("is not the one that the manifest names: it was changed", layout.LISTING)
    listed = set()
    with opened.open(layout.LISTING) as stream:
        for row, line in _lines(stream, layout.LISTING):
            name = line.get("path") if isinstance(line, dict) else None
            if not isinstance(name, str) or name not in opened.NameToInfo:
                raise refusal(f"names the file {name!r:.200}, which is not there", layout.LISTING, row)
            if opened.NameToInfo[name].file_size != line.get("bytes") or _digest(opened, name) != line.get("sha256"):
                raise refusal("is not as it was written: its size or its SHA-256 differs", name)
            listed.add(name)
    if extra := opened.NameToInfo.keys() - listed - {layout.LISTING, layout.MANIFEST}:
        raise refusal("is not in the listing", min(extra))
    if lacking := {layout.table_path(name) for name in layout.ARCHIVED} - listed:
        raise refusal(f"It is incomplete: {min(lacking)} is missing.")


def _digest(opened: zipfile.ZipFile, name: str) -> str:
    with opened.open(name) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # it needs no descriptor


def _lines(stream: IO[bytes], file: str) -> Iterator[tuple[int, Any]]:
    row = 0
    while line := stream.readline(LONGEST_LINE + 1):
        row += 1
        if len(line) > LONGEST_LINE:
            raise refusal(f"is longer than {LONGEST_LINE:,} bytes", file, row)
        try:
            yield row, json.loads(line)
        except (ValueError, RecursionError) as error:
            raise refusal(f"is not JSON: {error}", file, row) from error
