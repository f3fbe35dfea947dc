// The outbox: answers that the server has not acknowledged yet. Each is in localStorage under its own key until then, so
// that neither a reload nor a lost network nor a second tab can lose one. They are sent one after the other in their
// order; the server recognises an answer by its id, so an answer that is sent twice is stored once.
//
// What was sent stays for a minute, and from then on until a page next sends something or opens: while a page is loading,
// the one before it or another tab may send answers that the server did not know when it wrote the page, and without them
// the page would ask their questions again.

import { local } from "../web/address.js";
import { PROGRESS, SENT } from "../web/kept.js";
import { readBody, readProblem } from "../web/problem.js";
import { say } from "../web/words.js";

/** @typedef {import("./preload.js").Question} Question */

/**
 * @typedef {Pick<Question, "triplet" | "items"> & { kind: "answer", id: string, answer: string, response_ms: number | null,
 *   comment?: string }} AnswerEntry
 * @typedef {Pick<Question, "triplet" | "items"> & { kind: "skip", answer: "skip" }} SkipEntry
 * @typedef {{ kind: "withdraw", id: string }} WithdrawEntry
 * @typedef {Pick<Question, "triplet" | "items"> & { kind: "flag", answer: "flag" } & import("./notes.js").Flag} FlagEntry
 * @typedef {{ kind: "unflag", item: string }} UnflagEntry
 * @typedef {{ kind: "comment", id: string, comment: string }} CommentEntry
 * @typedef {AnswerEntry | SkipEntry | FlagEntry} SettlingEntry an entry that settles a question
 * @typedef {SettlingEntry | WithdrawEntry | UnflagEntry | CommentEntry} Entry
 */

/**
 * The outcome of a request: the response if the entry was stored, why it is refused for good, or why to try again.
 * @typedef {{ body: any } | { refusal: string } | { trouble: string, retryAfter?: number }} Outcome
 */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const LONGEST_RETRY_AFTER = 300_000; // however long a Retry-After asks to wait
const SENT_STAYS = 60_000;
const NO_NETWORK = "no network";

// Statuses of the server that are the same at every attempt. After any other the request is repeated: a proxy's page,
// 401, which ends with a new sign-in, 408 and 429, which end after a while.
const FINAL = new Set([400, 403, 404, 409, 422]);
const TAKING_BACK = new Set(["withdraw", "unflag"]);

export class Outbox {
  #prefix;
  #sentPrefix;
  #progressKey;
  #troubleKey;
  #base;
  #storage;
  /** @type {{ key: string, entry: Entry }[]} */
  #pending;
  #added = 0;
  #isSending = false;
  #wake = () => {};

  /**
   * `onChange()` is called after every change of `waiting` or `trouble`; `onSettled(entry, body)` once the server has
   * stored an entry, with the response's body, or has refused it for good, with null; `onOther(entry)` when another tab
   * has added one, `onElsewhere()` when another tab has sent some, and `onProgress(progress)` when another tab knows
   * one that counts all answers. `ask()` is how many questions are to come with the response to an answer.
   * @param {{ project: string, user: string, onChange: () => void, onSettled: (entry: Entry, body: any) => void,
   *   onOther?: (entry: Entry) => void, onElsewhere?: () => void, onProgress?: (progress: any) => void,
   *   ask?: () => number }} options
   */
  constructor({
    project,
    user,
    onChange,
    onSettled,
    onOther = () => {},
    onElsewhere = () => {},
    onProgress = () => {},
    ask = () => 0,
  }) {
    this.#prefix = `tercet-outbox/${project}/${user}/`;
    this.#sentPrefix = `${SENT}${project}/${user}/`;
    this.#progressKey = `${PROGRESS}${project}/${user}`;
    this.#troubleKey = `tercet-outbox-trouble/${project}/${user}`;
    this.#base = local(`/api/v1/projects/${encodeURIComponent(project)}`);
    this.onChange = onChange;
    this.onSettled = onSettled;
    this.onOther = onOther;
    this.onElsewhere = onElsewhere;
    this.onProgress = onProgress;
    this.ask = ask;
    this.trouble = "";
    /** @type {string[]} */
    this.refusals = [];
    this.#storage = openStorage();
    this.isStored = this.#storage !== null;
    this.#pending = this.#load(this.#prefix);
    this.#dropOldSent();
    window.addEventListener("online", () => {
      if (this.isOffline) this.#wake();
    });
    window.addEventListener("storage", (event) => this.#followOtherTab(event));
    window.addEventListener("beforeunload", (event) => {
      if (!this.isStored && this.waiting) event.preventDefault();
    });
  }

  /** The number of entries that the server has not acknowledged. */
  get waiting() {
    return this.#pending.length;
  }

  /** Whether the last attempt found no network. */
  get isOffline() {
    return this.trouble === NO_NETWORK;
  }

  /** Whether an answer is about to be sent, with whose response questions come. */
  get isAsking() {
    return !this.trouble && this.#pending.some(({ entry }) => entry.kind === "answer");
  }

  get entries() {
    return this.#pending.map(({ entry }) => entry);
  }

  /**
   * The entries that were sent since a time of the last minute, from any tab.
   * @param {number} time
   */
  sentSince(time) {
    const sent = this.#load(this.#sentPrefix);
    return sent.filter(({ key }) => timeOf(key, this.#sentPrefix) >= time).map(({ entry }) => entry);
  }

  /**
   * Tell the other tabs a progress that counts all answers of this browser.
   * @param {unknown} progress
   */
  tellProgress(progress) {
    try {
      // With the time, since tabs are told only of what changes.
      this.#storage?.setItem(this.#progressKey, JSON.stringify({ at: Date.now(), progress }));
    } catch {
      // Storage is full: they count by themselves.
    }
  }

  /** @param {Entry} entry */
  add(entry) {
    const key = this.#newKey(this.#prefix);
    try {
      this.#storage?.setItem(key, JSON.stringify(entry));
    } catch {
      this.isStored = false; // storage is full: it is sent from memory, and the browser asks before leaving the page
    }
    this.#pending.push({ key, entry });
    this.onChange();
    this.send();
  }

  /**
   * Return a new key. Keys sort in the order of their entries, and are unique even if the clock is coarse or another
   * window is open.
   * @param {string} prefix
   */
  #newKey(prefix) {
    this.#added += 1;
    return `${prefix}${String(Date.now()).padStart(15, "0")}-${String(this.#added).padStart(6, "0")}-${newId()}`;
  }

  /** Send the pending entries, one after the other, until there are none; of several tabs one sends. */
  async send() {
    if (this.#isSending) return;
    this.#isSending = true;
    try {
      if ("locks" in navigator) await navigator.locks.request(this.#prefix, () => this.#sendAll());
      else await this.#sendAll();
    } finally {
      this.#isSending = false;
    }
    if (this.waiting) this.send(); // added after the last one was sent
  }

  async #sendAll() {
    let wait = FIRST_WAIT;
    while (this.#pending.length) {
      const { key, entry } = this.#pending[0];
      if (this.isStored && this.#storage?.getItem(key) === null) {
        this.#pending.shift(); // another tab has sent it
        this.onElsewhere();
      } else {
        const outcome = await this.#post(entry);
        this.#setTrouble("trouble" in outcome ? outcome.trouble : "");
        if ("trouble" in outcome) {
          this.onChange();
          await this.#pause(Math.max(wait, outcome.retryAfter ?? 0));
          wait = Math.min(2 * wait, LONGEST_WAIT);
        } else {
          wait = FIRST_WAIT;
          this.#pending = this.#pending.filter((other) => other.key !== key);
          if ("body" in outcome) this.#keepSent(entry);
          this.#storage?.removeItem(key);
          if ("refusal" in outcome && outcome.refusal) this.refusals.push(outcome.refusal);
          this.onSettled(entry, "body" in outcome ? outcome.body : null);
        }
      }
      this.onChange();
    }
  }

  /** @param {Entry} entry */
  #keepSent(entry) {
    this.#dropOldSent();
    try {
      this.#storage?.setItem(this.#newKey(this.#sentPrefix), JSON.stringify(entry));
    } catch {
      // Storage is full: a page that is loading may ask a question again.
    }
  }

  #dropOldSent() {
    const old = Date.now() - SENT_STAYS;
    for (const { key } of this.#load(this.#sentPrefix)) {
      if (timeOf(key, this.#sentPrefix) < old) this.#storage?.removeItem(key);
    }
  }

  /** @param {string} trouble */
  #setTrouble(trouble) {
    this.trouble = trouble;
    try {
      // For the other tabs.
      if (trouble) this.#storage?.setItem(this.#troubleKey, trouble);
      else this.#storage?.removeItem(this.#troubleKey);
    } catch {
      // They say that they are saving.
    }
  }

  /**
   * Take in what another tab has added or sent, and what stops it.
   * @param {StorageEvent} event
   */
  #followOtherTab({ key, newValue }) {
    if (key === this.#troubleKey) {
      this.trouble = newValue ?? "";
    } else if (key === this.#progressKey) {
      if (newValue && !this.waiting) this.onProgress(JSON.parse(newValue).progress);
    } else if (!key?.startsWith(this.#prefix)) {
      return;
    } else if (newValue === null) {
      this.#pending = this.#pending.filter((other) => other.key !== key);
      this.onElsewhere();
    } else if (!this.#pending.some((other) => other.key === key)) {
      const entry = JSON.parse(newValue);
      this.#pending.push({ key, entry });
      this.onOther(entry);
      if (this.isOffline) this.#wake();
      this.send();
    }
    this.onChange();
  }

  /**
   * @param {Entry} entry
   * @returns {Promise<Outcome>}
   */
  async #post(entry) {
    const { method, path, body } = requestOf(entry, this.ask);
    let response;
    try {
      response = await fetch(this.#base + path, {
        method,
        headers: { "content-type": "application/json" },
        body: body && JSON.stringify(body),
        keepalive: true,
      });
    } catch {
      return { trouble: NO_NETWORK };
    }
    if (response.ok) {
      const stored = await readBody(response);
      return stored ? { body: stored } : { trouble: troubleOf(response.status) };
    }
    const problem = await readProblem(response);
    if (!problem || !FINAL.has(response.status)) {
      return { trouble: troubleOf(response.status), retryAfter: retryAfter(response) };
    }
    // The answer was withdrawn before, or never stored: there is nothing to take back.
    return { refusal: TAKING_BACK.has(entry.kind) ? "" : problem.detail };
  }

  /** @param {number} milliseconds */
  #pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
  }

  /** @param {string} prefix */
  #load(prefix) {
    const storage = this.#storage;
    if (!storage) return [];
    const keys = Object.keys(storage).filter((key) => key.startsWith(prefix));
    return keys.sort().map((key) => ({ key, entry: JSON.parse(storage.getItem(key) ?? "") }));
  }
}

function openStorage() {
  try {
    return window.localStorage;
  } catch {
    return null; // disabled in the browser's settings
  }
}

/**
 * Return when an entry was added, in milliseconds.
 * @param {string} key
 * @param {string} prefix
 */
function timeOf(key, prefix) {
  return Number(key.slice(prefix.length).split("-")[0]);
}

/**
 * @param {Entry} entry
 * @param {() => number} ask
 */
function requestOf(entry, ask) {
  if (entry.kind === "withdraw") return { method: "DELETE", path: `/answers/${entry.id}` };
  if (entry.kind === "skip") return { method: "POST", path: "/skips", body: { triplet: entry.triplet } };
  if (entry.kind === "unflag") return { method: "DELETE", path: `/flags/${encodeURIComponent(entry.item)}` };
  if (entry.kind === "flag") {
    return { method: "POST", path: "/flags", body: { item: entry.item, reason: entry.reason, note: entry.note } };
  }
  if (entry.kind === "comment") {
    return { method: "PUT", path: `/answers/${entry.id}/comment`, body: { comment: entry.comment } };
  }
  const { id, triplet, answer, response_ms } = entry;
  const asked = ask();
  return { method: "POST", path: `/answers${asked ? `?ask=${asked}` : ""}`, body: { id, triplet, answer, response_ms } };
}

/** @param {number} status */
function troubleOf(status) {
  if (status === 401) return say("you are signed out");
  if (status === 429 || status >= 500) return say("the server is busy");
  return say("something between here and the server answered with status {status}", { status });
}

/**
 * Return how many milliseconds to wait by the response's Retry-After, which holds seconds or a date.
 * @param {Response} response
 */
function retryAfter(response) {
  const value = response.headers.get("retry-after") ?? "";
  const milliseconds = /^\d+$/.test(value) ? 1000 * Number(value) : Date.parse(value) - Date.now();
  return Number.isNaN(milliseconds) ? 0 : Math.min(Math.max(milliseconds, 0), LONGEST_RETRY_AFTER);
}

/** Return a random id, also where crypto.randomUUID is missing: on pages that come over plain http from another machine. */
export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
