"""Reads the bags of a project's items and their labels, in the form that estimators take."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from tercet.models import Bag, Item
from tercet.runs.results import Array

NO_BAG = -1


@dataclass(frozen=True)
class BagLabels:
    """The bags of N items; at least one of the bags has labels."""

    of_item: Array  # (N,) ids of bags, -1 for none
    labels: dict[int, list[str]]  # by id, of every labelled bag of these items

    @property
    def n_labels(self) -> int:
        """The number of different labels."""
        return len({label for labels in self.labels.values() for label in labels})

    def of_those(self, selected: Array) -> "BagLabels | None":
        """Return the bags of the selected items; None if none of these bags has labels."""
        bags = self.of_item[selected]
        labels = {bag: self.labels[bag] for bag in set(bags.tolist()) if bag in self.labels}
        return BagLabels(bags, labels) if labels else None

    def fit_arguments(self) -> dict[str, Any]:
        """Return bags and labels as arguments of an estimator's `fit`."""
        bags = [None if bag == NO_BAG else bag for bag in self.of_item.tolist()]
        return {"bags": bags, "bag_labels": self.labels}

    def digest(self) -> bytes:
        """Return a hash of bags and labels; it changes when labels are added to a bag that had none."""
        labels = json.dumps(sorted(self.labels.items()))
        return hashlib.sha256(self.of_item.tobytes() + labels.encode()).digest()


def load(session: Session, project_id: int, n: int) -> BagLabels | None:
    """Read the bags of the first n items; None if none of them has labels."""
    rows = session.execute(select(Bag.id, Bag.labels).where(Bag.project_id == project_id))
    labels_of_bag = {bag: labels for bag, labels in rows if labels}
    if not labels_of_bag:
        return None
    of_items = select(Item.bag_id).where(Item.project_id == project_id, Item.position < n).order_by(Item.position)
    bags = np.array([NO_BAG if bag is None else bag for bag in session.scalars(of_items)], dtype=np.int64)
    labels = {bag: labels_of_bag[bag] for bag in set(bags.tolist()) if bag in labels_of_bag}
    return BagLabels(bags, labels) if labels else None


def have_labels(session: Session, project_id: int) -> bool:
    """Return whether a bag of the project has labels."""
    return any(session.scalars(select(Bag.labels).where(Bag.project_id == project_id)))
