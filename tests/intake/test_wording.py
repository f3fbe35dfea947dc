"""The sentence that a preview begins with."""

from typing import Any

import pytest

from tercet.intake.wording import duration, summarise


def report(content: str, items: int, files: list[tuple[str, str, int]], **values: Any) -> dict[str, Any]:
    listed = [{"path": path, "became": became, "detail": "", "items": count} for path, became, count in files]
    return {"content": content, "items": items, "features": None, "files": listed, **values}


SONGS = [("north/a.wav", "sound", 1), ("south/b.wav", "sound", 1)]


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (report("sounds", 1, SONGS[:1]), "1 recording."),
        (report("sounds", 1, SONGS[:1], median_seconds=600.0), "1 recording, 10 min long."),
        (report("sounds", 2, SONGS), "2 recordings in 2 folders."),
        (report("sounds", 2, SONGS, median_seconds=2.04), "2 recordings, 2 s long at the median, in 2 folders."),
        (
            report("sounds", 2, [*SONGS, ("clips.csv", "table", 2)]),
            "2 recordings in 2 folders; clips.csv has a row for each.",
        ),
        (report("pictures", 1, [("a.png", "picture", 1), ("t.csv", "table", 3)]), "1 picture; t.csv has 3 rows."),
        (report("sounds", 312, [("long.wav", "sound", 312)]), "312 segments of 1 recording."),
        (report("texts", 300, [("texts.txt", "text", 300)]), "300 texts."),
        (report("table", 1_797, [("digits.csv", "table", 1_797)]), "1,797 rows of a table."),
        (
            report("mixed", 2, [("a.wav", "sound", 1), ("b.png", "picture", 1)], features=8),
            "2 items; with 8 features for each.",
        ),
        (report("table", 0, [("x.blend", "skipped", 0)]), "Nothing to import; 1 file is left out."),
    ],
)
def test_the_summary_of_a_preview(made: dict[str, Any], sentence: str) -> None:
    assert summarise(made) == sentence


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0312, "0.031 s"), (2.04, "2 s"), (99.4, "99 s"), (99.6, "2 min"), (612, "10 min"), (12_600, "3.5 h")],
)
def test_lengths_of_time(seconds: float, words: str) -> None:
    assert duration(seconds) == words
