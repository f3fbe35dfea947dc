"""Elements as their types: what is missing or of another type is named in the error."""

import pytest
from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.one_page]


@pytest.mark.parametrize(
    ("script", "result"),
    [
        ("dom.byId('save').textContent", "Save"),
        ("dom.byId('save', HTMLButtonElement).type", "submit"),
        ("dom.byId('gone')", "the page has no HTMLElement #gone"),
        ("dom.byId('save', HTMLInputElement)", "the page has no HTMLInputElement #save"),
        ("dom.query(document, 'form button').id", "save"),
        ("dom.query(document, 'form input')", "the page has no HTMLElement form input"),
        (
            "dom.createElement('p', { id: 'a' }, 'b', dom.createElement('i')).outerHTML",
            '<p id="a">b<i></i></p>',
        ),
    ],
)
def test_elements(page: Page, script: str, result: str) -> None:
    page.set_content("<form><button id='save'>Save</button></form>")
    code = f"""async () => {{
      const dom = await import("/static/web/dom.js");
      try {{ return {script} }} catch (error) {{ return error.message }}
    }}"""
    assert page.evaluate(code) == result
