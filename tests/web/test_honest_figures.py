"""No page shows a figure of answers that clusters were fitted to."""

from pathlib import Path

import pytest

TEMPLATES = Path(__file__).parents[2] / "templates"
# What a run knows of the answers that it used; alternatives read no answers, so that theirs is honest.
FITTED = {"answers_satisfied": {"alternatives/figures.html"}}


@pytest.mark.parametrize("metric", FITTED)
def test_fitted_figures_are_on_no_page(metric: str) -> None:
    pages = {path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*.html") if metric in path.read_text()}
    assert pages == FITTED[metric]
    for page in pages:
        conditions = [
            line for line in (TEMPLATES / page).read_text().splitlines() if metric in line and "{% if" in line
        ]
        assert conditions
        assert all('run.purpose == "alternative"' in line for line in conditions)
