// Which key does what. The page identifies an action by its default key, in `data-key` of the element that shows it.
// Labelers may choose other keys in the help panel; the browser keeps them for all projects with the same kind of
// question.

import { byId, closest, createElement } from "../web/dom.js";
import { say } from "../web/words.js";

const STORED = "tercet-keys-";
const UNCHANGED = ["?", " "]; // opens this help, plays all

export class Keys {
  /** @type {Map<string, string>} the chosen key of each that has another than at first */
  #chosen = new Map();
  /** @type {HTMLButtonElement | null} what is to get the key that is pressed next */
  #waiting = null;
  #change = byId("change-keys");
  #reset = byId("reset-keys");
  #message = byId("keys-message");
  #list = byId("keys");

  /** @param {string} kind the kind of question, which decides which keys there are */
  constructor(kind) {
    this.stored = STORED + kind;
    try {
      /** @type {unknown} */
      const pairs = JSON.parse(localStorage.getItem(this.stored) ?? "[]");
      if (Array.isArray(pairs)) this.#chosen = new Map(pairs.filter(([name]) => this.#names.includes(name)));
    } catch {
      // Without storage the keys are those at first.
    }
    this.#change.addEventListener("click", () => this.#turn(this.#change.getAttribute("aria-pressed") !== "true"));
    this.#reset.addEventListener("click", () => {
      this.#chosen.clear();
      this.#keep(say("All keys are as they were at first."));
    });
    this.#list.addEventListener("click", (event) => this.#ask(closest(event, "button")));
    const help = byId("help", HTMLDetailsElement);
    help.addEventListener("toggle", () => help.open || this.#turn(false));
    document.addEventListener("keydown", (event) => this.#take(event), true);
    this.#show();
  }

  /** Return by which character the page knows the pressed key, or nothing where it does nothing. @param {KeyboardEvent} event */
  of(event) {
    const pressed = event.key.toLowerCase();
    for (const [name, key] of this.#chosen) if (key === pressed) return name;
    return this.#chosen.has(pressed) ? "" : pressed;
  }

  get #names() {
    return [...this.#list.querySelectorAll("kbd")].flatMap((shown) => shown.dataset.key ?? []);
  }

  /** @param {string} name */
  #keyOf(name) {
    return this.#chosen.get(name) ?? name;
  }

  /** Make keys of the list buttons, or plain again. @param {boolean} isOn */
  #turn(isOn) {
    this.#waiting = null;
    this.#change.setAttribute("aria-pressed", String(isOn));
    for (const shown of this.#list.querySelectorAll("kbd[data-key]")) {
      if (isOn) {
        const button = createElement("button", { type: "button", className: "key" });
        shown.replaceWith(button);
        button.append(shown);
      } else shown.closest("button")?.replaceWith(shown);
    }
    this.#show(isOn ? say("Choose what should get another key.") : "");
  }

  /** Wait for the key that something should get. @param {HTMLElement | null} button */
  #ask(button) {
    if (!(button instanceof HTMLButtonElement)) return;
    this.#waiting = button;
    this.#show(say("Press the new key for “{what}”, or Escape.", { what: described(button) }));
  }

  /** @param {KeyboardEvent} event */
  #take(event) {
    const button = this.#waiting;
    if (!button || ["Tab", "Shift", "AltGraph"].includes(event.key) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const key = event.key.toLowerCase();
    if (key === "escape") {
      this.#waiting = null;
      this.#show(say("Choose what should get another key."));
    } else if (key.length > 1 || UNCHANGED.includes(key)) {
      this.#show(say("This key cannot be chosen: take a letter, a digit or a sign."));
    } else {
      this.#waiting = null;
      this.#choose(button.querySelector("kbd")?.dataset.key ?? "", key);
      this.#keep(say("{key} is the key for “{what}” now.", { key: key.toUpperCase(), what: described(button) }));
    }
  }

  /** Give a key to something; what had it before gets the one that becomes free. @param {string} name @param {string} key */
  #choose(name, key) {
    const before = this.#keyOf(name);
    const holder = this.#names.find((other) => this.#keyOf(other) === key);
    if (holder) this.#chosen.set(holder, before);
    this.#chosen.set(name, key);
    for (const [known, chosen] of this.#chosen) if (known === chosen) this.#chosen.delete(known);
  }

  /** @param {string} message */
  #keep(message) {
    this.#show(message);
    try {
      localStorage.setItem(this.stored, JSON.stringify([...this.#chosen]));
    } catch {
      // Without storage they hold for this page.
    }
  }

  #show(message = "") {
    for (const shown of document.querySelectorAll("kbd")) {
      if (!shown.dataset.key) continue;
      shown.textContent = this.#keyOf(shown.dataset.key).toUpperCase();
      shown.parentElement?.toggleAttribute("data-waiting", shown.parentElement === this.#waiting);
    }
    this.#message.textContent = message;
    this.#message.hidden = !message;
    this.#reset.hidden = !message || !this.#chosen.size;
  }
}

/** Return what the key of a button of the list does. @param {HTMLElement} button */
function described(button) {
  return button.closest("dt")?.nextElementSibling?.textContent ?? "";
}
