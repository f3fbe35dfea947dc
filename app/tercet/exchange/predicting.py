"""The model of a run as a file, and its predictions for new items."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from pydantic import ValidationError
from sqlalchemy.orm import Session

from tercet import __version__
from tercet.errors import Conflict, FieldError, Invalid
from tercet.exchange.schemas import RowsIn
from tercet.features.fitted import FittedRecipe
from tercet.intake.feature_files import Features
from tercet.models import FeatureSet, Project, Run
from tercet.prediction.model import ClusterModel, model_file, with_rows_of_items
from tercet.runs import queries, results
from tercet.runs.results import Array
from tercet.runs.service import find_result
from tercet.storage import Storage

ROWS_AT_ONCE = 1_000
BY_RECIPE = (
    "The features of this project are made of the items themselves: send recordings, pictures, texts and tables as "
    "multipart/form-data, or rows of texts and metadata as JSON."
)


def find_model(session: Session, storage: Storage, project: Project, run_name: str) -> ClusterModel:
    """Return the model of a run, with the names of its clusters; raise Conflict if it has none."""
    run, key = find_result(session, project, run_name)
    arrays = results.load_model_arrays(storage, key)
    if arrays is None or run.feature_set_id is None:
        raise Conflict(
            f"Run {run.number} left no model: its method needs to know the other clusterings of new items, or goes "
            "by points that answers gave its items, or it is of a Tercet that kept none. Start a run of DCRC or SKLR."
        )
    features = session.get_one(FeatureSet, run.feature_set_id)
    complete = with_rows_of_items(arrays, storage.memory_map(features.blob))
    complete["feature_names"] = np.array(features.feature_names, dtype=str)
    notes = queries.cluster_notes(session, run)
    numbers = range(1, int(arrays["n_clusters"]) + 1)
    complete["cluster_names"] = np.array([notes[k].name if k in notes else "" for k in numbers], dtype=str)
    return ClusterModel(complete, _about(project, run, features))


def _about(project: Project, run: Run, features: FeatureSet) -> dict[str, Any]:
    return {
        "project": project.key,
        "run": run.number,
        "algorithm": run.algorithm,
        "features": features.version,
        "tercet": __version__,
        "by_recipe": bool(getattr(features, "recipe", None) or features.extractor),
    }


def file_of(session: Session, storage: Storage, project: Project, run_name: str) -> tuple[int, bytes]:
    """Return the number of a run, and its model as the file that `read_model` reads, with what its recipe learned."""
    model = find_model(session, storage, project, run_name)
    run, _ = find_result(session, project, run_name)
    learned = session.get_one(FeatureSet, run.feature_set_id).learned
    recipe = FittedRecipe.of_file(storage.get(learned)).arrays() if learned else {}
    return run.number, model_file(model.arrays, model.about_, recipe)


def rows_for(model: ClusterModel, features: Features) -> Array:
    """Return the rows as the model takes them; columns with names may come in any order."""
    expected = [str(name) for name in getattr(model, "feature_names_in_", [])]
    if features.names and expected:
        if faults := _wrong_names(features.names, expected):
            raise Invalid("The columns are not those that the run was fitted to; nothing was predicted.", faults)
        rows: Array = features.values[:, [features.names.index(name) for name in expected]]
        return rows
    if features.values.shape[1] != model.n_features_in_:
        detail = f"{features.values.shape[1]} numbers a row; run {model.about_['run']} takes {model.n_features_in_}"
        hint = f". {BY_RECIPE}" if model.about_["by_recipe"] else ""
        raise Invalid("Nothing was predicted.", [FieldError("features", detail + hint, file=features.file)])
    return features.values


def _wrong_names(names: Sequence[str], expected: Sequence[str]) -> list[FieldError]:
    missing = [FieldError(name, "this column is missing") for name in expected if name not in names]
    return missing + [FieldError(name, "there is no such feature") for name in names if name not in expected]


def predicted(model: ClusterModel, rows: Array, keys: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    """Yield the cluster, confidence and posterior of every row."""
    for start in range(0, len(rows), ROWS_AT_ONCE):
        posterior = model.predict_proba(rows[start : start + ROWS_AT_ONCE])
        best = posterior.argmax(axis=1)
        for offset in range(len(posterior)):
            yield {
                "item": keys[start + offset] if keys else start + offset,
                "cluster": int(model.classes_[best[offset]]),
                "confidence": round(float(posterior[offset, best[offset]]), 4),
                "posterior": [round(float(p), 4) for p in posterior[offset]],
            }


def json_pieces(
    run: int, cluster_names: Sequence[str], items: Iterable[Mapping[str, Any]], **more: object
) -> Iterator[str]:
    """Return the pieces of a JSON object with predicted items."""
    names = json.dumps(cluster_names, ensure_ascii=False)
    yield f'{{"run": {run}, "cluster_names": {names}, "items": ['
    separator, coming = "", iter(items)
    while some := list(islice(coming, ROWS_AT_ONCE)):
        yield separator + ", ".join(json.dumps(item, ensure_ascii=False) for item in some)
        separator = ", "
    yield "".join(["]", *(f', "{name}": {json.dumps(value, ensure_ascii=False)}' for name, value in more.items()), "}"])


def rows_of_json(body: bytes) -> Features:
    """Read rows of features from a JSON body; raise Invalid with the row that is wrong."""
    try:
        rows = RowsIn.model_validate_json(body)
    except ValidationError as error:
        faults = [
            FieldError(".".join(map(str, fault["loc"])) or "body", fault["msg"]) for fault in error.errors()[:100]
        ]
        raise Invalid("Rows of features are expected; nothing was predicted.", faults) from error
    width = len(rows.features[0])
    for number, row in enumerate(rows.features, start=1):
        if len(row) != width or not all(map(math.isfinite, row)):
            detail = f"{len(row)} numbers, the first row has {width}" if len(row) != width else "is not finite"
            raise Invalid("Nothing was predicted.", [FieldError("features", detail, number)])
    if rows.items is not None and len(rows.items) != len(rows.features):
        raise Invalid(
            "Nothing was predicted.", [FieldError("items", f"{len(rows.items)} names for {len(rows.features)} rows")]
        )
    if rows.feature_names and len(rows.feature_names) != width:
        detail = f"{len(rows.feature_names)} names for {width} columns"
        raise Invalid("Nothing was predicted.", [FieldError("feature_names", detail)])
    return Features(np.array(rows.features, dtype=np.float64), rows.items, rows.feature_names, "body")
