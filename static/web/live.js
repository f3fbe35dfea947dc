// Keeps the page's [data-live] sections as the server would render them now: the same page is fetched, and the sections
// that changed are replaced, so that every figure has one template, on the server. Text that somebody is typing, open
// details and the focus stay.

import { closest, query } from "./dom.js";
import { explain } from "./problem.js";

let received = sectionsOf(document); // the HTML of each section as last received from the server, by id
/** @type {Promise<void> | null} */
let fetching = null;
let fetchAgain = false;
let isBehind = false; // whether a section was not updated because somebody was typing in it

/** @param {Document} page */
function sectionsOf(page) {
  return new Map([...page.querySelectorAll("section[data-live]")].map((section) => [section.id, section.outerHTML]));
}

/** Fetch this page and swap in what changed. One fetch at a time; a call during one makes one more follow it. */
export function refresh() {
  if (fetching) {
    fetchAgain = true;
    return fetching;
  }
  fetching = fetchPage().finally(() => {
    fetching = null;
    if (fetchAgain) {
      fetchAgain = false;
      refresh();
    }
  });
  return fetching;
}

async function fetchPage() {
  try {
    const response = await fetch(location.pathname + location.search, { headers: { Accept: "text/html" } });
    if (response.ok) show(await response.text());
  } catch {
    // There is no network: the event stream shows that, and refreshes the page when it is back.
  }
}

/**
 * Replace the sections that differ in a fetched page. Return false, and change nothing, if it is another page.
 * @param {string} html
 * @param {string} announcement what a screen reader shall be told
 */
export function show(html, announcement = "") {
  const page = new DOMParser().parseFromString(html, "text/html");
  const sections = sectionsOf(page);
  if (![...sections.keys()].some((id) => received.has(id))) return false;
  for (const [id, text] of sections) {
    const section = document.getElementById(id);
    if (!section || received.get(id) === text) continue;
    if (isTypingIn(section)) {
      isBehind = true;
      document.dispatchEvent(new CustomEvent("tercet:behind", { detail: { section: page.getElementById(id) } }));
      continue;
    }
    received.set(id, text);
    const update = /** @type {HTMLElement} */ (page.getElementById(id));
    swap(section, document.importNode(update, true));
  }
  const board = document.getElementById("board");
  if (board) board.hidden = Boolean(page.getElementById("board")?.hidden);
  document.dispatchEvent(new CustomEvent("tercet:updated", { detail: { announcement } }));
  return true;
}

/**
 * Announce to screen readers what a sent form has changed.
 * @param {HTMLElement} region
 */
export function announceUpdates(region) {
  document.addEventListener("tercet:updated", (event) => {
    const announcement = event instanceof CustomEvent ? event.detail.announcement : "";
    if (announcement) region.textContent = announcement;
  });
}

/** @param {Element} section */
function isTypingIn(section) {
  const focused = document.activeElement;
  return focused !== null && section.contains(focused) && isFieldOrItsButton(focused);
}

/** @param {Element} element */
function isFieldOrItsButton(element) {
  return element.matches("input, select, textarea") || element.closest("form")?.matches(".cluster-name");
}

/**
 * Replace a section, keeping the focus, open details, open help and scroll positions.
 * @param {HTMLElement} old
 * @param {HTMLElement} update
 */
function swap(old, update) {
  const focused = document.activeElement && old.contains(document.activeElement) ? selectorOf(document.activeElement) : "";
  const openDetails = [...old.querySelectorAll("details[open]")].map((details) => details.id);
  const openPopover = old.querySelector(":popover-open")?.id;
  const scrolled = [...old.querySelectorAll(".scroll")].map(({ scrollLeft, scrollTop }) => ({ left: scrollLeft, top: scrollTop }));
  old.replaceWith(update);
  for (const id of openDetails) update.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  if (openPopover) /** @type {HTMLElement | null} */ (update.querySelector(`#${CSS.escape(openPopover)}`))?.showPopover();
  update.querySelectorAll(".scroll").forEach((area, k) => area.scrollTo(scrolled[k] ?? { left: 0, top: 0 }));
  if (focused) (/** @type {HTMLElement | null} */ (update.querySelector(focused)) ?? headingOf(update)).focus();
}

/**
 * Return where the focus goes when the element that had it is gone, so that it does not go to the top of the page.
 * @param {HTMLElement} section
 */
function headingOf(section) {
  const heading = section.querySelector("h2") ?? section;
  heading.tabIndex = -1;
  return heading;
}

/**
 * Return a selector that matches the same element in the new section.
 * @param {Element} element
 */
function selectorOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  if ("form" in element && element.form instanceof HTMLFormElement) {
    return `form[action="${CSS.escape(element.form.getAttribute("action") ?? "")}"] ${element.localName}`;
  }
  for (const name of ["href", "popovertarget", "data-choose", "aria-label"]) {
    const value = element.getAttribute(name);
    if (value !== null) return `[${name}="${CSS.escape(value)}"]`;
  }
  return element.localName;
}

/** Refresh once a person leaves the field because of which a section was left as it was. */
export function catchUpAfterTyping() {
  document.addEventListener("focusout", (event) => {
    const form = closest(event, "form");
    const staysInForm = event.relatedTarget instanceof Node && form?.contains(event.relatedTarget);
    if (isBehind && !staysInForm) {
      isBehind = false;
      refresh();
    }
  });
}

/** Send forms marked data-live without leaving the page; what is wrong is said beside them. */
export function sendFormsInPlace() {
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!(form instanceof HTMLFormElement) || !form.matches("form[data-live]")) return;
    event.preventDefault();
    sendInPlace(form);
  });
}

/** @param {HTMLFormElement} form */
async function sendInPlace(form) {
  const problem = query(form, ".problem");
  const section = form.closest("section[data-live]")?.id;
  problem.textContent = "";
  const response = await send(form).catch(() => null);
  const html = response?.ok ? await response.text().catch(() => null) : null;
  if (html !== null && document.activeElement instanceof HTMLElement) {
    document.activeElement.blur(); // typing is over, so the section may be replaced
  }
  if (html !== null && show(html, form.dataset.announce)) {
    const focus = form.dataset.focus ? document.querySelector(form.dataset.focus) : null;
    const target = focus ?? document.querySelector(`#${section} h2[tabindex]`);
    if (target instanceof HTMLElement) target.focus();
  } else if (!response) problem.textContent = "No connection: nothing was changed. Try again.";
  else if (!response.ok) problem.textContent = await explain(response);
  else problem.textContent = "The server's response was incomplete: reload the page to see whether this was saved.";
}

/**
 * "Accept: application/json" asks for errors as problem+json; a success redirects to the page itself.
 * @param {HTMLFormElement} form
 */
function send(form) {
  const fields = [...new FormData(form)].map(([name, value]) => [name, String(value)]);
  return fetch(form.action, { method: "POST", body: new URLSearchParams(fields), headers: { Accept: "application/json" } });
}
