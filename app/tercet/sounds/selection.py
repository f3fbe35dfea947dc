"""A selection, and the check of its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

MOST_FAULTS = 100


@dataclass(frozen=True)
class Selection:
    """A stretch of a recording, from begin to end in seconds.

    `recording` is the file as the table names it, None where the table belongs to one recording; `tier` is the tier
    of a TextGrid; `row` counts the rows of the file from 1, without its header.
    """

    begin_s: float
    end_s: float
    low_hz: float | None = None
    high_hz: float | None = None
    label: str | None = None
    recording: str | None = None
    row: int = 0
    tier: str | None = None


class SelectionFault(NamedTuple):
    """What is wrong with one value of a file of selections."""

    row: int
    column: str
    detail: str


class SelectionsError(ValueError):
    """A file of selections with faults, each with its row and column."""

    def __init__(self, faults: Sequence[SelectionFault]) -> None:
        """Store all faults; the message is the first."""
        first = faults[0]
        more = f" ({len(faults)} faults in all)" if len(faults) > 1 else ""
        super().__init__(f"row {first.row}, {first.column}: {first.detail}{more}")
        self.faults = list(faults)


def check(selection: Selection) -> list[SelectionFault]:
    """Return what is wrong with the numbers of a selection."""
    row = selection.row
    faults = []
    if not 0 <= selection.begin_s < float("inf"):
        faults.append(SelectionFault(row, "begin", f"{selection.begin_s:g} s is no time in a recording"))
    elif not selection.begin_s < selection.end_s < float("inf"):
        faults.append(
            SelectionFault(row, "end", f"{selection.end_s:g} s is not after the begin at {selection.begin_s:g} s")
        )
    low, high = selection.low_hz, selection.high_hz
    if low is not None and high is not None and not 0 <= low <= high < float("inf"):
        faults.append(SelectionFault(row, "frequency", f"{low:g} to {high:g} Hz is no range"))
    return faults


def checked(selections: list[Selection], faults: list[SelectionFault]) -> list[Selection]:
    """Return the selections, or raise all that is wrong with them and with what could not be read."""
    for selection in selections:
        faults += check(selection)
    if faults:
        raise SelectionsError(faults[:MOST_FAULTS])
    return selections
