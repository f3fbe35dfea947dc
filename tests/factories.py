"""Makes what tests start from: users with roles, projects with items and features, signed-in clients."""

import io
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import numpy as np
import sqlalchemy as sa
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from tercet.accounts.access import hash_token
from tercet.database import Database
from tercet.models import ApiToken, Base, BrowserSession, FeatureSet, Item, Membership, Project, Role, Scope, User, now
from tercet.storage import Storage


def make_user(session: Session, name: str = "Ada", *, is_admin: bool = False) -> User:
    """Add a user."""
    user = User(name=name, email=f"{uuid.uuid4().hex}@example.org", is_admin=is_admin)
    session.add(user)
    session.flush()
    return user


def make_project(session: Session, key: str = "songs", *, n_items: int = 0, **values: object) -> Project:
    """Add a project with items item-0, item-1, ..."""
    project = Project(key=key, name=key.title(), **{"n_clusters": 3, **values})
    session.add(project)
    session.flush()
    session.add_all(Item(project_id=project.id, key=f"item-{i}", position=i) for i in range(n_items))
    session.flush()
    return project


def add_member(session: Session, project: Project, role: Role, name: str = "") -> User:
    """Add a new user with a role in the project."""
    user = make_user(session, name or f"{role} of {project.key}")
    session.add(Membership(project_id=project.id, user_id=user.id, role=role))
    session.flush()
    return user


def add_features(
    session: Session, storage: Storage, project: Project, features: np.ndarray, version: int = 1
) -> FeatureSet:
    """Add a feature array as a version of the project's features."""
    buffer = io.BytesIO()
    np.save(buffer, features, allow_pickle=False)
    n, d = features.shape
    blob = storage.put_content("features", buffer.getvalue(), ".npy")
    row = FeatureSet(project_id=project.id, version=version, n=n, d=d, blob=blob)
    session.add(row)
    session.flush()
    return row


def make_token(session: Session, user: User, scope: Scope = Scope.OWN) -> str:
    """Add an API token of the user and give it."""
    token = f"test-{uuid.uuid4().hex}"
    session.add(ApiToken(user_id=user.id, name="test", token_hash=hash_token(token), scope=scope))
    session.flush()
    return token


def make_session(session: Session, user_id: int) -> str:
    """Add a session of the user and give the cookie's value."""
    token = f"session-{uuid.uuid4().hex}"
    row = BrowserSession(user_id=user_id, token_hash=hash_token(token), browser="tests", address="127.0.0.1")
    row.expires_at = now() + timedelta(days=1)
    session.add(row)
    session.flush()
    return token


def session_cookie(database: Database, user: User) -> str:
    """Make the cookie that a browser of the user carries."""
    with database.transaction() as session:
        return make_session(session, user.id)


@contextmanager
def signed_in(app: FastAPI, user: User) -> Iterator[TestClient]:
    """Open a client that carries the user's session cookie, as a browser would."""
    cookie = session_cookie(app.state.database, user)
    with TestClient(app, cookies={"tercet": cookie}, headers={"Sec-Fetch-Site": "same-origin"}) as client:
        yield client


def row_counts(database: Database) -> dict[str, int]:
    """Rows of every table: what a refused request must leave as it was."""
    with database.reading() as session:
        tables = Base.metadata.sorted_tables
        return {table.name: session.scalar(sa.select(sa.func.count()).select_from(table)) or 0 for table in tables}
