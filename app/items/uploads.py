"""Request bodies as files: large uploads go to disk as they come, never into memory as a whole."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile

from app.items.faults import Faults, fail
from app.items.preparing import Opener
from app.items.schemas import ItemsIn
from app.items.tables import ItemRow

MOST_FILES = 100_000
FIELDS = ("table", "media", "features")


@dataclass(frozen=True)
class Form:
    """The files of a multipart request."""

    table: UploadFile | None
    features: UploadFile | None
    media: dict[str, Opener]


def content_type(request: Request) -> str:
    """Give the body's media type without its parameters."""
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


def read_form(form: FormData) -> Form:
    """Sort the parts of a multipart request; refuse what no part should be."""
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
    return Form(next(iter(files["table"]), None), next(iter(files["features"]), None), media)


def _by_name(parts: list[UploadFile], faults: Faults) -> dict[str, Opener]:
    found: dict[str, Opener] = {}
    for part in parts:
        name = PurePosixPath((part.filename or "").replace("\\", "/")).name
        if not name or name in found:
            faults.add("media", "a file with that name came twice" if name else "a file without a name", file=name)
        found[name] = _opener(part)
    return found


def _opener(part: UploadFile) -> Opener:
    def read() -> bytes:
        part.file.seek(0)
        return part.file.read()

    return read


@contextmanager
def on_disk(part: UploadFile | None) -> Iterator[Path | None]:
    """Give a part of a multipart request as a file on disk."""
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
