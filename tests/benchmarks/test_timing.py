"""Targets say truly whether they are met, and a profile's shares are those of the functions named."""

from benchmarks.timing import medians, profile, target, times_table


def heavy() -> int:
    return sum(sum(range(2000)) for _ in range(300))


def light() -> int:
    return sum(range(2000))


def both() -> None:
    heavy()
    light()


def test_target_says_which_way_is_better() -> None:
    assert target("refit / cold", 0.29, 0.3).startswith("met")
    assert target("refit / cold", 0.31, 0.3).startswith("NOT MET")
    assert target("speed-up", 11, 10, least=True).startswith("met")
    assert target("speed-up", 9, 10, least=True).startswith("NOT MET")


def test_medians_are_taken_over_runs_for_each_name() -> None:
    assert medians(lambda run: {"a": float(run), "b": 10.0 - run}, 3) == {"a": 1.0, "b": 9.0}


def test_times_are_multiples_of_the_units() -> None:
    rows = times_table({"a": 0.5, "b": 0.25}, "a").splitlines()
    assert rows[2].split() == ["b", "250.0", "0.50"]


def test_profile_finds_the_part_that_takes_the_time() -> None:
    parts = {"much": "test_timing.py:heavy", "little": "test_timing.py:light"}
    rows = [line.split() for line in profile(both, parts).splitlines()]
    shares = {row[-1]: float(row[0].rstrip("%")) for row in rows[1:3]}
    assert shares["much"] > 90 > 10 > shares["little"]
