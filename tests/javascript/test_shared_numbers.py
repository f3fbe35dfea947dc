"""Numbers and names that scripts and the server both have are the same in both."""

import json
import re
from pathlib import Path

import pytest

from tercet.dashboard import api as dashboard_api
from tercet.intake.reading.folders import LITTER
from tercet.labeling import pages
from tercet.labeling.schemas import MOST_IN_FOCUS

STATIC = Path(__file__).parents[2] / "static"


@pytest.mark.parametrize(
    ("script", "name", "number"),
    [
        ("labeling/label.js", "UNDOABLE", pages.UNDOABLE),
        ("labeling/label.js", "LEAST_UPCOMING", pages.AHEAD),
        ("dashboard/selection_bar.js", "MOST_ASKED", MOST_IN_FOCUS),
        ("dashboard/item_list.js", "AT_ONCE", dashboard_api.MOST_ITEMS),
    ],
)
def test_limits(script: str, name: str, number: int) -> None:
    [value] = re.findall(rf"^const {name} = ([\d_]+);", (STATIC / script).read_text(), re.MULTILINE)
    assert int(value) == number


def test_files_that_nobody_means_to_send() -> None:
    [names] = re.findall(r"LITTER = new Set\((\[.*\])\)", (STATIC / "intake/dropped_files.js").read_text())
    assert set(json.loads(names)) == LITTER
