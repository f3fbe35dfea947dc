"""Backups that a server makes by itself: one every so many hours, checked once written, the newest ones kept.

Each is written by a process of its own, which gives way to everything else.
"""

import logging
import multiprocessing
import os
import re
import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tercet.backups.checking import check_backup
from tercet.backups.writing import write_backup
from tercet.database import Database
from tercet.models import now
from tercet.settings import Settings
from tercet.storage import Storage

log = logging.getLogger(__name__)

TIME_FORMAT = "tercet-%Y-%m-%dT%H-%M-%SZ.zip"
NAME = re.compile(r"tercet-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.zip")
LOOK_SECONDS = 60.0
RETRY_SECONDS = 600.0
NICENESS = 10


@dataclass(frozen=True)
class WrittenBackup:
    """A backup in the folder, when it was begun, and its bytes."""

    file: Path
    made_at: datetime
    size: int


def backups(folder: Path) -> list[WrittenBackup]:
    """List the backups that were made here, oldest first; other files in the folder are nobody's business."""
    rows = []
    for file in sorted(file for file in folder.glob("tercet-*") if NAME.fullmatch(file.name)):
        made_at = datetime.strptime(file.name, TIME_FORMAT).replace(tzinfo=UTC)
        with suppress(FileNotFoundError):  # removed since, as the oldest is when a new one is there
            rows.append(WrittenBackup(file, made_at, file.stat().st_size))
    return rows


def make_backup(settings: Settings) -> Path:
    """Write a backup into the folder of the settings, read all of it again, and remove the oldest ones."""
    folder = Path(settings.backup_folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for unfinished in folder.glob("tercet-*.zip.partial"):
        unfinished.unlink(missing_ok=True)
    file = folder / now().strftime(TIME_FORMAT)
    database = Database(settings.resolved_database_url())
    try:
        write_backup(database, Storage(settings.resolved_storage_url()), file)
    finally:
        database.close()
    check_backup(file)
    for old in backups(folder)[: -settings.backups_kept]:
        old.file.unlink(missing_ok=True)
    return file


class BackupSchedule:
    """A thread that makes a backup whenever the newest one is older than the settings say."""

    def __init__(self, settings: Settings) -> None:
        """Prepare the thread; `start` runs it."""
        self.settings = settings
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="backups", daemon=True)

    def start(self) -> None:
        """Begin to look whether a backup is due; without a folder, none ever is."""
        if self.settings.backup_folder:
            self._thread.start()

    def stop(self) -> None:
        """End the thread, and a backup that is being written."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        pause = 0.0
        while not self._stopping.wait(pause):
            pause = LOOK_SECONDS
            if seconds_until_due(self.settings) > 0:
                continue
            try:
                self._make()
            except Exception:  # whatever it is: a server without a backup goes on, and tries again
                log.warning("No backup could be made; trying again in %s s", RETRY_SECONDS, exc_info=True)
                pause = RETRY_SECONDS

    def _make(self) -> None:
        with multiprocessing.get_context("spawn").Pool(1, os.nice, (NICENESS,)) as pool:
            writing = pool.apply_async(make_backup, (self.settings,))
            while not self._stopping.is_set():
                writing.wait(0.2)
                if writing.ready():
                    log.info("Backup written: %s", writing.get())
                    return


def seconds_until_due(settings: Settings) -> float:
    """Return in how many seconds the next backup is due, at most 0 once it is."""
    written = backups(Path(settings.backup_folder))
    if not written:
        return 0.0
    return settings.backup_hours * 3600 - (now() - written[-1].made_at).total_seconds()
