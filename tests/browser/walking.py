"""Walks over a page by the Tab key, as somebody without a mouse does, and says what that would miss."""

from typing import Any

from playwright.sync_api import Page

# Pages like that of the REST documentation repeat themselves: the first stops are enough.
MOST_STOPS = 100
# Notes each element that gets the focus, whether anything shows it, and what ends the walk.
WATCH = """
() => {
  const looks = (element) => {
    const parts = [element, ...element.querySelectorAll("*")].slice(0, 20).map((part) => getComputedStyle(part));
    return parts.map((style) => [style.outlineStyle !== "none" && style.outline, style.boxShadow, style.borderColor,
      style.backgroundColor, style.fill, style.stroke].join()).join("|");
  };
  // The way from the top: a section that is brought up to date meanwhile has others in the same places.
  const way = (element) => {
    const parent = element.parentElement;
    return parent ? `${way(parent)}/${[...parent.children].indexOf(element)}` : "";
  };
  window.walked = { looks, way, stops: [] };
  document.addEventListener("focusin", ({ target }) => {
    const box = target.getBoundingClientRect();
    const isThere = box.width > 0 && box.height > 0;
    window.walked.stops.push({ target, way: way(target), looks: looks(target), isThere });
  });
  // From the beginning of the page, not from the place that its address names.
  document.body.tabIndex = -1;
  document.body.focus();
  document.body.removeAttribute("tabindex");
  window.walked.stops = [];
}
"""
REPORT = """
() => {
  document.activeElement?.blur();
  const { looks, way, stops } = window.walked;
  const isShown = (element) =>
    element.checkVisibility({ checkVisibilityCSS: true }) && element.getClientRects().length > 0;
  const byKey = "a[href], button, input, select, textarea, summary, [tabindex]:not([tabindex='-1'])";
  const reached = new Set(stops.map((stop) => stop.way));
  // Of buttons of which one is on, arrow keys reach the others.
  const groupOf = ({ type, name, form }) => type === "radio" && `${form?.id} ${name}`;
  const groups = new Set(stops.map(({ target }) => groupOf(target)));
  groups.delete(false);
  const isReached = (element) => reached.has(way(element)) || groups.has(groupOf(element));
  const names = (elements) => elements.map((element) => element.outerHTML.slice(0, 160));
  const isPointed = (element) => element && getComputedStyle(element).cursor === "pointer";
  const all = (selector) => [...document.querySelectorAll(selector)];
  const byMouse = (e) => isShown(e) && isPointed(e) && !isPointed(e.parentElement);
  return {
    "not reached": names(all(byKey).filter((e) => isShown(e) && !e.disabled && !isReached(e))),
    "without a sign of the focus": names(stops.filter((s) => s.looks === looks(s.target)).map((s) => s.target)),
    "invisible": names(stops.filter((stop) => !stop.isThere).map((stop) => stop.target)),
    "before others by a number": names(all("[tabindex]").filter((e) => e.tabIndex > 0)),
    // But pictures of a question: buttons and keys answer as they do.
    "for the mouse alone": names(all("main *").filter(
      (e) => byMouse(e) && !e.closest(`${byKey}, label, .media`) && !e.querySelector(byKey))),
  };
}
"""


def assert_walkable(page: Page, name: str) -> None:
    """Fail unless Tab reaches everything that can be clicked, shows where it is, and leaves the page at its end."""
    page.wait_for_load_state("networkidle")  # buttons that come with pictures would be before a focus that went past
    page.evaluate(WATCH)
    count = 0
    while count < MOST_STOPS:
        for _ in range(10):
            page.keyboard.press("Tab")
        before, count = count, page.evaluate("new Set(window.walked.stops.map(({ way }) => way)).size")
        if count < before + 10:
            break
    faults: dict[str, Any] = page.evaluate(REPORT)
    if count >= MOST_STOPS:
        del faults["not reached"]
    assert not any(faults.values()), f"{name}: {faults}"
