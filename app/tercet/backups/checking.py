"""Checks a backup: that it is complete, that no byte changed, and that the answers have no gap."""

import hashlib
import zipfile
from pathlib import Path

from pydantic import ValidationError

from tercet.backups.layout import FORMAT, MANIFEST, Manifest, rows_entry
from tercet.errors import FieldError, Invalid
from tercet.storage import MEGABYTE


def is_backup(file: Path) -> bool:
    """Return whether a file looks like the backup of a server, whole or not."""
    try:
        with zipfile.ZipFile(file) as archive:
            return MANIFEST in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def read_manifest(file: Path) -> Manifest:
    """Read what a backup says that it holds; raise Invalid if it is none."""
    try:
        with zipfile.ZipFile(file) as archive:
            manifest = Manifest.model_validate_json(archive.read(MANIFEST))
    except (OSError, zipfile.BadZipFile, KeyError, ValidationError) as error:
        raise Invalid(f"{file} is no backup of Tercet, or only a part of one.") from error
    if manifest.format != FORMAT:
        raise Invalid(f"{file} has the format '{manifest.format}'; this version reads '{FORMAT}'.")
    return manifest


def check_backup(file: Path) -> Manifest:
    """Read every byte of a backup; raise Invalid with each entry that is not as it was written."""
    manifest = read_manifest(file)
    errors = []
    with zipfile.ZipFile(file) as archive:
        names = set(archive.namelist()) - {MANIFEST}
        errors += [FieldError(name, "is in the file, not in its manifest") for name in names - manifest.entries.keys()]
        for name in manifest.entries:
            if fault := _fault(archive, manifest, name):
                errors.append(FieldError(name, fault))
    errors += [
        FieldError(key, f"has {stored.answers} answers, numbered up to {stored.answer_number}")
        for key, stored in manifest.projects.items()
        if stored.answers != stored.answer_number
    ]
    if errors:
        raise Invalid(f"{file} is damaged.", errors)
    return manifest


def _fault(archive: zipfile.ZipFile, manifest: Manifest, name: str) -> str:
    expected, size, lines, digest = manifest.entries[name], 0, 0, hashlib.sha256()
    try:
        with archive.open(name) as entry:
            while piece := entry.read(MEGABYTE):
                digest.update(piece)
                size += len(piece)
                lines += piece.count(b"\n")
    except KeyError:
        return "is missing"
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError) as error:
        return f"cannot be read: {error}"
    if (size, digest.hexdigest()) != (expected.size, expected.sha256):
        return "has changed since it was written"
    rows = {rows_entry(table): count for table, count in manifest.rows.items()}
    return "" if rows.get(name, lines) == lines else f"has {lines} rows; {rows[name]} were written"
