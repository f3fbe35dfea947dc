"""Imports from files on disk, as the command line makes them."""

from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from tercet.database import Database
from tercet.intake.importing import import_items
from tercet.intake.preparing import Opener, prepared
from tercet.models import FeatureSet, Item
from tercet.storage import Storage
from tercet.web.errors import Invalid, NotFound
from tests.factories import make_project, row_counts
from tests.intake.conftest import image, wav

# The same code runs behind the REST interface, where it is tested on both kinds.
pytestmark = pytest.mark.only_on("sqlite")


@pytest.fixture
def project(database: Database) -> str:
    with database.transaction() as session:
        return make_project(session, n_clusters=2).key


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Media: two that the table names, one by its key, and files that are none."""
    media = tmp_path / "media"
    media.mkdir()
    (media / "1.png").write_bytes(image())
    (media / "two.wav").write_bytes(wav())
    (media / "notes.txt").write_text("not media")
    (media / ".hidden").write_text("not media")
    return media


def test_a_table_takes_what_it_names_from_a_folder(
    database: Database, storage: Storage, project: str, folder: Path, tmp_path: Path
) -> None:
    table, features = tmp_path / "items.csv", tmp_path / "X.npy"
    table.write_text("key,media\none,1.png\ntwo,\nthree,\n")
    np.save(features, np.eye(3))
    done = import_items(database, storage, project, table=table, media=folder, features=features, name="eye")
    assert (done.added, done.features and done.features.name) == (3, "eye")
    with database.reading() as session:
        kinds = session.execute(sa.select(Item.key, Item.media_type).order_by(Item.position)).all()
    assert kinds == [("one", "image/webp"), ("two", "audio/wav"), ("three", None)]


def test_a_folder_alone_must_hold_media_only(database: Database, storage: Storage, project: str, folder: Path) -> None:
    before = row_counts(database)
    with pytest.raises(Invalid, match=r"'notes\.txt' is neither"):
        import_items(database, storage, project, media=folder)
    assert row_counts(database) == before
    assert not storage.exists("projects"), "not even a blob is left behind"
    (folder / "notes.txt").unlink()
    assert import_items(database, storage, project, media=folder).added == 2


def test_features_alone_go_to_the_items_that_are_there(
    database: Database, storage: Storage, project: str, tmp_path: Path
) -> None:
    table, features = tmp_path / "items.csv", tmp_path / "X.csv"
    table.write_text("key\none\ntwo\n")
    features.write_text("key,p\ntwo,2\none,1\n")
    import_items(database, storage, project, table=table)
    assert import_items(database, storage, project, features=features).added == 0
    with database.reading() as session:
        blob = session.scalars(sa.select(FeatureSet.blob)).one()
    assert storage.memory_map(blob).tolist() == [[1.0], [2.0]]


def test_nothing_to_import_and_nowhere_to_put_it(database: Database, storage: Storage, project: str) -> None:
    with pytest.raises(Invalid, match="nothing to import"):
        import_items(database, storage, project)
    with pytest.raises(NotFound, match="no project 'other'"):
        import_items(database, storage, "other")


def test_images_are_read_once_and_sounds_twice() -> None:
    """The lengths of all sounds give the time scale, so that each is looked at before one is drawn."""
    reads: list[str] = []

    def opener(name: str, content: bytes) -> Opener:
        def read() -> bytes:
            reads.append(name)
            return content

        return read

    files = {"1.png": opener("1.png", image()), "2.wav": opener("2.wav", wav()), "3.wav": opener("3.wav", wav(2.0))}
    with prepared({"one": "1.png", "two": "2.wav", "three": "3.wav"}, files) as ready:
        assert {key: waiting.media_type for key, waiting in ready.items()} == {
            "one": "image/webp",
            "two": "audio/wav",
            "three": "audio/wav",
        }
        assert len({path for one in ready.values() for path in (one.media, one.picture, one.thumbnail)}) == 9
    assert reads == ["1.png", "2.wav", "3.wav", "2.wav", "3.wav"]
