"""Checks before labeling: each finds what it is about, names the items, and is silent where all is well."""

import io
from dataclasses import replace

import numpy as np
import pytest
from scipy.io import wavfile

from tercet.intake.reading.facts import facts_of
from tercet.items.checks import Finding, ItemFacts, find_problems
from tests.intake.conftest import image, wav
from tests.intake.reading.conftest import Read

GOOD = [ItemFacts(f"item {n}", True, "", f"hash {n}", 1.0 + 0.1 * n, 22_050, 0.5, 0.0) for n in range(12)]


def only(findings: list[Finding]) -> Finding:
    """The one finding there is."""
    (finding,) = findings
    assert finding.sentence.endswith(".")
    assert finding.what_to_do.endswith(".")
    return finding


def test_good_items_raise_nothing() -> None:
    assert find_problems(GOOD, 3, np.random.default_rng(0).normal(size=(12, 4))) == []


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"peak": 1e-5}, "silent"),
        ({"peak": 1.0, "clipped_share": 0.02}, "clipped"),
        ({"content_hash": "hash 1"}, "duplicates"),
        ({"has_media": False, "content_hash": None}, "no_media"),
        ({"rate": 44_100}, "rates"),
        ({"seconds": 30.0}, "long"),
        ({"seconds": 0.05}, "short"),
    ],
)
def test_one_odd_item_is_named(change: dict[str, object], kind: str) -> None:
    finding = only(find_problems([replace(GOOD[0], **change), *GOOD[1:]], 3))  # type: ignore[arg-type]
    assert finding.kind == kind
    if kind == "duplicates":
        assert finding.keys == ("item 0", "item 1")
    elif kind == "rates":
        assert "1 at 44,100 Hz" in finding.sentence
        assert "11,025 Hz" in finding.what_to_do
        assert len(finding.keys) == 11
    else:
        assert finding.keys == ("item 0",)


@pytest.mark.parametrize(("n", "k", "kind"), [(2, 2, "few_items"), (4, 4, "clusters"), (10, 4, "clusters")])
def test_clusters_against_items(n: int, k: int, kind: str) -> None:
    assert only(find_problems(GOOD[:n], k)).kind == kind
    assert find_problems(GOOD[:n], k, others=20) == []


def test_texts_that_are_there_twice() -> None:
    items = [ItemFacts(str(n), False, f"text {n % 11}") for n in range(12)]
    assert only(find_problems(items, 3)).keys == ("0", "11")
    nothing = only(find_problems([ItemFacts(str(n), False) for n in range(12)], 3))
    assert (nothing.kind, len(nothing.keys)) == ("nothing_to_show", 12)


def test_constant_features_are_named() -> None:
    values = np.random.default_rng(0).normal(size=(12, 3))
    values[:, 1] = 7
    finding = only(find_problems(GOOD, 3, values, ["p", "q", "r"]))
    assert "1 of 3 features are the same for all items: 'q'" in finding.sentence
    assert "column 2" in only(find_problems(GOOD, 3, values)).sentence


def test_facts_come_from_the_files(read: Read) -> None:
    loud = io.BytesIO()
    wavfile.write(loud, 8_000, np.tile(np.array([32_767, -32_768], np.int16), 4_000))
    silent = io.BytesIO()
    wavfile.write(silent, 16_000, np.zeros(8_000, np.int16))
    plan = read(
        {
            "a.wav": wav(0.5),
            "again.wav": wav(0.5),
            "loud.wav": loud.getvalue(),
            "silent.wav": silent.getvalue(),
            "p.png": image(),
            "same.png": image(),
        }
    )
    shares: list[float] = []
    rows = {row.key: row for row in plan.rows}
    facts = {fact.key: fact for fact in facts_of(rows, plan.media, lambda share, _words: shares.append(share))}
    assert facts["a"].content_hash == facts["again"].content_hash != facts["loud"].content_hash
    assert facts["p"].content_hash == facts["same"].content_hash
    assert (facts["a"].seconds, facts["a"].rate, facts["silent"].rate) == (0.5, 8_000, 16_000)
    assert facts["a"].peak == pytest.approx(0.5, abs=0.01)
    assert (facts["loud"].clipped_share, facts["silent"].peak) == (1.0, 0.0)
    assert shares == [0.0]
    kinds = {finding.kind for finding in find_problems(list(facts.values()), 2)}
    assert kinds == {"silent", "clipped", "duplicates", "rates"}


def test_facts_of_a_cut_are_of_its_stretch(read: Read) -> None:
    plan = read({"rec.wav": wav(2.0), "rec.txt": "0.5\t0.75\tx\n1.0\t1.5\ty\n"})
    facts = facts_of({row.key: row for row in plan.rows}, plan.media, lambda _share, _words: None)
    assert [fact.seconds for fact in facts] == [0.25, 0.5]
