"""Makes the demonstration projects: writes files into a folder and imports them as users do."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.accounts import service as accounts
from tercet.database import Database
from tercet.demo.birdsong import PATTERNS
from tercet.demo.digits import N_DIGITS
from tercet.demo.files import N_SONGS, write_pictures, write_songs, write_texts
from tercet.demo.kinds import DemoKind
from tercet.demo.messages import N_MESSAGES, TOPICS
from tercet.intake.local import import_here
from tercet.intake.reading.folders import gather
from tercet.intake.reading.plan import ReadOptions
from tercet.models import Project, User
from tercet.projects.queries import project_by_key
from tercet.projects.service import create_project
from tercet.storage import Storage

PROJECT = "bird-songs"
OWNER = "owner@localhost"
N_ITEMS = N_SONGS
N_KINDS_OF_DIGITS = 10
STEP = 0.25  # of the whole, between two lines about how far an import is

Report = Callable[[str], None]


@dataclass(frozen=True)
class Demonstration:
    """A project to be made: its settings, the function that writes its files, and a sentence about them."""

    key: str
    name: str
    n_clusters: int
    guidelines: str
    write: Callable[..., None]
    sentence: str


DEMONSTRATIONS = {
    DemoKind.SONGS: Demonstration(
        PROJECT,
        "Bird songs",
        len(PATTERNS),
        "Each picture is the spectrogram of one bird-song syllable: time runs to the right, pitch upwards. "
        "Compare the pattern (does it rise, fall, trill, buzz?), not the background or how loud it is. "
        "Answer “don't know” when all three are of one pattern, or each is of its own.",
        write_songs,
        f"Singing {N_SONGS} syllables of {len(PATTERNS)} patterns ...",
    ),
    DemoKind.PICTURES: Demonstration(
        "digits",
        "Handwritten digits",
        N_KINDS_OF_DIGITS,
        "Each picture is one digit that somebody wrote. Compare which digit it is, not how thick or how slanted it is. "
        "Answer “don't know” when all three are the same digit, or three different ones.",
        write_pictures,
        f"Writing {N_DIGITS} digits ...",
    ),
    DemoKind.TEXTS: Demonstration(
        "messages",
        "Short messages",
        len(TOPICS),
        "Each text is a short message. Compare what it is about, not how it is put. "
        "Answer “don't know” when all three are about the same, or each is about something else.",
        write_texts,
        f"Writing {N_MESSAGES} messages about {len(TOPICS)} topics ...",
    ),
}


@dataclass(frozen=True)
class Links:
    """Paths of a one-time sign-in link for the owner and of a share link for labelers."""

    sign_in: str
    join: str


@dataclass
class _Lines:
    """Reports the progress of an import in a few lines."""

    write: Report
    next_share: float = 0.0

    def report(self, fraction: float, note: str) -> None:
        """Write a line now and then."""
        if fraction >= self.next_share:
            self.next_share = fraction + STEP
            self.write(f"{note} ...")

    def finish(self, session: Session, note: str) -> None:
        """Write the last line."""
        self.write(f"{note}.")


def prepare(
    database: Database, storage: Storage, report: Report, seed: int = 0, kind: DemoKind = DemoKind.SONGS
) -> Links:
    """Make the project unless it exists, and return new links to it."""
    demonstration = DEMONSTRATIONS[kind]
    with database.reading() as session:
        exists = project_by_key(session, demonstration.key) is not None
    if not exists:
        _make(database, storage, demonstration, report, seed)
    with database.transaction() as session:
        project = session.scalars(select(Project).where(Project.key == demonstration.key)).one()
        sign_in = accounts.make_sign_in_link(session, _owner(session))
        return Links(f"/sign-in/{sign_in}", f"/join/{accounts.make_share_link(session, project)}")


def _owner(session: Session) -> User:
    owner = session.scalar(select(User).where(User.email == OWNER))
    return owner or accounts.make_user(session, "Owner", email=OWNER)


def _make(database: Database, storage: Storage, demonstration: Demonstration, report: Report, seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="tercet-demo-") as name:
        folder = Path(name) / demonstration.key
        folder.mkdir()
        report(demonstration.sentence)
        demonstration.write(folder, seed=seed)
        with database.transaction() as session:
            create_project(
                session,
                _owner(session),
                key=demonstration.key,
                name=demonstration.name,
                guidelines=demonstration.guidelines,
                n_clusters=demonstration.n_clusters,
            )
        import_here(database, storage, demonstration.key, gather([folder]), ReadOptions(), _Lines(report))
