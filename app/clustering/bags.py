"""The bags of a project's items and what is said of them, as estimators take it."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.clustering.results import Array
from app.models import Bag, Item

NO_BAG = -1


@dataclass(frozen=True)
class BagLabels:
    """Bags of N items, of which one at least has labels."""

    of_item: Array  # (N,) ids of bags, -1 for none
    labels: dict[int, list[str]]  # of every labelled bag of these items

    @property
    def n_labels(self) -> int:
        """How many different labels there are."""
        return len({label for labels in self.labels.values() for label in labels})

    def said(self) -> dict[str, Any]:
        """The same as arguments of an estimator's `fit`."""
        bags = [None if bag == NO_BAG else bag for bag in self.of_item.tolist()]
        return {"bags": bags, "bag_labels": self.labels}

    def digest(self) -> bytes:
        """Name them: labels may be added to a bag that has none."""
        written = json.dumps(sorted(self.labels.items()))
        return hashlib.sha256(self.of_item.tobytes() + written.encode()).digest()


def load(session: Session, project_id: int, n: int) -> BagLabels | None:
    """Read the bags of the first n items; None if none of them has labels."""
    rows = session.execute(select(Bag.id, Bag.labels).where(Bag.project_id == project_id))
    labels = {bag: found for bag, found in rows if found}
    if not labels:
        return None
    of_items = select(Item.bag_id).where(Item.project_id == project_id, Item.position < n).order_by(Item.position)
    bags = np.array([NO_BAG if bag is None else bag for bag in session.scalars(of_items)], dtype=np.int64)
    inside = {bag: labels[bag] for bag in set(bags.tolist()) if bag in labels}
    return BagLabels(bags, inside) if inside else None


def have_labels(session: Session, project_id: int) -> bool:
    """Tell whether a bag of the project has labels."""
    return any(session.scalars(select(Bag.labels).where(Bag.project_id == project_id)))
