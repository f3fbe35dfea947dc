// Uploads files to an import, a few at a time and each in parts. The server says how much of a file it has received, so
// that an upload continues after a lost connection or a reload of the page.

import { readProblem } from "../web/problem.js";

/** @typedef {import("./dropped_files.js").SourceFile} SourceFile */
/** @typedef {{ path: string, size: number, received: number }} ReceivedFile as the server lists it */
/** @typedef {{ path: string, file: File, sent: number, state: "waiting" | "sending" | "done" | "refused", detail: string }} Upload */

const AT_ONCE = 4;
export const PART_BYTES = 4 * 1024 * 1024;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
// Statuses of the server that are the same at every attempt. After a wrong offset, 409, the right one is requested.
const FINAL = new Set([400, 403, 404, 413, 415, 422]);

export class Uploads {
  #address;
  #onChange;
  /** @type {Map<string, Upload>} */
  #uploads = new Map();
  /** @type {Upload[]} */
  #waiting = [];
  #working = 0;
  /** @type {Set<() => void>} */
  #sleepers = new Set();

  /**
   * @param {string} address of the import in the REST interface
   * @param {() => void} onChange called after every change
   */
  constructor(address, onChange) {
    this.#address = address;
    this.#onChange = onChange;
    this.trouble = "";
    this.done = 0;
    this.hidden = 0; // hidden files that were left out
    this.bytes = 0;
    this.bytesSent = 0;
    /** @type {Upload[]} */
    this.refused = [];
    /** @type {Set<Upload>} */
    this.sending = new Set();
    window.addEventListener("online", () => this.#wakeAll());
  }

  get count() {
    return this.#uploads.size;
  }

  get isFinished() {
    return this.count > 0 && this.done + this.refused.length === this.count;
  }

  /**
   * Add files; parts that the server has received are not sent again.
   * @param {SourceFile[]} files
   * @param {ReadonlyMap<string, ReceivedFile>} present
   */
  add(files, present) {
    const incomplete = [];
    for (const { path, file } of files) {
      if (this.#uploads.has(path)) continue;
      const before = present.get(path);
      const sent = before?.size === file.size ? before.received : 0;
      const isComplete = before?.size === file.size && sent === file.size;
      /** @type {Upload} */
      const upload = { path, file, sent, state: isComplete ? "done" : "waiting", detail: "" };
      this.#uploads.set(path, upload);
      this.bytes += file.size;
      this.bytesSent += sent;
      if (isComplete) this.done += 1;
      else incomplete.push(upload);
    }
    this.#waiting = [...incomplete.reverse(), ...this.#waiting]; // the next one is taken from the end
    this.#onChange();
    while (this.#working < AT_ONCE && this.#waiting.length) this.#work();
  }

  /**
   * Drop the files that were refused, and return the paths of those that the server has received a part of.
   * @returns {string[]}
   */
  leaveRefused() {
    const left = this.refused.splice(0);
    for (const { path, file, sent } of left) {
      this.#uploads.delete(path);
      this.bytes -= file.size;
      this.bytesSent -= sent;
    }
    return left.filter(({ sent }) => sent > 0).map(({ path }) => path);
  }

  async #work() {
    this.#working += 1;
    for (let upload = this.#waiting.pop(); upload; upload = this.#waiting.pop()) {
      upload.state = "sending";
      this.sending.add(upload);
      await this.#send(upload);
      this.sending.delete(upload);
      this.#onChange();
    }
    this.#working -= 1;
  }

  /** @param {Upload} upload */
  async #send(upload) {
    let wait = FIRST_WAIT;
    while (upload.state === "sending") {
      const response = await this.#sendPart(upload);
      if (response?.ok) {
        wait = FIRST_WAIT;
        this.trouble = "";
        this.#advance(upload, (await response.json().catch(() => ({ received: upload.sent }))).received);
        if (upload.sent >= upload.file.size) this.#end(upload, "done");
      } else if (response && FINAL.has(response.status)) {
        await this.#refuse(upload, response);
      } else if (!response && !(await isReadable(upload.file))) {
        this.#end(upload, "refused", "The file cannot be read any more: it was moved, changed or deleted.");
      } else if (response?.status === 409) {
        const before = upload.sent;
        await this.#askWhere(upload);
        if (upload.state === "sending" && upload.sent === before) await this.#refuse(upload, response);
      } else {
        this.#report(response);
        this.#onChange();
        await this.#sleep(wait);
        wait = Math.min(2 * wait, LONGEST_WAIT);
        await this.#askWhere(upload);
      }
      this.#onChange();
    }
  }

  /**
   * Send the next part; null if there is no network.
   * @param {Upload} upload
   * @returns {Promise<Response | null>}
   */
  async #sendPart({ path, file, sent }) {
    const body = file.slice(sent, sent + PART_BYTES);
    const headers = { Accept: "application/json", "Content-Type": "application/octet-stream" };
    return fetch(`${this.#address}/files/${placeOf(path)}?offset=${sent}&size=${file.size}`, { method: "PUT", body, headers }).catch(() => null);
  }

  /**
   * Ask how much of a file was received: the response to its last part was lost, or another page sends the same file.
   * @param {Upload} upload
   */
  async #askWhere(upload) {
    const present = await fetchReceived(this.#address).catch(() => null);
    const before = present?.get(upload.path);
    if (present) this.#advance(upload, before?.size === upload.file.size ? before.received : 0);
    if (before && upload.sent >= upload.file.size && upload.file.size) this.#end(upload, "done");
  }

  /**
   * @param {Upload} upload
   * @param {number} received
   */
  #advance(upload, received) {
    this.bytesSent += received - upload.sent;
    upload.sent = received;
  }

  /**
   * @param {Upload} upload
   * @param {"done" | "refused"} state
   * @param {string} [detail]
   */
  #end(upload, state, detail = "") {
    upload.state = state;
    upload.detail = detail;
    if (state === "done") this.done += 1;
    else this.refused.push(upload);
  }

  /**
   * @param {Upload} upload
   * @param {Response} response
   */
  async #refuse(upload, response) {
    this.#end(upload, "refused", (await readProblem(response))?.detail ?? `The server answered with status ${response.status}.`);
  }

  /** @param {Response | null} response */
  #report(response) {
    if (!response) this.trouble = "No connection. Trying again; nothing that was received is lost.";
    else if (response.status === 401) this.trouble = "You are signed out. Sign in again in another tab: the upload continues then.";
    else this.trouble = `The server answers ${response.status} at the moment. Trying again.`;
  }

  /** @param {number} ms */
  #sleep(ms) {
    return new Promise((/** @type {(value: void) => void} */ resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#sleepers.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#sleepers.add(wake);
    });
  }

  #wakeAll() {
    for (const wake of [...this.#sleepers]) wake();
  }
}

/**
 * Return a path encoded for an address.
 * @param {string} path
 */
export function placeOf(path) {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** @param {File} file */
function isReadable(file) {
  return file.slice(0, 1).arrayBuffer().then(() => true, () => false);
}

/**
 * Return the files that an import has received so far, by path.
 * @param {string} address
 * @returns {Promise<Map<string, ReceivedFile>>}
 */
export async function fetchReceived(address) {
  const response = await fetch(`${address}/files`, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(`the list of files: ${response.status}`);
  /** @type {{ files: ReceivedFile[] }} */
  const { files } = await response.json();
  return new Map(files.map((file) => [file.path, file]));
}
