"""The demonstration's project: 600 synthetic bird songs with their recordings, spectrograms and features."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts import service as accounts
from app.database import Database
from app.demo.birdsong import PATTERNS, Syllable, make_syllables, to_wav
from app.items.audio_features import FEATURE_NAMES, audio_features
from app.items.features import Features
from app.items.importing import add
from app.items.tables import ItemRow
from app.models import Project, User
from app.projects.queries import project_by_key
from app.projects.service import create_project
from app.storage import Storage

PROJECT = "bird-songs"
OWNER = "owner@localhost"
N_ITEMS = 600
# People err, above all towards "don't know", and the items of one question depend on each other more than
# mean field believes: far softer answers and flatter clusters than the paper's leave room for both.
PARAMETERS = {"epsilon": 0.4, "lam": 2**-6}
GUIDELINES = (
    "Each picture is the spectrogram of one bird-song syllable: time runs to the right, pitch upwards. "
    "Compare the pattern (does it rise, fall, trill, buzz?), not the background or how loud it is. "
    "Answer “don't know” when all three are of one pattern, or each is of its own."
)

Report = Callable[[str], None]


@dataclass(frozen=True)
class Links:
    """Paths of a one-time sign-in link for the owner and of a share link for labelers."""

    sign_in: str
    join: str


def prepare(database: Database, storage: Storage, report: Report, seed: int = 0) -> Links:
    """Make the project unless it is there, and new links in any case."""
    with database.reading() as session:
        there = project_by_key(session, PROJECT) is not None
    if not there:
        _make(database, storage, report, seed)
    with database.transaction() as session:
        project = session.scalars(select(Project).where(Project.key == PROJECT)).one()
        sign_in = accounts.make_sign_in_link(session, _owner(session))
        return Links(f"/sign-in/{sign_in}", f"/join/{accounts.make_share_link(session, project)}")


def _owner(session: Session) -> User:
    found = session.scalar(select(User).where(User.email == OWNER))
    return found or accounts.make_user(session, "Owner", email=OWNER)


def _make(database: Database, storage: Storage, report: Report, seed: int) -> None:
    report(f"Singing {N_ITEMS} syllables of {len(PATTERNS)} patterns ...")
    syllables = make_syllables(N_ITEMS, seed)
    report("Measuring them ...")
    values = np.array([audio_features(s.samples, s.sample_rate) for s in syllables])
    with database.transaction() as session:
        create_project(
            session,
            _owner(session),
            key=PROJECT,
            name="Bird songs",
            guidelines=GUIDELINES,
            n_clusters=len(PATTERNS),
            parameters=PARAMETERS,
        )
    report("Drawing their spectrograms ...")
    features = Features(values, None, list(FEATURE_NAMES), "features")
    files = {f"{s.key}.wav": partial(to_wav, s.samples, s.sample_rate) for s in syllables}
    add(database, storage, PROJECT, [_row(s) for s in syllables], files, features, name="sound measurements")


def _row(syllable: Syllable) -> ItemRow:
    details = {"bird": syllable.bird, "site": syllable.site, "recorded": syllable.recorded}
    return ItemRow(syllable.key, media=f"{syllable.key}.wav", details=details)
