// Clusters of new items: sends files that are dropped or chosen to be predicted, waits for the worker, and lists what it found.

import { byId, createElement } from "../web/dom.js";
import { explain } from "../web/problem.js";
import { readDrop, readPicker } from "../intake/dropped_files.js";

/** @typedef {import("../intake/dropped_files.js").Selection} Selection */
/** @typedef {{ field: string, detail: string, row: number | null, file: string | null }} Fault */
/** @typedef {{ id: number, status: string, progress: number, note: string, error: string | null }} Prediction */
/** @typedef {{ item: string, cluster: number, confidence: number, remark?: string }} Predicted */
/** @typedef {{ cluster_names: string[], items: Predicted[], faults: Fault[] }} Answer */

const PAUSE = 400;
const MOST_ROWS = 500;
const zone = byId("drop-zone");

/**
 * Ask the server; what it refuses is an error with its sentence.
 * @param {string} address
 * @param {RequestInit} [options]
 * @returns {Promise<any>}
 */
async function ask(address, options = {}) {
  const response = await fetch(address, { headers: { Accept: "application/json" }, ...options }).catch(() => null);
  if (!response) throw new Error("No connection: try again.");
  if (!response.ok) throw new Error(await explain(response));
  return response.json();
}

/**
 * Send what was chosen, and show the clusters once the worker is done.
 * @param {Promise<Selection>} reading
 */
async function take(reading) {
  byId("new-problem").textContent = "";
  byId("new-results").hidden = true;
  try {
    const { files } = await reading;
    if (!files.length) throw new Error("There is no file in it that could be sent: it is empty, or all files are hidden.");
    const form = new FormData();
    for (const { path, file } of files) form.append("media", file, path);
    showProgress({ progress: 0, note: `Sending ${files.length === 1 ? "1 file" : `${files.length} files`}` });
    /** @type {Prediction} */
    const begun = await ask(zone.dataset.address ?? "", { method: "POST", body: form });
    const address = `${(zone.dataset.address ?? "").replace(/\/runs\/.*/, "")}/predictions/${begun.id}`;
    await isDone(address, begun);
    showItems(await ask(`${address}/items`), address);
  } catch (error) {
    byId("new-problem").textContent = error instanceof Error ? error.message : String(error);
  }
  byId("new-progress").hidden = true;
}

/**
 * Wait until the worker is done.
 * @param {string} address
 * @param {Prediction} prediction
 */
async function isDone(address, prediction) {
  while (prediction.status === "queued" || prediction.status === "running") {
    showProgress(prediction);
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
    prediction = await ask(address);
  }
  if (prediction.status !== "done") throw new Error(prediction.error ?? "It was cancelled.");
}

/** @param {{ progress: number, note: string }} prediction */
function showProgress({ progress, note }) {
  byId("new-progress").hidden = false;
  byId("new-bar", HTMLProgressElement).value = progress;
  byId("new-note").textContent = note || "A worker will look at them in a moment";
}

/**
 * @param {Answer} answer
 * @param {string} address
 */
function showItems({ items, cluster_names: names, faults }, address) {
  byId("new-rows").replaceChildren(...items.slice(0, MOST_ROWS).map((item) => row(item, names[item.cluster - 1] ?? "")));
  const count = `${items.length.toLocaleString("en")} item${items.length === 1 ? "" : "s"}`;
  byId("new-more").textContent = items.length > MOST_ROWS ? `${count}; the first ${MOST_ROWS} are shown` : count;
  byId("new-csv", HTMLAnchorElement).href = `${address}/items?format=csv`;
  byId("new-faults").replaceChildren(...faults.map(({ file, row: number, detail }) => {
    const where = [file, number ? `row ${number}` : ""].filter((part) => part && !detail.includes(part)).join(", ");
    return createElement("li", {}, where ? `${where}: ${detail}` : detail);
  }));
  byId("new-results").hidden = false;
}

/**
 * @param {Predicted} item
 * @param {string} name of its cluster
 */
function row({ item, cluster, confidence, remark }, name) {
  const place = cluster - 1;
  const swatch = createElement("span", { className: `swatch c${(place % 20) + 1} s${Math.floor(place / 20) % 4}`, ariaHidden: "true" });
  const chip = createElement("span", { className: "chip" }, swatch, String(cluster));
  return createElement("tr", {},
    createElement("td", { className: "path" }, item, ...(remark ? [createElement("p", { className: "muted small" }, remark)] : [])),
    createElement("td", {}, chip, ` ${name}`),
    createElement("td", { className: "number" }, confidence.toFixed(2)));
}

const picker = byId("pick-files", HTMLInputElement);
byId("choose-files").addEventListener("click", () => picker.click());
picker.addEventListener("change", () => {
  if (picker.files?.length) take(Promise.resolve(readPicker(picker.files)));
  picker.value = "";
});
for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    zone.classList.toggle("over", kind === "dragenter" || kind === "dragover");
  });
}
document.addEventListener("drop", (event) => {
  if (event instanceof DragEvent && event.dataTransfer) take(readDrop(event.dataTransfer));
});
