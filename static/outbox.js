// Answers on their way to the server. Each is kept in localStorage under a key of its own until the server has
// acknowledged it, so that neither a reload nor a lost network nor a second tab can lose one. They are sent one
// after the other in the order in which they were given; the server knows an answer by its id, so sending one
// twice stores it once.

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;

export class Outbox {
  #prefix;
  #base;
  #entries;
  #storage;
  #running = false;
  #wake = () => {};

  // `changed()` is called after every change of `waiting` or `trouble`, `acknowledged(entry, body)` after each success.
  constructor({ project, user, changed, acknowledged }) {
    this.#prefix = `tercet-outbox/${project}/${user}/`;
    this.#base = `/api/v1/projects/${encodeURIComponent(project)}`;
    this.changed = changed;
    this.acknowledged = acknowledged;
    this.trouble = "";
    this.refused = [];
    this.#storage = storage();
    this.stored = this.#storage !== null;
    this.#entries = this.#load();
    window.addEventListener("online", () => this.#wake());
    window.addEventListener("beforeunload", (event) => {
      if (!this.stored && this.waiting) event.preventDefault();
    });
  }

  get waiting() {
    return this.#entries.length;
  }

  get entries() {
    return this.#entries.map(({ entry }) => entry);
  }

  add(entry) {
    const key = `${this.#prefix}${String(Date.now()).padStart(15, "0")}-${String(performance.now()).padStart(20, "0")}`;
    try {
      this.#storage?.setItem(key, JSON.stringify(entry));
    } catch {
      this.stored = false; // storage is full: still sent from memory, and leaving the page asks first
    }
    this.#entries.push({ key, entry });
    this.changed();
    this.send();
  }

  async send() {
    if (this.#running) return;
    this.#running = true;
    let wait = FIRST_WAIT;
    while (this.#entries.length) {
      const { key, entry } = this.#entries[0];
      const body = await this.#post(entry);
      if (body) {
        wait = FIRST_WAIT;
        this.#entries.shift();
        this.#storage?.removeItem(key);
        if (body.detail) this.refused.push(body.detail);
        this.acknowledged(entry, body);
      } else {
        this.changed();
        await this.#pause(wait);
        wait = Math.min(2 * wait, LONGEST_WAIT);
      }
      this.changed();
    }
    this.#running = false;
  }

  // Gives the server's body once the entry is settled, for good or ill; null when it must be tried again.
  async #post(entry) {
    const [method, path, body] = requestOf(entry);
    let response;
    try {
      response = await fetch(this.#base + path, {
        method,
        headers: { "content-type": "application/json" },
        body: body && JSON.stringify(body),
        keepalive: true,
      });
    } catch {
      this.trouble = "no network";
      return null;
    }
    if (response.status === 401) this.trouble = "you are signed out";
    else if (response.status === 429 || response.status >= 500) this.trouble = "the server is busy";
    else {
      this.trouble = "";
      const answer = await response.json();
      // Withdrawing what is withdrawn or was never stored leaves nothing to do.
      return response.ok || entry.kind === "withdraw" ? { ...answer, detail: "" } : answer;
    }
    return null;
  }

  #pause(milliseconds) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #load() {
    const keys = Object.keys(this.#storage ?? {}).filter((key) => key.startsWith(this.#prefix));
    return keys.sort().map((key) => ({ key, entry: JSON.parse(this.#storage.getItem(key)) }));
  }
}

function storage() {
  try {
    return window.localStorage;
  } catch {
    return null; // forbidden by the browser's settings
  }
}

function requestOf(entry) {
  if (entry.kind === "withdraw") return ["DELETE", `/answers/${entry.id}`];
  if (entry.kind === "skip") return ["POST", "/skips", { triplet: entry.triplet }];
  const { id, triplet, answer, response_ms } = entry;
  return ["POST", "/answers", { id, triplet, answer, response_ms }];
}

// A random id also where crypto.randomUUID is missing: pages that come over plain http from another machine.
export function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
