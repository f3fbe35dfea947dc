"""Between the steps of a search: what tests do there to a run that is being computed."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update

from tercet.database import Database
from tercet.models import Run
from tercet.worker import checkpoints


def checkpoint_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have runs write a checkpoint, and look whether they are cancelled, after every step."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "COST_SHARE", 1e9)


def before_each_step(monkeypatch: pytest.MonkeyPatch, search: type, act: Callable[[Any], object]) -> None:
    """Have something done with the state before every step of a search, which checkpoints follow."""
    advance = search.advance

    def act_and_advance(self: object, state: object, *rest: object) -> object:
        act(state)
        return advance(self, state, *rest)

    checkpoint_every_step(monkeypatch)
    monkeypatch.setattr(search, "advance", act_and_advance)


def cancel_all(database: Database) -> None:
    """Ask for every run to be cancelled."""
    with database.transaction() as session:
        session.execute(update(Run).values(cancel_requested=True))
