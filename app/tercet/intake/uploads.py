"""Request bodies as files: large uploads go to disk as they come, never into memory as a whole."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.requests import ClientDisconnect

from tercet.accounts.access import Action, Caller, authorize
from tercet.database import Database
from tercet.intake import imports, queries
from tercet.intake.faults import Faults, fail
from tercet.intake.preparing import Opener
from tercet.intake.received import normal_path, put_part
from tercet.intake.schemas import ItemsIn
from tercet.intake.tables import ItemRow
from tercet.models import ImportFile
from tercet.storage import Storage
from tercet.web.errors import Conflict, FieldError

MOST_FILES = 100_000
FIELDS = ("table", "media", "features")


@dataclass(frozen=True)
class UploadForm:
    """The files of a multipart request."""

    table: UploadFile | None
    features: UploadFile | None
    media: dict[str, Opener]


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


def read_form(form: FormData) -> UploadForm:
    """Return the parts of a multipart request by field; raise Invalid for those that do not belong there."""
    faults = Faults()
    files: dict[str, list[UploadFile]] = {field: [] for field in FIELDS}
    for field, part in form.multi_items():
        if field not in files:
            faults.add(field, f"there is no field '{field}' here; there are: {', '.join(FIELDS)}")
        elif isinstance(part, str):
            faults.add(field, f"the field '{field}' must be a file")
        else:
            files[field].append(part)
    for field in ("table", "features"):
        if len(files[field]) > 1:
            faults.add(field, f"one file is expected in the field '{field}', not {len(files[field])}")
    media = _by_name(files["media"], faults)
    faults.raise_any()
    return UploadForm(next(iter(files["table"]), None), next(iter(files["features"]), None), media)


def _by_name(parts: list[UploadFile], faults: Faults) -> dict[str, Opener]:
    openers: dict[str, Opener] = {}
    for part in parts:
        name = PurePosixPath((part.filename or "").replace("\\", "/")).name
        if not name or name in openers:
            faults.add("media", "a file with that name came twice" if name else "a file without a name", file=name)
        openers[name] = _opener(part)
    return openers


def _opener(part: UploadFile) -> Opener:
    def read() -> bytes:
        part.file.seek(0)
        return part.file.read()

    return read


@asynccontextmanager
async def received_so_far(request: Request) -> AsyncIterator[Path]:
    """Write the body to a temporary file as it arrives, and give what has come even if the connection is lost."""
    with tempfile.TemporaryDirectory(prefix="tercet-upload-") as folder:
        path = Path(folder) / "body"
        with path.open("wb") as file, suppress(ClientDisconnect):
            async for chunk in request.stream():
                file.write(chunk)
        yield path


@dataclass(frozen=True)
class PartOfFile:
    """A part of a file of an import that a request brings."""

    database: Database
    storage: Storage
    project: str
    number: int
    path: str
    size: int
    offset: int
    limits: tuple[int, int]  # bytes of a file, and of all files of an import

    def admit(self, me: Caller) -> None:
        """Look whether the part may come, before its bytes are read."""
        with self.database.transaction() as session:
            project = authorize(session, me, self.project, Action.WRITE).project
            row = queries.import_by_number(session, project.id, self.number)
            file = imports.expect_file(session, row, self.path, self.size, self.limits)
            self._demand(file)

    def _demand(self, file: ImportFile) -> None:
        if self.offset != file.received:
            detail = f"{file.received} bytes of '{file.path}' are here: go on from there, not from {self.offset}"
            raise Conflict(f"{detail}.", [FieldError("offset", detail, file=file.path)])

    def store(self, body: Path) -> ImportFile:
        """Store the bytes that came; return the file as it is then."""
        length = body.stat().st_size
        if self.offset + length > self.size:
            detail = f"{self.offset + length} bytes came of a file of {self.size}"
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
def on_disk(part: UploadFile | None) -> Iterator[Path | None]:
    """Return a part of a multipart request as a file on disk."""
    if part is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="tercet-upload-") as folder:
        path = Path(folder) / "part"
        with path.open("wb") as file:
            shutil.copyfileobj(part.file, file)
        yield path


def rows_of_json(body: bytes) -> list[ItemRow]:
    """Read items from a JSON body; what is wrong is named by row and field."""
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
