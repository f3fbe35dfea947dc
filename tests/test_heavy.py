"""Heavy tests run where they are asked for, and what a mark spares is one of the test's parameters."""

from itertools import groupby

import pytest

from tests.conftest import is_heavy, leaves_heavy_out


@pytest.mark.heavy
def test_it_does_not_run_where_heavy_tests_are_left_out(request: pytest.FixtureRequest) -> None:
    assert not leaves_heavy_out(request.config)


@pytest.mark.heavy(but="plain")
@pytest.mark.parametrize("case", ["plain", "long"])
def test_a_mark_spares_the_parameters_it_names(request: pytest.FixtureRequest, case: str) -> None:
    assert is_heavy(request.node) == (case == "long")


@pytest.mark.heavy
def test_every_mark_spares_something_and_not_everything(request: pytest.FixtureRequest) -> None:
    marked = [item for item in request.session.items if any(mark.kwargs for mark in item.iter_markers("heavy"))]
    for name, items in groupby(marked, key=lambda item: item.nodeid.split("[")[0]):
        assert {is_heavy(item) for item in items} == {True, False}, name
