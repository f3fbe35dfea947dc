"""Guarded cells: no formulas, and every text comes back."""

import pytest

from tercet.web.csv_cells import guard, unguard


@pytest.mark.parametrize(
    "cell", ["=1", "+1", "-1", "@a", "\tx", "\rx", "'=1", "''=1", "'", "a", "", "it's", "'a'", "a=b"]
)
def test_guard_and_back(cell: str) -> None:
    guarded = guard(cell)
    assert not guarded.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unguard(guarded) == cell
