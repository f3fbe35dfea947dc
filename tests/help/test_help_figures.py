"""The help page "Which system when" and the kept results cannot drift apart: every figure is tied to its file."""

import html
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tercet.worker.outputs.first_clusters import EARNED
from tercet_algorithms.bags.graph import MOST_DENSE
from tercet_algorithms.common.kernels import MOST_EXACT

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
# A mean with three digits or two dashes for none; what follows ± or has no digit before its point is an error.
MEAN = re.compile(r"(?<![±\d.])-?\d+\.\d+|(?<= )-(?= |$)")
ROUNDED = 0.0051  # two digits are shown of three


@dataclass(frozen=True)
class Block:
    """A table of a file of results: the first one under a title."""

    file: str
    title: str
    columns: tuple[str, ...]
    per_column: int = 1  # means in a cell

    @property
    def lines(self) -> list[str]:
        """Its lines, the line of the columns first."""
        sections = (RESULTS / self.file).read_text().split(f"\n{self.title}\n")
        assert len(sections) > 1, f"{self.file} has no table '{self.title}'"
        return sections[1].split("\n\n")[0].splitlines()

    def __getitem__(self, place: tuple[str, str] | tuple[str, str, int]) -> float:
        """The mean in a row and a column, the first one or another."""
        row, column, number = (*place, 0)[:3]
        head, *rows = self.lines
        assert head.split() == " ".join(self.columns).split(), f"{self.file}, {self.title}: other columns"
        [line] = [line for line in rows if line.startswith(f"{row}  ")]
        means = MEAN.findall(line.removeprefix(row))
        assert len(means) == len(self.columns) * self.per_column, line
        return float(means[self.columns.index(column) * self.per_column + number])


SMALL = Block(
    "papers_dcrc.txt",
    "MEAN of the 7 small data sets",
    ("none", "0.05N", "0.1N", "0.2N", "0.3N", "people 0.1N", "people 0.3N"),
)
GROUPS, CLASSES = (
    Block("papers_sklr.txt", f"digits, questions: mixed, compared: {what} of mixed", ("none", "m 864", "m 1872"))
    for what in ("two groups", "classes")
)
SONGS = Block("bag_start.txt", "birdsong_hja", ("0", "100", "300", "300 suggested"))
OTHERS = Block(
    "papers_cmbc.txt",
    "OTHER SETS, NMI WITH THE TARGET / WITH THE KNOWN CLUSTERING",
    (
        *("CMBC", "CMBC, joint bound", "regress out, raw", "regress out", "orthogonal projection"),
        *("k-means", "EM"),
    ),
    per_column=2,
)
NONE = None
SETS = ("digit pairs", "Gaussians")
# The tables of the page by their sections: rows as they are named there, a figure or several for each cell.
TABLES = {
    "dcrc": {
        "DCRC": [SMALL["DCRC", column] for column in ("none", "0.1N", "0.3N", "people 0.3N")],
        "K-means": [SMALL["K-means", "none"], NONE, NONE, NONE],
        "ITML, which learns a distance": [
            NONE,
            *(SMALL["ITML 1", column] for column in ("0.1N", "0.3N", "people 0.3N")),
        ],
    },
    "dcrc-cv": {
        "DCRC, chosen": [SMALL["DCRCCV", column] for column in ("0.1N", "0.3N")],
        "DCRC": [SMALL["DCRC", column] for column in ("0.1N", "0.3N")],
    },
    "sklr": {
        "SKLR, one fit for both": [block["SKLR", "m 1872"] for block in (GROUPS, CLASSES)],
        "DCRC, a fit for each": [block["DCRC", "m 1872"] for block in (GROUPS, CLASSES)],
        "features alone": [block["kernel k-means", "none"] for block in (GROUPS, CLASSES)],
    },
    "bags": {
        "DCRC with bag labels": [SONGS["one objective", column] for column in ("0", "300", "300 suggested")],
        "DCRC without": [*(SONGS["answers alone", column] for column in ("0", "300")), NONE],
        "spectral, links": [SONGS["links, then answers", "0"], NONE, NONE],
        "spectral, bag": [SONGS["spectral, then answers", "0"], NONE, NONE],
    },
    "cmbc": {
        row: [(OTHERS[data, column], OTHERS[data, column, 1]) for data in SETS]
        for row, column in (("CMBC", "CMBC"), ("regress-out", "regress out"), ("K-means, without", "k-means"))
    },
}


def only(file: str, pattern: str) -> list[float]:
    """The figures of the one line of a file that a pattern fits."""
    [figure] = re.findall(pattern, (RESULTS / file).read_text(), re.MULTILINE)
    return [float(figure) for figure in ([figure] if isinstance(figure, str) else figure)]


@pytest.fixture
def help_page(anonymous: TestClient) -> str:
    return anonymous.get("/help/systems").text


def section(page: str, name: str) -> str:
    return page.split(f'<section id="{name}">')[1].split("</section>")[0]


def words(markup: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", markup)))


def table_of(part: str) -> dict[str, list[str]]:
    """The rows of a section's example."""
    rows = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', part.split('class="example"')[1], re.DOTALL)
    return {html.unescape(name): re.findall(r'<td class="number">(.*?)</td>', cells) for name, cells in rows}


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_is_the_kept_result(help_page: str, name: str) -> None:
    on_page, in_results = table_of(section(help_page, name)), TABLES[name]
    assert list(on_page) == list(in_results)
    for row, cells in on_page.items():
        for cell, figure in zip(cells, in_results[row], strict=True):
            if figure is NONE:
                assert cell == "–"
                continue
            figures = figure if isinstance(figure, tuple) else (figure,)
            assert [float(part) for part in cell.split(", ")] == pytest.approx(figures, abs=ROUNDED), (name, row)


def test_every_example_is_tied(help_page: str) -> None:
    assert help_page.count('class="example"') == len(TABLES)
    for number, name in ((7, "dcrc"), (7, "dcrc-cv")):
        assert f"MEAN of the {number} small data sets" in (RESULTS / "papers_dcrc.txt").read_text()
        assert "Seven small data sets" in section(help_page, name)
    assert "1,872 answers" in section(help_page, "sklr")
    assert SONGS.lines[-1] == "20 runs a cell"
    assert "4,998 syllables of 548 recordings" in section(help_page, "bags")
    assert "means of 20 runs" in section(help_page, "bags")
    for command in re.findall(r"<code>(python -m .*?)</code>", help_page):
        last = command.removeprefix("python -m benchmarks.").replace(" ", "_")
        assert (RESULTS / f"{last}.txt").read_text().startswith(command)


def test_every_figure_in_the_text_is_tied(help_page: str) -> None:
    """Those of speed and memory to the files, limits to the code; one that is named nowhere here fails."""
    text = words(re.sub(r"<table class=\"example\">.*?</table>", "", help_page.split("<main")[1], flags=re.DOTALL))
    items, features, clusters = only("estimators.txt", r"^DCRC on (\d+) songs, (\d+) features, (\d+) clusters")
    assert f"With {items:,.0f} songs, {features:.0f} features and {clusters:.0f} clusters a first fit takes" in text
    [k_means], [starts], [default] = (
        only("estimators.txt", rf"^{row} +([\d.]+) ")
        for row in (r"KMeans\(n_init=10\)", "cold fit, 10 starts", "the default: 10 starts, 10 moves")
    )
    assert "one to three seconds on one core" in text
    assert 1_000 <= starts <= default <= 3_000, "milliseconds"
    refits = re.findall(r"mean of refits after ten answers: ([\d.]+)", (RESULTS / "refits.txt").read_text())
    assert "a fit after ten more answers less than one" in text
    assert max(map(float, refits)) * k_means < 1_000, "milliseconds"
    assert "with a million items and a single start it takes about as long as one run of K-means" in text
    assert only("large.txt", r"^DCRC / K-means: ([\d.]+) of its time")[0] <= 1.5
    graph, fit, memory = only("bags_large.txt", r"^ +50000 neighbours +both +([\d.]+) +([\d.]+) +([\d.]+) ")
    assert f"50,000 items it takes about {graph:.0f} s to find them and {fit:.0f} s more, in {memory:.1f} GB" in text
    assert f"it compares all pairs for up to {MOST_DENSE:,} items" in text
    assert f"rbf, for curved borders, is for up to {MOST_EXACT:,} items" in text
    assert f"until new answers have been {EARNED:,.0f} times as probable by the fit’s clusters" in text
    advice = {"100,000", "5,000"}  # where rules of thumb end
    assert "SKLR takes a few seconds for 5,000 items" in text
    parts = only("estimators.txt", r"^n = 5000 +([\d.]+) +[\d.]+ +[\d.]+ +([\d.]+) +([\d.]+)$")
    assert sum(parts) < 5_000, "milliseconds for the kernel, learning and one start of K-means"
    tied = {f"{items:,.0f}", f"{features:.0f}", f"{clusters:.0f}", "50,000"}
    tied |= {f"{graph:.0f}", f"{fit:.0f}", f"{memory:.1f}", f"{MOST_DENSE:,}", f"{MOST_EXACT:,}", f"{EARNED:,.0f}"}
    assert set(re.findall(r"\d[\d,.]*\d|\d", text)) == tied | advice
