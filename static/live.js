// Keeps the page's [data-live] sections as the server would render them now: the same page is fetched and the
// sections that changed are swapped in, so that every figure has one template, on the server. What a person is
// typing, has opened or has focused stays.

let served = sections(document);
let running = null;
let again = false;
let behind = false; // a section was left as it was, because somebody was typing in it

function sections(page) {
  return new Map([...page.querySelectorAll("section[data-live]")].map((part) => [part.id, part.outerHTML]));
}

// One fetch at a time; a call during one makes one more follow it.
export function refresh() {
  if (running) {
    again = true;
    return running;
  }
  running = fetch(location.pathname + location.search, { headers: { Accept: "text/html" } })
    .then((response) => (response.ok ? response.text().then(show) : undefined))
    .finally(() => {
      running = null;
      if (again) {
        again = false;
        refresh();
      }
    });
  return running;
}

export function show(html, said = "") {
  const page = new DOMParser().parseFromString(html, "text/html");
  const fresh = sections(page);
  for (const [id, text] of fresh) {
    const part = document.getElementById(id);
    if (served.get(id) === text) continue;
    if (typingIn(part)) {
      behind = true;
      continue;
    }
    served.set(id, text);
    swap(part, document.importNode(page.getElementById(id), true));
  }
  const board = document.getElementById("board");
  if (board) board.hidden = page.getElementById("board").hidden;
  document.dispatchEvent(new CustomEvent("tercet:shown", { detail: { said } }));
}

function typingIn(part) {
  return part.contains(document.activeElement) && fieldOrItsButton(document.activeElement);
}

function fieldOrItsButton(element) {
  return element.matches("input, select, textarea") || element.closest("form")?.matches(".cluster-name");
}

function swap(old, fresh) {
  const focused = old.contains(document.activeElement) ? address(document.activeElement) : null;
  const open = [...old.querySelectorAll("details[open]")].map((details) => details.id);
  const help = old.querySelector(":popover-open")?.id;
  const scrolled = [...old.querySelectorAll(".scroll")].map((part) => [part.scrollLeft, part.scrollTop]);
  old.replaceWith(fresh);
  for (const id of open) fresh.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  if (help) fresh.querySelector(`#${CSS.escape(help)}`)?.showPopover();
  fresh.querySelectorAll(".scroll").forEach((part, k) => part.scrollTo(...(scrolled[k] ?? [0, 0])));
  if (focused) (fresh.querySelector(focused) ?? headOf(fresh)).focus();
}

// Where the focus goes when what had it is gone: not to the top of the page.
function headOf(part) {
  const head = part.querySelector("h2") ?? part;
  head.tabIndex = -1;
  return head;
}

// A selector that finds the same thing after the swap.
function address(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  if (element.form) return `form[action="${CSS.escape(element.form.getAttribute("action"))}"] ${element.localName}`;
  for (const name of ["href", "popovertarget", "data-choose", "aria-label"]) {
    if (element.hasAttribute(name)) return `[${name}="${CSS.escape(element.getAttribute(name))}"]`;
  }
  return element.tagName.toLowerCase();
}

export function catchUpAfterTyping() {
  document.addEventListener("focusout", (event) => {
    const stays = event.relatedTarget && event.target.closest("form")?.contains(event.relatedTarget);
    if (behind && !stays) {
      behind = false;
      refresh();
    }
  });
}

// Forms marked data-live are sent without leaving the page; what is wrong is said beside them.
export function sendFormsInPlace() {
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form[data-live]")) return;
    event.preventDefault();
    const problem = form.querySelector(".problem");
    const part = form.closest("section[data-live]")?.id;
    problem.textContent = "";
    const response = await send(form).catch(() => null);
    if (response?.ok) {
      document.activeElement.blur(); // typing is over, so the section may be swapped
      show(await response.text(), form.dataset.said);
      (document.querySelector(form.dataset.then) ?? document.querySelector(`#${part} h2[tabindex]`))?.focus();
    } else problem.textContent = response ? await explain(response) : "No connection: nothing was changed. Try again.";
  });
}

// "Accept: application/json" asks for errors as problem+json; a success redirects to the page itself.
function send(form) {
  return fetch(form.action, {
    method: "POST",
    body: new URLSearchParams(new FormData(form)),
    headers: { Accept: "application/json" },
  });
}

async function explain(response) {
  const { detail, errors } = await response.json();
  return [detail, ...(errors ?? []).map((error) => `${error.field}: ${error.detail}`)].join(" ");
}
