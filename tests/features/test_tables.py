"""Features of tables: what each sort of column becomes, and which are left out."""

import numpy as np
import pytest

from tercet.features.tables import Column, TableColumns, learn_columns

N = 40


def sorts(table: TableColumns) -> list[str]:
    return [column.sort for column in table.columns]


def column(values) -> list[dict[str, object]]:
    return [{"column": value} for value in values]


def test_numbers_are_standardised_and_gaps_are_the_mean():
    table = learn_columns(details := column(["", *(f"{value:g}" for value in range(N - 1))]))
    rows = table.rows(details)
    assert sorts(table) == ["number"]
    assert table.names == ["column"]
    assert rows[0, 0] == 0
    assert rows.std() == pytest.approx(1, abs=1e-5)
    assert np.corrcoef(rows[1:, 0], np.arange(N - 1))[0, 1] == pytest.approx(1)


def test_dates_are_numbers():
    table = learn_columns(details := column([f"2025-05-{day:02d}" for day in range(1, 31)]))
    rows = table.rows(details)
    assert sorts(table) == ["date"]
    np.testing.assert_allclose(np.diff(rows[:, 0]), np.diff(rows[:, 0])[0], rtol=1e-3)


def test_a_category_weighs_as_much_as_a_number():
    table = learn_columns(details := column(["creek", "ridge", "road", "ridge"] * 10))
    rows = table.rows(details)
    assert sorts(table) == ["category"]
    assert table.names == ["column = ridge", "column = creek", "column = road"]
    assert rows.var(axis=0).sum() == pytest.approx(1, abs=1e-5)


def test_rare_values_are_pooled():
    table = learn_columns(details := column(["creek", "ridge"] * 19 + ["pond", "bog"]))
    rows = table.rows(details)
    assert table.names == ["column = creek", "column = ridge", "column = any other"]
    np.testing.assert_array_equal(rows[-1], rows[-2])


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
    table = learn_columns(details := column(values))
    rows = table.rows(details)
    assert table.left_out == [("column", why)]
    assert rows.shape == (N, 0)


@pytest.mark.parametrize("wild", ["nan", "inf", "1e400", "-inf"])
def test_what_is_not_finite_counts_as_missing(wild):
    table = learn_columns(details := column([wild, *(str(value) for value in range(N - 1))]))
    rows = table.rows(details)
    assert sorts(table) == ["number"]
    assert np.isfinite(rows).all()
    assert rows[0, 0] == 0


def test_huge_numbers_stay_finite():
    table = learn_columns(details := column([f"{value}e306" for value in range(N)]))
    rows = table.rows(details)
    assert np.isfinite(rows).all()
    assert rows.std() == pytest.approx(1, abs=1e-4)


def test_columns_that_only_some_items_have():
    table = learn_columns([{"a": 1}, {"b": 2}, {"a": 3, "b": 5}, {"a": 4, "b": 6}])
    assert table.names == ["a", "b"]


def test_new_items_are_measured_by_what_was_learned():
    cells = [*("creek" for _ in range(20)), *("ridge" for _ in range(18)), "bog", "road"]
    old = [{"length": number, "site": site} for number, site in enumerate(cells)]
    table = TableColumns([Column(**column.as_dict()) for column in learn_columns(old).columns])
    np.testing.assert_array_equal(table.rows(old[3:7]), table.rows(old)[3:7])
    new = table.rows([{"length": 1e308, "site": "pond"}, {"length": "long"}, {"depth": 3}])
    assert np.isfinite(new).all()
    assert new[0, 0] == 1e6  # as far as a number may be
    np.testing.assert_array_equal(new[0, 1:], table.rows(old)[-1, 1:])  # rare, as the bog was
    assert new[2, 0] == new[1, 0] == 0
    assert table.filled([{"site": "pond"}, {"depth": 3}, {"length": " "}]).tolist() == [True, False, False]


def test_a_new_value_is_none_where_no_value_was_rare():
    table = learn_columns(column(["creek", "ridge"] * 20))
    np.testing.assert_array_equal(table.rows(column(["pond"])), table.rows(column([""])))
