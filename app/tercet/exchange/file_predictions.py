"""Predictions for new items that come as files or rows: a worker measures them as the run's features were made.

What came lies in a folder of the storage until it is read, what came of it for a day; the project holds nothing of it.
"""

import csv
import io
import json
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from itertools import islice
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import delete
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from tercet.accounts.access import Access
from tercet.database import Database
from tercet.errors import Conflict, NotFound
from tercet.exchange.predicting import ROWS_AT_ONCE, find_model, json_pieces, predicted
from tercet.exchange.schemas import PredictionOut
from tercet.features.fitted import FittedRecipe
from tercet.intake import new_items
from tercet.intake.new_items import NewItems
from tercet.intake.reading.plan import SourceFile
from tercet.intake.tables import ItemRow
from tercet.intake.work import Work, part
from tercet.jobs import lifecycle
from tercet.jobs.lifecycle import JobStopped
from tercet.models import BackgroundJob, FeatureSet, JobKind, JobStatus, Project, now
from tercet.prediction.model import ClusterModel
from tercet.runs.queries import lock_project
from tercet.runs.service import find_result
from tercet.storage import Storage
from tercet.web.csv_cells import guard

FOLDER = "predictions"
REQUEST, ITEMS = "request.json", "items.ndjson"
STAYS = timedelta(days=1)
MOST_FAULTS = 1_000
OWN_FEATURES = (
    "The features of this run were uploaded, so Tercet cannot measure new items: send their rows of features instead, "
    "made as those were."
)
NOT_LEARNED = (
    "The features of this run are of a Tercet that did not keep what they were made by: make them anew on the settings "
    "page, and predict by the run that follows."
)


def send_to_worker(
    database: Database,
    storage: Storage,
    access: Access,
    run_name: str,
    items: Sequence[SourceFile | ItemRow],
) -> BackgroundJob:
    """Store what came, and have a worker assign it to the clusters of a run; raise Conflict if that cannot be."""
    project = access.project
    with database.reading() as session:
        run = find_model(session, storage, project, run_name).about_["run"]
        _learned_key(session, project, run_name)
    folder = f"{FOLDER}/{int(time.time())}-{uuid.uuid4().hex}"
    files = [item for item in items if isinstance(item, SourceFile)]
    rows = [asdict(item) for item in items if isinstance(item, ItemRow)]
    for number, file in enumerate(files):
        storage.put_file(f"{folder}/files/{number}", file.local)
    listed = [[str(file.path), file.kind] for file in files]
    storage.put_json(f"{folder}/{REQUEST}", {"files": listed, "rows": rows})
    size = sum(file.local.stat().st_size for file in files)
    with database.transaction() as session:
        lock_project(session, project.id)
        job = lifecycle.queue(session, project.id, JobKind.PREDICT, subject=run, user_id=access.user.id)
        job.result = {"folder": folder, "count": len(items), "bytes": size}
        session.flush()
    return job


def _learned_key(session: Session, project: Project, run_name: str) -> str:
    run, _ = find_result(session, project, run_name)
    features = session.get_one(FeatureSet, run.feature_set_id)
    if features.recipe is None:
        raise Conflict(OWN_FEATURES)
    if features.learned is None:
        raise Conflict(NOT_LEARNED)
    return features.learned


def find(session: Session, project: Project, number: int) -> BackgroundJob:
    """Return the job of a prediction; raise NotFound if there is none, or it is forgotten."""
    job = session.get(BackgroundJob, number)
    if job is None or job.project_id != project.id or job.kind != JobKind.PREDICT:
        raise NotFound(f"Project '{project.key}' has no prediction {number}; one is forgotten after a day.")
    return job


def show(job: BackgroundJob) -> PredictionOut:
    """Return how far a prediction is, and what is wrong with which file."""
    names = ("id", "status", "progress", "note", "error", "created_at", "finished_at")
    done = {name: job.result[name] for name in ("items", "faults", "faults_count") if name in job.result}
    return PredictionOut(run=job.subject, **{name: getattr(job, name) for name in names}, **done)


def forget(database: Database, storage: Storage, project: Project, job: BackgroundJob) -> None:
    """Cancel a prediction that is not done; remove what came and what came of it."""
    with database.transaction() as session:
        lock_project(session, project.id)
        stored = session.get(BackgroundJob, job.id)
        if stored is not None and stored.status in (JobStatus.QUEUED, JobStatus.RUNNING):
            lifecycle.cancel(session, stored)
        elif stored is not None:
            session.delete(stored)
    storage.delete_folder(job.result["folder"])


def forget_old(database: Database, storage: Storage) -> None:
    """Forget the predictions of more than a day ago."""
    since = now() - STAYS
    with database.transaction() as session:
        old = (BackgroundJob.kind == JobKind.PREDICT) & (BackgroundJob.created_at < since)
        session.execute(delete(BackgroundJob).where(old))
    for name in storage.names_in(FOLDER):
        if int(name.partition("-")[0]) < since.timestamp():
            storage.delete_folder(f"{FOLDER}/{name}")


def predict_items(work: Work) -> None:
    """Measure what came, and write the cluster and the posterior of each item."""
    folder = work.job.result["folder"]
    with work.database.reading() as session:
        project = session.get_one(Project, work.job.project_id)
        model = find_model(session, work.storage, project, str(work.subject))
        fitted = FittedRecipe.of_file(work.storage.get(_learned_key(session, project, str(work.subject))))
    try:
        new = _measured(work, folder, fitted)
        _write(work, folder, model, new)
    except (JobStopped, OperationalError):
        raise  # another copy of the task may need the files
    except Exception:
        work.storage.delete_folder(f"{folder}/files")
        raise
    work.storage.delete_folder(f"{folder}/files")


def _measured(work: Work, folder: str, fitted: FittedRecipe) -> NewItems:
    came, report = work.storage.get_json(f"{folder}/{REQUEST}"), part(work, 0.0, 0.9)
    if came["rows"]:
        rows = [ItemRow(**{**row, "bag_labels": tuple(row["bag_labels"])}) for row in came["rows"]]
        return new_items.of_rows(rows, fitted, report)
    with TemporaryDirectory(prefix="tercet-predict-") as scratch:
        files = []
        for number, (path, kind) in enumerate(came["files"]):
            key = f"{folder}/files/{number}"
            local = work.storage.local_path(key)
            if local is None:
                local = Path(scratch) / str(number)
                local.write_bytes(work.storage.get(key))
            files.append(SourceFile(PurePosixPath(path), local, kind))
        return new_items.of_files(files, fitted, report)


def _write(work: Work, folder: str, model: ClusterModel, new: NewItems) -> None:
    lines = predicted(model, new.values, new.keys) if new.keys else iter(())
    remarked = (line | ({"remark": new.remarks[line["item"]]} if line["item"] in new.remarks else {}) for line in lines)
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in remarked)
    work.storage.put(f"{folder}/{ITEMS}", text.encode())
    result = {
        "folder": folder,
        "items": len(new.keys),
        "cluster_names": model.cluster_names_,
        "faults": [asdict(fault) for fault in new.faults[:MOST_FAULTS]],
        "faults_count": new.fault_count,
    }
    with work.database.transaction() as session:
        note = f"{len(new.keys):,} items assigned" + (f", {new.fault_count:,} faults" if new.fault_count else "")
        lifecycle.finish(session, work.job, note, result)


def _lines(storage: Storage, job: BackgroundJob) -> Iterator[dict[str, Any]]:
    with storage.open(f"{job.result['folder']}/{ITEMS}") as stream:
        for line in stream:
            yield json.loads(line)


def demand_done(job: BackgroundJob) -> None:
    """Raise Conflict if there is nothing yet to give out."""
    if job.status != JobStatus.DONE:
        raise Conflict(f"Prediction {job.id} is {job.status}{': ' + job.error if job.error else ''}.")


def json_object(storage: Storage, job: BackgroundJob) -> Iterator[str]:
    """Return the pieces of a JSON object like that of predicted rows, with the faults behind the items."""
    result = job.result
    assert job.subject is not None, "a prediction is by a run"
    return json_pieces(job.subject, result["cluster_names"], _lines(storage, job), faults=result["faults"])


def csv_table(storage: Storage, job: BackgroundJob) -> Iterator[str]:
    """Return the lines of a table: a row for each item, with a column for the probability of each cluster."""
    names = job.result["cluster_names"]
    columns = ["item", "cluster", "name", "confidence", *(f"cluster_{k}" for k in range(1, len(names) + 1)), "remark"]
    yield ",".join(columns) + "\r\n"
    lines = _lines(storage, job)
    while some := list(islice(lines, ROWS_AT_ONCE)):
        written = io.StringIO()
        csv.writer(written).writerows(_row(line, names) for line in some)
        yield written.getvalue()


def _row(line: dict[str, Any], names: Sequence[str]) -> list[Any]:
    texts = [guard(text) for text in (line["item"], names[line["cluster"] - 1], line.get("remark", ""))]
    return [texts[0], line["cluster"], texts[1], line["confidence"], *line["posterior"], texts[2]]
