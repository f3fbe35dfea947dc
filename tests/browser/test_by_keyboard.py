"""What a mouse does on the pages, done by keys alone: where the focus goes, and that it comes back."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import LiveServer, OpenPage, assert_accessible, make_board, make_songs
from tests.browser.walking import assert_walkable

pytestmark = [pytest.mark.browser, pytest.mark.only_on("sqlite")]


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim() || document.activeElement.id"))


def tab_to(page: Page, text: str, most: int = 40) -> None:
    """Press Tab until the element with this text has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if focused(page) == text:
            return
    raise AssertionError(f"Tab does not reach {text}")


@pytest.mark.heavy
def test_items_are_walked_to_selected_moved_and_tagged(live_server: LiveServer, open_page: OpenPage) -> None:
    project, ada = make_board(live_server)
    page = open_page(ada, f"/projects/{project.key}")
    canvas, tooltip = page.locator("#map"), page.locator("#tooltip")
    expect(canvas).to_have_attribute("data-points", "30")
    canvas.focus()
    press(page, "Enter")
    expect(tooltip).to_contain_text("song")
    names = []
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        press(page, key)
        page.wait_for_timeout(50)
        names.append(tooltip.locator("strong").inner_text())
    assert len(set(names)) > 1, "arrow keys go from item to item"
    press(page, "Space", "ArrowRight", "Space")
    expect(page.locator("#item-list-title")).to_have_text("Selected: 2 items")
    expect(canvas).to_be_focused()
    press(page, "Tab")
    assert focused(page) == "Play", "what is said of the item comes right after the map"
    press(page, "Escape")
    expect(tooltip).to_be_hidden()
    expect(canvas).to_be_focused()

    tab_to(page, "Gallery")
    press(page, "Enter")
    gallery = page.get_by_role("dialog")
    expect(gallery.locator(".tile")).to_have_count(2)
    press(page, "End")
    expect(gallery.locator(".tile").nth(1)).to_have_attribute("aria-selected", "true")
    assert_accessible(page, "gallery by keyboard", schemes=("light",))
    press(page, "Escape")
    expect(gallery).to_have_count(0)
    assert focused(page) == "Gallery", "who closes a dialog is where they opened it"

    bar = page.get_by_role("toolbar")
    bar.get_by_label("Another cluster").focus()
    press(page, "ArrowDown", "ArrowDown")
    expect(bar.get_by_role("status")).to_be_empty()
    tab_to(page, "Move")
    press(page, "Enter")
    expect(bar.get_by_role("status")).to_have_text("2 items moved to cluster 2 with the next run.")
    tab_to(page, "Undo")
    press(page, "Enter")
    expect(bar.get_by_role("status")).to_have_text("Taken back.")
    expect(page.locator("#item-list-title")).to_be_focused()
    bar.get_by_label("Tag", exact=True).focus()
    page.keyboard.type("odd")
    press(page, "Enter")
    off = page.locator("#item-list").get_by_role("button", name="Take the tag odd off").first
    off.focus()
    press(page, "Enter")
    expect(bar.get_by_role("status")).to_have_text("“odd” taken off 1 item.")
    expect(page.locator("#item-list-title")).to_be_focused()
    assert_walkable(page, "a selection")


@pytest.mark.heavy
def test_dialogs_of_a_labeler_give_the_focus_back(live_server: LiveServer, open_page: OpenPage) -> None:
    project, lea = make_songs(live_server)
    page = open_page(lea, f"/projects/{project.key}/label")
    for opener in (page.get_by_role("button", name="Flag item 2 as broken"), page.locator("summary").first):
        opener.focus()
        press(page, "Enter", "Escape")
        expect(opener).to_be_focused()


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ('<button tabindex="-1">a</button>', "not reached"),
        ('<a href="#" style="outline: none">b</a>', "without a sign of the focus"),
        ('<main><div style="cursor: pointer">c</div></main>', "for the mouse alone"),
        ('<button>d</button><button tabindex="2">e</button>', "before others by a number"),
        (
            '<input type="checkbox" style="width: 0; height: 0; appearance: none; border: 0; padding: 0; margin: 0">',
            "invisible",
        ),
    ],
)
def test_the_walk_sees_what_a_page_lacks(page: Page, html: str, fault: str) -> None:
    page.set_content("<!doctype html><button>first</button><input type='radio' name='x'><input type='radio' name='x'>")
    assert_walkable(page, "a good page")
    page.set_content(f"<!doctype html><button>first</button>{html}")
    with pytest.raises(AssertionError, match=rf"'{fault}': \['"):
        assert_walkable(page, "a bad page")
