"""Unpacks ZIP archives into a folder under names of our own, within limits, without links and outside paths."""

import errno
import io
import re
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from tercet.intake.faults import Faults, fail
from tercet.intake.feature_files import DAMAGED_ZIP
from tercet.intake.reading.folders import is_litter
from tercet.intake.reading.plan import MOST_FILES, FileReport, SourceFile

MOST_UNPACKED = 32 * 2**30  # bytes of one archive
MOST_TIMES = 100  # unpacked size over packed size: ten for sounds and texts, hundreds for silence and blank pictures
ALWAYS_UNPACKED = 256 * 2**20  # below this a high ratio is allowed: a small archive of blank pictures is no bomb
BLOCK = 2**20
UTF8_NAME = 0x800  # the flag of an entry whose name is UTF-8
ENCRYPTED = 0x1
CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
DOCUMENTS = {
    "xl/": "an Excel workbook: save the sheet as CSV",
    "word/": "a Word document: save the text as .txt",
    "ppt/": "a PowerPoint file",
    "mimetype": "an office document: save the sheet as CSV, or the text as .txt",
}


@dataclass(frozen=True)
class Unpacked:
    """The unpacked files of an archive, and those that were skipped, with the reasons."""

    sources: list[SourceFile]
    skipped: list[FileReport]


def is_zip(first_bytes: bytes) -> bool:
    """Return whether these are the first bytes of a ZIP archive."""
    return first_bytes.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def zip_content(local: Path, path: str) -> str:
    """Return what an archive holds: "arrays", "files", or a sentence where it is an office document."""
    try:
        with zipfile.ZipFile(local) as archive:
            names = archive.namelist()
    except DAMAGED_ZIP as error:
        raise fail("archive", f"is not a ZIP archive that can be read: {error}", file=path) from error
    for beginning, sentence in DOCUMENTS.items():
        if any(name.startswith(beginning) for name in names):
            return f"is {sentence}"
    return "arrays" if names and all(name.endswith(".npy") for name in names) else "files"


def unpack(source: SourceFile, folder: Path) -> Unpacked:
    """Unpack an archive; its files get paths in a folder with the archive's name. Raise Invalid if it is damaged.

    On this machine the files are numbered, so that names in an archive cannot do harm.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with source.local.open("rb") as packed, _opened(packed, str(source.path)) as (archive, entries):
        return _unpack_entries(archive, entries, source.path.with_suffix(""), folder)


def unpack_one(packed: BinaryIO, path: PurePosixPath, file: PurePosixPath, target: Path) -> bool:
    """Unpack one file of the archive at `path`, within the limits for archives; return whether there is such a file."""
    with _opened(packed, str(path)) as (archive, entries):
        for entry in entries:
            if path.with_suffix("") / _name_of(entry) == file and _reason_to_skip(entry) is None:
                _unpack_entry(archive, entry, target)
                return True
    return False


@contextmanager
def _opened(packed: BinaryIO, path: str) -> Iterator[tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]]:
    """Open an archive within the limits and list its files; raise Invalid for any error while it is open."""
    try:
        size = packed.seek(0, io.SEEK_END)
        with zipfile.ZipFile(packed) as archive:
            entries = [entry for entry in archive.infolist() if not entry.filename.endswith("/")]
            _check_size(entries, path, size)
            _check_paths(entries, path)
            yield archive, entries
    except DAMAGED_ZIP as error:
        raise fail("archive", f"is damaged: {error}", file=path) from error
    except OSError as error:
        reason = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror
        raise fail("archive", f"cannot be unpacked: {reason}", file=path) from error


def _check_size(entries: list[zipfile.ZipInfo], path: str, packed: int) -> None:
    """Raise Invalid for a bomb, by the sizes in its directory; no entry is unpacked beyond its size there."""
    unpacked = sum(entry.file_size for entry in entries)
    if len(entries) > MOST_FILES:
        raise fail("archive", f"holds {len(entries):,} files; at most {MOST_FILES:,} are unpacked", file=path)
    if unpacked > max(ALWAYS_UNPACKED, min(MOST_UNPACKED, MOST_TIMES * packed)):
        detail = f"unpacks to {unpacked:,} bytes, {unpacked // max(packed, 1):,} times its size: send the files without"
        raise fail("archive", f"{detail} an archive, or in smaller ones", file=path)


def _check_paths(entries: list[zipfile.ZipInfo], path: str) -> None:
    faults = Faults()
    for entry in entries:
        name = _name_of(entry)
        if not name:
            faults.add("archive", "holds a file without a name", file=path)
        elif name.startswith("/") or ".." in name.split("/") or re.match("[A-Za-z]:", name):
            faults.add("archive", f"the path '{name[:200]}' leads out of the archive", file=path)
        elif CONTROLS.search(name):
            faults.add("archive", f"the path {name[:200]!r} has characters that cannot be printed", file=path)
    faults.raise_any()


def _name_of(entry: zipfile.ZipInfo) -> str:
    """Return the path of an entry; some programs write UTF-8 without the flag for it."""
    name = entry.filename
    if not entry.flag_bits & UTF8_NAME:
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            name = entry.filename
    return name.replace("\\", "/")


def _unpack_entries(
    archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], top: PurePosixPath, folder: Path
) -> Unpacked:
    unpacked = Unpacked([], [])
    for number, entry in enumerate(entries):
        path = top / _name_of(entry)
        if is_litter(path):
            continue
        if reason := _reason_to_skip(entry):
            unpacked.skipped.append(FileReport(str(path), "skipped", reason))
            continue
        local = folder / str(number)
        _unpack_entry(archive, entry, local)
        unpacked.sources.append(SourceFile(path, local))
    return unpacked


def _unpack_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    with archive.open(entry) as packed, target.open("wb") as out:
        for block in _blocks(packed, entry.file_size):  # type: ignore[arg-type]
            out.write(block)


def _reason_to_skip(entry: zipfile.ZipInfo) -> str | None:
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "is a symbolic link; links are not followed"
    return "is encrypted: send it without a password" if entry.flag_bits & ENCRYPTED else None


def _blocks(packed: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the content of an entry, at most as many bytes as the archive's directory says."""
    while size > 0 and (block := packed.read(min(BLOCK, size))):
        size -= len(block)
        yield block
