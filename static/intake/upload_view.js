// Shows an upload: one bar for all files, a line with figures, and rows only for the few files that are being sent or were
// refused, so that a hundred thousand files are no more work than ten.

import { byId, createElement } from "../web/dom.js";
import { counted, inBytes, timeLeft } from "./amounts.js";

/** @typedef {import("./upload.js").Uploads} Uploads */
/** @typedef {import("./upload.js").Upload} Upload */

const MOST_REFUSED = 50;
const STEADY_MS = 1500; // before that a rate is too uncertain to be shown

export class UploadView {
  #section = byId("upload");
  #bar = byId("upload-bar", HTMLProgressElement);
  #figures = byId("upload-figures");
  #trouble = byId("upload-trouble");
  #sending = byId("upload-sending");
  #refused = byId("upload-refused");
  #startedAt = 0;
  #startedWith = 0;
  #isWaiting = false;

  /**
   * Show the state of the uploads in the next frame, once however often it changes until then.
   * @param {Uploads} uploads
   */
  update(uploads) {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    requestAnimationFrame(() => {
      this.#isWaiting = false;
      this.#paint(uploads);
    });
  }

  /** @param {Uploads} uploads */
  #paint(uploads) {
    if (!this.#startedAt) {
      this.#startedAt = performance.now();
      this.#startedWith = uploads.bytesSent;
    }
    this.#section.hidden = false;
    this.#bar.value = uploads.bytes ? uploads.bytesSent / uploads.bytes : uploads.done / uploads.count;
    this.#figures.textContent = this.#describe(uploads);
    if (this.#trouble.textContent !== uploads.trouble) this.#trouble.textContent = uploads.trouble;
    this.#sending.replaceChildren(...[...uploads.sending].map(rowOf));
    this.#refused.replaceChildren(...refusedRows(uploads.refused));
  }

  /** @param {Uploads} uploads */
  #describe(uploads) {
    const hidden = uploads.hidden ? `${counted(uploads.hidden, "hidden file")} left out, ` : "";
    const amount = `${hidden}${uploads.done.toLocaleString("en")} of ${counted(uploads.count, "file")}, ${inBytes(uploads.bytesSent)} of ${inBytes(uploads.bytes)}`;
    const elapsed = performance.now() - this.#startedAt;
    const rate = (uploads.bytesSent - this.#startedWith) / elapsed;
    if (uploads.isFinished || uploads.trouble || elapsed < STEADY_MS || rate <= 0) return amount;
    return `${amount}, ${timeLeft((uploads.bytes - uploads.bytesSent) / rate / 1000)}`;
  }
}

/** @param {Upload} upload */
function rowOf({ path, file, sent }) {
  const bar = createElement("progress", { max: file.size || 1, value: sent, ariaLabel: path });
  return createElement("li", {}, createElement("span", { className: "path", textContent: path }), bar);
}

/** @param {Upload[]} refused */
function refusedRows(refused) {
  const rows = refused.slice(0, MOST_REFUSED).map(({ path, detail }) => createElement("li", {}, createElement("strong", { textContent: path }), ` ${detail}`));
  if (refused.length > MOST_REFUSED) rows.push(createElement("li", { textContent: `and ${counted(refused.length - MOST_REFUSED, "other")}` }));
  return rows;
}
