"""What owners write in Markdown: what it becomes, and that nothing in it becomes a tag or a script."""

import re

import pytest

from tercet.web.markdown import to_html


def address(key: str) -> str:
    return f"/picture/{key}"


def test_what_is_written_becomes_html() -> None:
    html = to_html("# Buzzes\n\n**Not** the loudness:\n- one\n- two\n\nfirst\nsecond")
    assert "<h3>Buzzes</h3>" in html
    assert "<strong>Not</strong>" in html
    assert html.count("<li>") == 2
    assert re.search(r"first<br ?/?>\s*second", html)


@pytest.mark.parametrize("key", ["song-17", "song 10/30", "a&b", "über"])
def test_a_picture_is_that_of_an_item(key: str) -> None:
    html = to_html(f"![a trill](<{key}>)", address)
    assert f'<img src="/picture/{key.replace("&", "&amp;")}" alt="a trill"' in html
    assert to_html(f"![a trill](<{key}>)") == "<p>a trill</p>\n", "no pictures for who may not see them yet"


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        '![x" onerror="alert(1)](item)',
        '![x](<item" onerror="alert(1)>)',
        '[x](https://example.org/" onmouseover="alert(1))',
        '```x" onclick="alert(1)\n</code><script>\n```',
        "<style>*{display:none}</style>",
    ],
)
def test_nothing_in_it_is_run(text: str) -> None:
    html = to_html(text, address)
    tags = re.findall(r"<(\w+)([^>]*)>", html)
    assert {name for name, _ in tags} <= {"p", "a", "img", "pre", "code"}
    for _, attributes in tags:
        names = re.findall(r'([\w-]+)="[^"]*"', attributes)
        assert set(names) <= {"href", "src", "alt", "loading", "class", "title"}
        assert not re.search(r'href="\s*(?!https?:)\w+:', attributes)


def test_a_foreign_picture_is_an_item_that_is_not_there() -> None:
    html = to_html("![x](https://example.org/track.png)", lambda key: f"/picture/{key.replace('/', '%2F')}")
    assert 'src="/picture/https:%2F%2Fexample.org%2Ftrack.png"' in html
