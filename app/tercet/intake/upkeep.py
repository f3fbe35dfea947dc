"""What is put in order between jobs: imports whose job ended badly, and uploads that nobody went on with."""

from tercet.database import Database
from tercet.intake import imports
from tercet.storage import Storage


def put_in_order(database: Database, storage: Storage) -> None:
    """End imports whose work has ended without success, and remove the files of abandoned ones."""
    with database.reading() as session:
        if not imports.any_to_settle(session):
            return
    with database.transaction() as session:
        imports.settle(session)
        folders = imports.abandoned(session)
    for folder in folders:
        storage.delete_folder(folder)
