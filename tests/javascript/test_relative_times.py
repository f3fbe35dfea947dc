"""Times as people say them, and kept true while the page stays open."""

from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def test_a_moment_in_words(page: Page) -> None:
    moments = [
        (-0.5, False, "just now"),
        (3, False, "just now"),
        (-1, False, "1 s ago"),
        (-59.9, False, "59 s ago"),
        (-60, False, "1 min ago"),
        (-3599, False, "59 min ago"),
        (-7200, False, "2 h ago"),
        (-86400 * 400, False, "400 d ago"),
        (-5, True, "now"),
        (0.9, True, "now"),
        (14.2, True, "in 14 s"),
        (90, True, "in 1 min"),
    ]
    script = """async (moments) => {
      const { relativeTime } = await import("/static/web/relative_times.js");
      return moments.map(([seconds, isDue]) => relativeTime(seconds, isDue));
    }"""
    assert page.evaluate(script, moments) == [words for *_, words in moments]


def test_times_on_the_page_stay_true_and_keep_the_exact_time(page: Page) -> None:
    page.clock.install(time=datetime(2026, 11, 23, 12, 0, 30, tzinfo=UTC))
    page.clock.pause_at(datetime(2026, 11, 23, 12, 0, 40, tzinfo=UTC))
    page.set_content("<time datetime='2026-11-23T12:00:00+00:00' data-ago>23 November 2026 12:00 UTC</time>")
    page.evaluate("async () => (await import('/static/web/relative_times.js')).keepTimesCurrent()")
    time = page.locator("time")
    assert time.inner_text() == "40 s ago"
    page.clock.run_for(20_000)
    assert time.inner_text() == "1 min ago"
    assert time.get_attribute("title") == "23 November 2026 12:00 UTC"
