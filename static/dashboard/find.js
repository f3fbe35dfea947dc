// Search: restricts the page to the items that are found, and selects them. Also lists the items most like a given one,
// and saves the map as a picture.

import { byId, createElement } from "../web/dom.js";
import { readBody } from "../web/problem.js";

/** @typedef {(title: string, positions: number[]) => void} List */

/**
 * @param {import("./filter.js").Filter} filter
 * @param {List} list
 */
export function searchItems(filter, list) {
  const form = byId("search", HTMLFormElement);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = byId("search-text", HTMLInputElement).value.trim();
    const positions = await filter.set({ text });
    byId("search-status").textContent = positions ? "" : "The server was not reached. Try again.";
    if (text && positions) list(`“${text}”`, positions);
  });
}

/**
 * List the items that are most like one.
 * @param {string} api
 * @param {{ position: number, key: string }} item
 * @param {List} list
 */
export async function listSimilar(api, { position, key }, list) {
  const positions = await read(`${api}/similar?at=${position}`);
  if (positions) list(`Like ${key}`, positions);
}

/**
 * Return the positions that the server names; null if it was not reached.
 * @param {string} url
 * @returns {Promise<number[] | null>}
 */
async function read(url) {
  const response = await fetch(url).catch(() => null);
  return response?.ok ? (await readBody(response)).positions : null;
}

/**
 * Keep what a canvas shows as a PNG file.
 * @param {HTMLCanvasElement} canvas
 * @param {string} name
 */
export function savePicture(canvas, name) {
  canvas.toBlob((blob) => {
    if (blob) save(blob, `${name}.png`);
  });
}

/**
 * @param {Blob} blob
 * @param {string} name
 */
export function save(blob, name) {
  const link = createElement("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}
