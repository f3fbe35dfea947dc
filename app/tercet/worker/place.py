"""Where a job finds its project: the addresses of database and storage, and their open connections."""

from typing import NamedTuple, Self

from tercet.database import Database
from tercet.settings import Settings
from tercet.storage import Storage


class JobPlace(NamedTuple):
    """The addresses that a job opens; plain values, since it may run on another machine."""

    database_url: str
    storage_url: str
    lease_seconds: float
    run_hours: float

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the place that settings name."""
        database, storage = settings.resolved_database_url(), settings.resolved_storage_url()
        return cls(database, storage, settings.run_lease_seconds, settings.run_hours)


_opened: dict[JobPlace, tuple[Database, Storage]] = {}


def open_place(place: JobPlace) -> tuple[Database, Storage]:
    """Return database and storage, whose connections stay open from run to run, until a run of another place."""
    if place not in _opened:
        for database, _ in _opened.values():
            database.close()
        _opened.clear()
        _opened[place] = Database(place.database_url, pool_size=2), Storage(place.storage_url)
    return _opened[place]
