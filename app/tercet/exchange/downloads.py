"""All downloads of a project, for the REST interface, the page and the command line."""

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from tercet.database import Database
from tercet.errors import Invalid, NotFound
from tercet.exchange import exporting, predicting, report
from tercet.exchange.clips import clips_by_cluster
from tercet.exchange.contents import ExportContent, MatrixFormat
from tercet.exchange.foreign import ForeignFormat
from tercet.exchange.queries import features_of_version
from tercet.exchange.selections import SelectionFormat, tables
from tercet.items.queries import deleted_positions, keys_in_order, latest_features
from tercet.models import FeatureSet, Project, Run
from tercet.projects.queries import project_by_key
from tercet.runs import export, queries, results
from tercet.runs.results import Array
from tercet.runs.service import find_result
from tercet.storage import MEGABYTE, Storage
from tercet.web.csv_cells import guard
from tercet.web.row_formats import RowFormat
from tercet.web.zip_stream import npz_pieces

ROWS_AT_ONCE = 1_000
LONGEST_NUMBER = 10
BYTES = "application/octet-stream"
ZIP = "application/zip"


class Download(NamedTuple):
    """A file to be downloaded."""

    pieces: Iterator[str] | Iterator[bytes]
    media_type: str
    name: str


def make_download(
    database: Database,
    storage: Storage,
    project: Project,
    what: ExportContent,
    form: RowFormat,
    run_name: str,
    *,
    names: bool = False,
) -> Download:
    """Return an export by its name and, if it has several, its format; raise NotFound or Conflict if there is none."""
    match what:
        case ExportContent.ANSWERS:
            pieces = exporting.export(database, project.id, form, with_names=names)
            return Download(pieces, form.content_type, f"{project.key}-answers.{form}")
        case ExportContent.SALMON | ExportContent.CBLEARN:
            return foreign_answers(database, project, ForeignFormat(what), names=names)
        case ExportContent.CLUSTERS:
            return clusters(database, storage, project, run_name, form)
        case ExportContent.RAVEN | ExportContent.AUDACITY:
            return selections(database, storage, project, run_name, SelectionFormat(what))
        case ExportContent.CLIPS:
            return clips(database, storage, project, run_name)
        case ExportContent.POSTERIOR:
            return posterior(database, storage, project, run_name, _matrix_format(form))
        case ExportContent.FEATURES:
            return features(database, storage, project, "latest")
        case ExportContent.MODEL:
            return model(database, storage, project, run_name)
        case ExportContent.REPORT:
            return html_report(database, storage, project, run_name, names=names)


def foreign_answers(database: Database, project: Project, form: ForeignFormat, *, names: bool) -> Download:
    """Return the yes and no answers as another program has them."""
    pieces = exporting.export_foreign(database, project, form, with_names=names)
    return Download(pieces, form.content_type, f"{project.key}-answers-{form}.{form.suffix}")


def _matrix_format(form: RowFormat) -> MatrixFormat:
    if form.value not in {choice.value for choice in MatrixFormat}:
        raise Invalid(f"A posterior is written as {' or '.join(MatrixFormat)}, not as {form}.")
    return MatrixFormat(form)


def clusters(database: Database, storage: Storage, project: Project, run_name: str, form: RowFormat) -> Download:
    """Return the cluster of every item."""
    run, key, _ = _result(database, project, run_name)
    pieces = export.lines(database, storage, run, key, None, export.Sort.POSITION, form)
    return Download(pieces, form.content_type, f"{_stem(project, run)}.{form}")


def selections(
    database: Database, storage: Storage, project: Project, run_name: str, form: SelectionFormat
) -> Download:
    """Return selection tables or label tracks, one for each recording."""
    run, key, names = _result(database, project, run_name)
    pieces = tables(database, storage, run, results.load_cached(storage, key), names, form)
    return Download(pieces, ZIP, f"{_stem(project, run)}-{form}.zip")


def clips(database: Database, storage: Storage, project: Project, run_name: str) -> Download:
    """Return the media by cluster."""
    run, key, names = _result(database, project, run_name)
    pieces = clips_by_cluster(database, storage, run, results.load_cached(storage, key), names)
    return Download(pieces, ZIP, f"{_stem(project, run)}-clips.zip")


def posterior(database: Database, storage: Storage, project: Project, run_name: str, form: MatrixFormat) -> Download:
    """Return the probability of every item in use and every cluster, (N, K), with the items' keys."""
    run, key, names = _result(database, project, run_name)
    result = results.load_cached(storage, key)
    in_use = np.flatnonzero(result.labels > 0)
    values = result.posterior[in_use]
    with database.reading() as session:
        every_key = keys_in_order(session, project.id)
    keys = [every_key[position] for position in in_use]
    name = f"{_stem(project, run)}-posterior.{form}"
    if form == MatrixFormat.CSV:
        return Download(_posterior_csv(keys, values), "text/csv; charset=utf-8", name)
    titles = np.array([names.get(cluster, "") for cluster in range(1, values.shape[1] + 1)], dtype=str)
    arrays = {"keys": np.array(keys, dtype=str), "posterior": values, "cluster_names": titles}
    return Download(npz_pieces(arrays), BYTES, name)


def _posterior_csv(keys: list[str], values: Array) -> Iterator[str]:
    yield ",".join(["item", *(f"cluster_{number}" for number in range(1, values.shape[1] + 1))]) + "\r\n"
    for start in range(0, len(keys), ROWS_AT_ONCE):
        written = io.StringIO()
        rows = zip(keys[start : start + ROWS_AT_ONCE], values[start : start + ROWS_AT_ONCE].tolist(), strict=True)
        csv.writer(written).writerows([guard(key), *(f"{p:.6g}" for p in row)] for key, row in rows)
        yield written.getvalue()


def features(database: Database, storage: Storage, project: Project, version: str) -> Download:
    """Return a version of the features with keys and names: an .npz that can be uploaded again.

    Items that are deleted, which nobody can name any more, are not in it.
    """
    with database.reading() as session:
        row = _find_features(session, project, version)
        every_key = keys_in_order(session, project.id)
        deleted = set(deleted_positions(session, project.id))
    stay = [position for position in range(row.n) if position not in deleted]
    keys = [every_key[position] for position in stay]
    rows = _chunks(storage, row.blob) if len(stay) == row.n else storage.memory_map(row.blob)[stay]
    names = {"feature_names": np.array(row.feature_names, dtype=str)} if row.feature_names else {}
    arrays: dict[str, Array | Iterable[bytes]]
    arrays = {"X": rows, "keys": np.array(keys, dtype=str), **names}
    return Download(npz_pieces(arrays), BYTES, f"{project.key}-features-{row.version}.npz")


def _find_features(session: Session, project: Project, version: str) -> FeatureSet:
    row = latest_features(session, project.id) if version == "latest" else None
    if version.isascii() and version.isdigit() and len(version) < LONGEST_NUMBER:
        row = features_of_version(session, project.id, int(version))
    if row is None:
        raise NotFound(f"Project '{project.key}' has no features of version '{version}'.")
    return row


def _chunks(storage: Storage, key: str) -> Iterator[bytes]:
    with closing(storage.open(key)) as stream:
        while chunk := stream.read(MEGABYTE):
            yield chunk


def model(database: Database, storage: Storage, project: Project, run_name: str) -> Download:
    """Return the fitted model."""
    with database.reading() as session:
        number, content = predicting.file_of(session, storage, project, run_name)
    return Download(iter([content]), BYTES, f"{project.key}-run-{number}-model.npz")


def html_report(database: Database, storage: Storage, project: Project, run_name: str, *, names: bool) -> Download:
    """Return a self-contained HTML page."""
    with database.reading() as session:
        run, key = find_result(session, project, run_name)
        page = report.render_report(session, storage, project, run, key, names=names)
    return Download(iter([page]), "text/html; charset=utf-8", f"{_stem(project, run)}.html")


def _result(database: Database, project: Project, run_name: str) -> tuple[Run, str, dict[int, str]]:
    """Return a run with the key of its result and the names of its clusters."""
    with database.reading() as session:
        run, key = find_result(session, project, run_name)
        notes = queries.cluster_notes(session, run)
    return run, key, {cluster: note.name for cluster, note in notes.items() if note.name}


def _stem(project: Project, run: Run) -> str:
    return f"{project.key}-run-{run.number}"


def find_project(session: Session, key: str) -> Project:
    """Return a project without checking rights: for the command line."""
    project = project_by_key(session, key)
    if project is None:
        raise NotFound(f"There is no project '{key}'.")
    return project
