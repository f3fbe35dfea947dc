"""Request bodies as files: large uploads are written to disk as they arrive, never held in memory."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.requests import ClientDisconnect

from tercet.accounts.access import Action, Caller, authorize
from tercet.database import Database
from tercet.errors import Conflict, FieldError
from tercet.intake import imports, queries
from tercet.intake.faults import Faults, fail
from tercet.intake.reading.folders import is_litter
from tercet.intake.reading.plan import Kind, SourceFile
from tercet.intake.received import normal_path, put_part
from tercet.intake.schemas import ItemsIn
from tercet.intake.tables import ItemRow
from tercet.models import ImportFile
from tercet.storage import Storage

# The fields of a form and the kinds of their files; media are recognised by their content.
KINDS: dict[str, Kind | None] = {"table": "table", "media": None, "features": "array"}


def content_type(request: Request) -> str:
    """Return the body's media type without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


@asynccontextmanager
async def spooled(request: Request) -> AsyncIterator[Path]:
    """Write the body to a temporary file as it arrives."""
    with tempfile.TemporaryDirectory(prefix="tercet-upload-") as folder:
        path = Path(folder) / "body"
        with path.open("wb") as file:
            async for chunk in request.stream():
                file.write(chunk)
        yield path


@contextmanager
def files_of(
    form: FormData, fields: Collection[str] = tuple(KINDS), *, in_folders: bool = False
) -> Iterator[list[SourceFile]]:
    """Return the parts of a multipart request as files on disk; raise Invalid for those that do not belong there.

    `in_folders` says whether their names may have the folders before them that browsers send.
    """
    parts = _parts_of(form, fields, in_folders)
    with tempfile.TemporaryDirectory(prefix="tercet-upload-") as folder:
        yield [
            SourceFile(PurePosixPath(name), _write(part, Path(folder) / str(number)), KINDS[field])
            for number, (name, (field, part)) in enumerate(parts.items())
        ]


def _parts_of(form: FormData, fields: Collection[str], in_folders: bool) -> dict[str, tuple[str, UploadFile]]:
    """Return the field and the content of each file by its name."""
    faults = Faults()
    parts: dict[str, tuple[str, UploadFile]] = {}
    for field, part in form.multi_items():
        if field not in fields:
            faults.add(field, f"there is no field '{field}' here; there are: {', '.join(fields)}")
        elif isinstance(part, str):
            faults.add(field, f"the field '{field}' must be a file")
        else:
            path = PurePosixPath((part.filename or "").replace("\\", "/"))
            name = str(path) if in_folders and path.parts and not _leads_out(path) else path.name
            if detail := _fault_of_part(field, name, parts):
                faults.add(field, detail, file=name)
            parts[name] = field, part
    faults.raise_any()
    return parts


def _leads_out(path: PurePosixPath) -> bool:
    return path.is_absolute() or ".." in path.parts or ":" in path.parts[0]


def _fault_of_part(field: str, name: str, before: dict[str, tuple[str, UploadFile]]) -> str | None:
    if not name:
        return "a file without a name"
    if name in before:
        return "there are two files with this name"
    if is_litter(PurePosixPath(normal_path(name))):
        return f"'{name}' is the name of a hidden file, or of one that operating systems create"
    if KINDS[field] and field in (other for other, _ in before.values()):
        return f"one file is expected in the field '{field}'"
    return None


@asynccontextmanager
async def received_so_far(request: Request) -> AsyncIterator[Path]:
    """Write the body to a temporary file as it arrives, and yield it even if the connection is lost before the end."""
    with tempfile.TemporaryDirectory(prefix="tercet-upload-") as folder:
        path = Path(folder) / "body"
        with path.open("wb") as file, suppress(ClientDisconnect):
            async for chunk in request.stream():
                file.write(chunk)
        yield path


@dataclass(frozen=True)
class PartOfFile:
    """A request with a part of a file of an import."""

    database: Database
    storage: Storage
    project: str
    number: int
    path: str
    size: int
    offset: int
    limits: tuple[int, int]  # bytes of a file, and of all files of an import

    def admit(self, me: Caller) -> None:
        """Raise a problem, before any byte is read, if the part may not be sent."""
        with self.database.transaction() as session:
            project = authorize(session, me, self.project, Action.WRITE).project
            row = queries.import_by_number(session, project.id, self.number)
            file = imports.expect_file(session, row, self.path, self.size, self.limits)
            self._check_offset(file)

    def _check_offset(self, file: ImportFile) -> None:
        if self.offset != file.received:
            detail = f"{file.received} bytes of '{file.path}' were received: continue there, not at {self.offset}"
            raise Conflict(f"{detail}.", [FieldError("offset", detail, file=file.path)])

    def store(self, body: Path) -> ImportFile:
        """Store the received bytes; return the file after that."""
        length = body.stat().st_size
        if self.offset + length > self.size:
            detail = f"{self.offset + length} bytes were sent of a file of {self.size}"
            raise fail("size", detail, file=self.path)
        with self.database.reading() as session:
            project = queries.project_number(session, self.project)
            row = queries.import_by_number(session, project, self.number)
            file = queries.file_of(session, row, normal_path(self.path))
        if file is None:
            raise Conflict(f"Import {self.number} was cancelled.")
        if length:
            put_part(self.storage, file, self.offset, body)
        with self.database.transaction() as session:
            stored = session.get(ImportFile, file.id)
            if stored is None:
                raise Conflict(f"Import {self.number} was cancelled.")
            imports.note_received(session, stored, self.offset, length)
            return stored


@contextmanager
def on_disk(part: UploadFile) -> Iterator[Path]:
    """Yield a part of a multipart request as a file on disk."""
    with tempfile.TemporaryDirectory(prefix="tercet-upload-") as folder:
        yield _write(part, Path(folder) / "part")


def _write(part: UploadFile, path: Path) -> Path:
    with path.open("wb") as file:
        shutil.copyfileobj(part.file, file)
    return path


def rows_of_json(body: bytes) -> list[ItemRow]:
    """Read items from a JSON body; raise Invalid with row and field of each fault."""
    try:
        return [item.row() for item in ItemsIn.model_validate_json(body).items]
    except ValidationError as error:
        faults = Faults()
        for e in error.errors():
            match e["loc"]:
                case ("items", int(row), *rest):
                    faults.add(".".join(str(part) for part in rest) or "item", e["msg"], row=row + 1)
                case path:
                    faults.add(".".join(str(part) for part in path) or "body", e["msg"])
        faults.raise_any()
        raise
    except UnicodeDecodeError as error:
        raise fail("encoding", f"byte {error.start + 1} of the body is not UTF-8") from error
