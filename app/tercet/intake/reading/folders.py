"""Lists the files of folders without following links, and recognises litter."""

import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from tercet.intake.faults import fail
from tercet.intake.reading.plan import SourceFile

LITTER = {"thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx", "$recycle.bin", "icon\r"}


def gather(places: Iterable[Path]) -> list[SourceFile]:
    """Return the files of folders and single files, in the order of their paths; links are listed, not followed."""
    sources: dict[PurePosixPath, Path] = {}
    for place in places:
        if not place.exists():
            raise fail("files", f"there is no file or folder '{place}'")
        name = place.resolve().name
        pairs = _walk(place, PurePosixPath(name)) if place.is_dir() else [(PurePosixPath(name), place)]
        for path, local in pairs:
            if path in sources and sources[path].resolve() != local.resolve():
                raise fail("files", f"two files come under the path '{path}': name the folder that holds both")
            sources[path] = local
    return [SourceFile(path, sources[path]) for path in sorted(sources)]


def _walk(folder: Path, path: PurePosixPath) -> Iterator[tuple[PurePosixPath, Path]]:
    waiting = [(path, folder)]
    while waiting:
        path, folder = waiting.pop()
        for entry in folder.iterdir():
            if entry.is_dir() and not entry.is_symlink():
                waiting.append((path / entry.name, entry))
            else:
                yield path / entry.name, entry


def is_litter(path: PurePosixPath) -> bool:
    """Return whether a file, or a folder that it is in, is hidden or created by an operating system."""
    return any(part.startswith(".") or part.lower() in LITTER for part in path.parts)


def fault_of_file(local: Path) -> str | None:
    """Return why a file is not opened: it is a link or not a plain file; None if it may be opened."""
    try:
        mode = local.lstat().st_mode
    except OSError as error:
        return f"cannot be opened: {error.strerror}"
    if stat.S_ISLNK(mode):
        return "is a symbolic link; links are not followed"
    return None if stat.S_ISREG(mode) else "is not a plain file"


def common_folder(paths: Sequence[PurePosixPath]) -> PurePosixPath:
    """Return the deepest folder that all files are in."""
    parents = [path.parent.parts for path in paths]
    shared: list[str] = []
    for parts in zip(*parents, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return PurePosixPath(*shared)
