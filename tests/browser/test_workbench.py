"""The cluster workbench: what is selected is moved, kept and thrown out, in the list and in the gallery, and undone."""

import numpy as np
import pytest
from playwright.sync_api import expect
from sqlalchemy import select

from tercet.models import Edit, Link
from tests.browser.conftest import LiveServer, OpenPage, assert_accessible
from tests.browser.test_dashboard import AFTER, finish_run, open_board, place_of_item

pytestmark = pytest.mark.browser


def edits_of(live: LiveServer, project: int) -> list[tuple[str, int, int | None, bool]]:
    """Kind, number of items, cluster and whether it counts of every edit, oldest first."""
    with live.database.reading() as session:
        rows = session.scalars(select(Edit).where(Edit.project_id == project).order_by(Edit.id))
        return [(edit.kind, edit.items, edit.cluster, edit.reverted_at is None) for edit in rows]


def test_items_are_selected_one_by_one_moved_and_the_move_is_undone(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    project, page = open_board(live_server, open_page)
    for position in (2, 15, 7, 15):  # the second time takes it out again
        page.keyboard.down("Shift")
        page.mouse.click(*place_of_item(page, position))
        page.keyboard.up("Shift")
        expect(page.locator("#item-list-title")).to_contain_text("Selected")
    expect(page.locator("#item-list-title")).to_have_text("Selected: 2 items")
    assert_accessible(page, "selection", schemes=("light",))
    bar = page.get_by_role("toolbar")
    bar.get_by_role("button", name="Move").click()
    expect(bar).to_contain_text("Choose the other cluster first.")
    expect(bar.get_by_label("Another cluster")).to_be_focused()
    bar.get_by_label("Another cluster").select_option("2")
    bar.get_by_role("button", name="Move").click()
    expect(bar).to_contain_text("2 items moved to cluster 2 with the next run.")
    assert edits_of(live_server, project.id) == [("move", 2, 2, True)]
    with live_server.database.reading() as session:
        links = session.scalars(select(Link).where(Link.project_id == project.id)).all()
    assert len(links) == 2 * (5 + 2)
    assert sum(link.alike for link in links) == 10
    bar.get_by_role("button", name="Undo").click()
    expect(bar).to_contain_text("Taken back.")
    bar.get_by_role("button", name="Belong together").click()
    expect(bar).to_contain_text("2 items in one cluster with the next run.")
    bar.get_by_role("button", name="Split off").click()
    expect(bar).to_contain_text("2 items split off with the next run.")
    with page.expect_download() as download:
        bar.get_by_role("button", name="Export").click()
    rows = download.value.path().read_text().splitlines()
    assert rows[0] == "item,cluster,confidence,tags"
    assert sorted(row.split(",")[0] for row in rows[1:]) == ['"song 3/30"', '"song 8/30"']

    page.goto(f"/projects/{project.key}/answers")
    log = page.locator("#edits li")
    expect(log).to_have_count(3)
    expect(log.nth(0)).to_contain_text("split 2 items off 1")
    expect(log.nth(2)).to_contain_text("Taken back")
    log.nth(1).get_by_role("button", name="Take back").click()
    expect(log.nth(1)).to_contain_text("Taken back")
    counts = [("move", 2, 2, False), ("together", 2, None, False), ("split", 2, None, True)]
    assert edits_of(live_server, project.id) == counts


@pytest.mark.heavy
def test_a_tag_is_put_on_a_selection_filtered_by_and_taken_off_one_item(
    live_server: LiveServer, open_page: OpenPage
) -> None:
    _, page = open_board(live_server, open_page)
    page.locator('[data-list="2"]').click()
    bar = page.get_by_role("toolbar")
    bar.get_by_label("Tag").fill("check")
    bar.get_by_label("Tag").press("Enter")
    expect(bar).to_contain_text("“check” put on 12 items.")
    chips = page.locator("#filter .filter-chip")
    expect(chips).to_have_text("check 12")
    rows = page.locator("#item-list tbody tr")
    rows.nth(0).get_by_role("button", name="Take the tag check off").click()
    expect(chips).to_have_text("check 11")
    chips.click()
    expect(page.locator("#map")).to_have_attribute("data-passing", "11")
    page.locator('[data-list="2"]').click()
    expect(rows).to_have_count(11)
    assert_accessible(page, "tagged")
    bar.get_by_label("Tag").fill("check")
    bar.get_by_role("button", name="Untag").click()
    expect(bar).to_contain_text("“check” taken off 11 items.")
    bar.get_by_role("button", name="Undo").click()
    expect(chips.last).to_have_text("check 11")


@pytest.mark.heavy
def test_a_selection_stays_when_a_new_run_comes(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_board(live_server, open_page)
    page.locator('[data-list="2"]').click()
    rows = page.locator("#item-list tbody tr")
    expect(rows).to_have_count(12)
    keys = page.locator("#item-list tbody th").all_inner_texts()
    page.get_by_role("toolbar").get_by_label("Another cluster").select_option("3")
    page.get_by_role("toolbar").get_by_role("button", name="Move").click()
    expect(page.get_by_role("toolbar")).to_contain_text("12 items moved to cluster 3 with the next run.")
    page.locator("#item-list-title").focus()
    finish_run(live_server, project, 3, AFTER)  # run 2 is queued, because of the move
    expect(page.locator("#item-list-title")).to_have_text("Cluster 2 before run 3: 12 items")
    expect(page.locator("#item-list-title")).to_be_focused()
    assert page.locator("#item-list tbody th").all_inner_texts() == keys, "the order stays"
    clusters = [AFTER[int(key.split()[1].split("/")[0]) - 1] for key in keys]
    assert page.locator("#item-list tbody td:nth-child(3)").all_inner_texts() == [str(cluster) for cluster in clusters]
    assert len(set(clusters)) > 1, "the run has moved some"
    expect(page.get_by_role("toolbar")).to_contain_text("12 items moved to cluster 3 with the next run.")
    expect(page.get_by_role("toolbar").get_by_role("button", name="Undo")).to_be_visible()


def test_the_gallery_walks_keeps_throws_out_and_moves_by_key(live_server: LiveServer, open_page: OpenPage) -> None:
    project, page = open_board(live_server, open_page)
    page.locator('[data-list="2"]').click()
    page.get_by_role("button", name="Gallery").click()
    gallery = page.get_by_role("dialog")
    options = gallery.locator(".tile")
    expect(options).to_have_count(12)
    confidence = np.linspace(0.4, 0.9, 30).round(2)
    assert options.nth(0).inner_text().split()[-1] == f"{confidence[21]:.2f}", "the most typical is first"
    expect(options.nth(11)).to_be_in_viewport(ratio=1)
    assert options.nth(0).locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 200
    page.keyboard.press("ArrowRight")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("x")
    expect(options.nth(1)).to_contain_text("thrown out")
    expect(options.nth(2)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("k")
    expect(options.nth(2)).to_contain_text("kept")
    page.keyboard.press("t")
    expect(options.nth(3)).to_contain_text("typical")
    expect(gallery.get_by_role("status")).to_contain_text("1 item called typical")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("m")
    expect(gallery.get_by_role("status")).to_have_text("Choose above which cluster it moves to.")
    gallery.get_by_label("Move to").select_option("3")
    gallery.get_by_role("button", name="M Move").click()
    expect(options.nth(3)).to_contain_text("moved to 3")
    page.keyboard.press("u")
    expect(gallery.get_by_role("status")).to_have_text("Taken back.")
    assert_accessible(page, "gallery")
    gallery.get_by_label("Order").select_option("doubt")
    expect(options.nth(0)).to_contain_text(f"{confidence[10]:.2f}")
    width = options.nth(0).evaluate("tile => tile.clientWidth")
    page.keyboard.press("Escape")
    expect(gallery).to_have_count(0)
    page.locator('[data-list="3"]').click()
    page.get_by_role("button", name="Gallery").click()
    assert options.nth(0).evaluate("tile => tile.clientWidth") > 1.2 * width, "few items are larger"
    page.keyboard.press("Escape")
    kinds = [("out", 1, None, True), ("keep", 1, None, True), ("typical", 1, None, False), ("move", 1, 3, False)]
    assert edits_of(live_server, project.id) == kinds
