"""The media of all items in a ZIP with a folder for each cluster, and a table of the files."""

import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import PurePosixPath

import numpy as np

from tercet.database import Database
from tercet.exchange.queries import ClusteredItem, clustered_items
from tercet.models import Run
from tercet.runs.results import Result
from tercet.storage import MEGABYTE, Storage
from tercet.web.csv_cells import guard
from tercet.web.zip_stream import FileNames, ZipStream


def clips_by_cluster(
    database: Database, storage: Storage, run: Run, result: Result, names: Mapping[int, str]
) -> Iterator[bytes]:
    """Return the pieces of the ZIP; the surest items of each cluster come first, and texts are in the table alone."""
    archive, table, folders = ZipStream(), io.StringIO(), FileNames()
    rows = csv.writer(table)
    rows.writerow(["item", "cluster", "name", "confidence", "file"])
    for cluster in range(1, result.n_clusters + 1):
        folder = folders.make(f"{cluster:02} {names.get(cluster, '')}")
        files = FileNames()
        members = np.flatnonzero(result.labels == cluster)
        surest_first = members[np.argsort(-result.confidence[members], kind="stable")]
        for page in clustered_items(database, run, result, surest_first):
            for item in page:
                file = _file_of(storage, item, folder, files)
                if file and item.media:
                    yield from archive.add(file, _chunks(storage, item.media))
                cells = [
                    guard(item.key),
                    cluster,
                    guard(names.get(cluster, "")),
                    round(item.confidence, 4),
                    guard(file),
                ]
                rows.writerow(cells)
    yield from archive.add("clusters.csv", [table.getvalue().encode()], packed=True)
    yield from archive.close()


def _file_of(storage: Storage, item: ClusteredItem, folder: str, files: FileNames) -> str:
    """Return the name of an item's file in the ZIP; empty where it has none."""
    if not item.media or not storage.exists(item.media):
        return ""
    return f"{folder}/{files.make(item.key, PurePosixPath(item.media).suffix)}"


def _chunks(storage: Storage, key: str) -> Iterator[bytes]:
    with closing(storage.open(key)) as stream:
        while chunk := stream.read(MEGABYTE):
            yield chunk
