"""The demonstrations as files: repeatable, of known truth, and read by the intake like anybody's."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score

from tercet.demo.digits import make_digits
from tercet.demo.files import write_pictures, write_songs, write_texts
from tercet.demo.messages import TOPICS, make_messages
from tercet.intake.reading.folders import gather
from tercet.intake.reading.plan import ReadOptions
from tercet.intake.reading.reader import read_files


@pytest.mark.parametrize(
    ("write", "content", "columns"),
    [
        (write_songs, "sounds", {"bird", "site", "recorded"}),
        (write_pictures, "pictures", set()),
        (write_texts, "texts", set()),
    ],
)
def test_the_intake_reads_them_like_any_folder(
    tmp_path: Path, write: Callable[..., None], content: str, columns: set[str]
) -> None:
    write(tmp_path, 24, seed=1)
    plan = read_files(gather([tmp_path]), ReadOptions(), lambda _share, _words: None, tmp_path / "scratch")
    assert (plan.content, len(plan.rows), plan.faults) == (content, 24, ())
    assert {name for row in plan.rows for name in row.details} == columns
    assert len(plan.media) == (0 if content == "texts" else 24)
    assert all(row.text for row in plan.rows) == (content == "texts")


def test_the_same_seed_makes_the_same() -> None:
    assert make_messages(50, 3) == make_messages(50, 3) != make_messages(50, 4)
    assert make_digits(20, 3) == make_digits(20, 3) != make_digits(20, 4)


def test_messages_are_distinct_and_as_many_of_each_topic() -> None:
    messages = make_messages(300)
    assert len({message.text for message in messages}) == len({message.key for message in messages}) == 300
    assert set(Counter(message.topic for message in messages).values()) == {300 // len(TOPICS)}
    assert all(message.text[0].isupper() and "{" not in message.text for message in messages)
    assert np.count_nonzero(np.diff([message.topic for message in messages])) > 200


def test_digits_are_distinct_and_as_many_of_each() -> None:
    assert set(Counter(digit.digit for digit in make_digits(100)).values()) == {10}
    assert len({digit.content for digit in make_digits(1_797)}) == 1_797


def test_words_alone_tell_topics_apart_in_part() -> None:
    """Neither hopeless nor done: people's answers can still help."""
    indices = []
    for seed in range(3):
        messages = make_messages(300, seed)
        counts = TfidfVectorizer(sublinear_tf=True).fit_transform([message.text for message in messages])
        clusters = KMeans(len(TOPICS), n_init=5, random_state=seed).fit_predict(counts)
        indices.append(adjusted_rand_score([message.topic for message in messages], clusters))
    assert 0.15 < np.mean(indices) < 0.85, indices
