"""Features of tables: what each sort of column becomes, and which are left out."""

import numpy as np
import pytest

from tercet.features.tables import table_columns

N = 40


def column(values) -> list[dict[str, object]]:
    return [{"column": value} for value in values]


def test_numbers_are_standardised_and_gaps_are_the_mean():
    table = table_columns(column(["", *(f"{value:g}" for value in range(N - 1))]))
    assert table.numeric == table.names == ["column"]
    assert table.rows[0, 0] == 0
    assert table.rows.std() == pytest.approx(1, abs=1e-5)
    assert np.corrcoef(table.rows[1:, 0], np.arange(N - 1))[0, 1] == pytest.approx(1)


def test_dates_are_numbers():
    table = table_columns(column([f"2025-05-{day:02d}" for day in range(1, 31)]))
    assert table.dates == ["column"]
    np.testing.assert_allclose(np.diff(table.rows[:, 0]), np.diff(table.rows[:, 0])[0], rtol=1e-3)


def test_a_category_weighs_as_much_as_a_number():
    table = table_columns(column(["creek", "ridge", "road", "ridge"] * 10))
    assert table.categories == ["column"]
    assert table.names == ["column = ridge", "column = creek", "column = road"]
    assert table.rows.var(axis=0).sum() == pytest.approx(1, abs=1e-5)


def test_rare_values_are_pooled():
    table = table_columns(column(["creek", "ridge"] * 19 + ["pond", "bog"]))
    assert table.names == ["column = creek", "column = ridge", "column = any other"]
    np.testing.assert_array_equal(table.rows[-1], table.rows[-2])


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([f"item-{number}" for number in range(N)], "is a key, or a text: few of its values are repeated"),
        (["same"] * N, "is the same for all"),
        (["3.5"] * N, "is the same for all"),
        (["7"] + [""] * (N - 1), "is mostly empty"),
        ([None] * N, "is mostly empty"),
    ],
)
def test_columns_that_tell_nothing_are_left_out(values, why):
    table = table_columns(column(values))
    assert table.left_out == [("column", why)]
    assert table.rows.shape == (N, 0)


@pytest.mark.parametrize("wild", ["nan", "inf", "1e400", "-inf"])
def test_what_is_not_finite_counts_as_missing(wild):
    table = table_columns(column([wild, *(str(value) for value in range(N - 1))]))
    assert table.numeric == ["column"]
    assert np.isfinite(table.rows).all()
    assert table.rows[0, 0] == 0


def test_huge_numbers_stay_finite():
    table = table_columns(column([f"{value}e306" for value in range(N)]))
    assert np.isfinite(table.rows).all()
    assert table.rows.std() == pytest.approx(1, abs=1e-4)


def test_columns_that_only_some_items_have():
    table = table_columns([{"a": 1}, {"b": 2}, {"a": 3, "b": 5}, {"a": 4, "b": 6}])
    assert table.names == ["a", "b"]
