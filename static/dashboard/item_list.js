// The panel under the map that lists items of a lasso or a cluster. Items are fetched by their position in the map's
// points, once each, also for the tooltip.

import { createElement } from "../web/dom.js";
import { explain, readBody } from "../web/problem.js";
import { CLUSTER, CONFIDENCE, STRIDE } from "./map_points.js";
import { tagChips } from "./tags.js";

/**
 * @typedef {{ position: number, key: string, text: string, media_type: string | null, media_url: string | null,
 *   picture_url: string | null, thumbnail_url: string | null, tags: string[] }} Item
 */

const PAGE_SIZE = 60;
const CLUSTER_CELL = 2; // the confidence is in the next one
const AT_ONCE = 500; // most items that one request describes
const NOT_REACHED = "The server was not reached. Try again.";

/** The items of one project by position: each is fetched once. */
export class ItemStore {
  /** @param {string} api */
  constructor(api) {
    this.url = `${api}/positions`;
    this.focus = `${api}/focus`;
    /** @type {Map<number, Item>} */
    this.items = new Map();
  }

  /**
   * Return the items at these positions; those that could not be read are missing.
   * @param {number[]} positions
   * @returns {Promise<Item[]>}
   */
  async at(positions) {
    const { items } = this; // `forget` replaces the map; this one keeps its items, so that none is missing
    const missing = positions.filter((position) => !items.has(position));
    if (missing.length) {
      const response = await fetch(`${this.url}?at=${missing.join(",")}`).catch(() => null);
      const page = response?.ok ? await readBody(response) : null;
      for (const item of page?.items ?? []) items.set(item.position, item);
    }
    return positions.map((position) => items.get(position)).filter((item) => item !== undefined);
  }

  /** Fetch every item anew from now on. */
  forget() {
    this.items = new Map();
  }

  /**
   * Return the items at any number of positions; those that could not be read are missing.
   * @param {number[]} positions
   * @returns {Promise<Item[]>}
   */
  async all(positions) {
    const pages = [];
    for (let start = 0; start < positions.length; start += AT_ONCE) pages.push(await this.at(positions.slice(start, start + AT_ONCE)));
    return pages.flat();
  }

  /**
   * Restrict questions to these items; return a sentence if that fails, or an empty one.
   * @param {number[]} positions
   */
  async askAbout(positions) {
    const keys = (await this.all(positions)).map((item) => item.key);
    if (keys.length < positions.length) return NOT_REACHED;
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(this.focus, { method: "PUT", headers, body: JSON.stringify({ about: "items", items: keys }) }).catch(() => null);
    if (!response) return NOT_REACHED;
    return response.ok ? "" : explain(response);
  }
}

/** @param {number} cluster */
export function chip(cluster) {
  const swatch = createElement("span", { className: `swatch c${((cluster - 1) % 20) + 1} s${Math.floor((cluster - 1) / 20) % 4}` });
  swatch.setAttribute("aria-hidden", "true");
  return createElement("span", { className: "chip" }, swatch, String(cluster));
}

/** @param {Item} item */
export function picture(item) {
  const src = item.thumbnail_url ?? item.picture_url;
  return src ? createElement("img", { src, alt: item.text || item.key }) : "";
}

/**
 * Return a link to an item's media; sounds are played in place.
 * @param {Item & { media_url: string }} item
 * @param {{ className?: string, textContent?: string }} properties
 * @param {...Node} children
 */
export function mediaLink(item, properties, ...children) {
  const link = createElement("a", { href: item.media_url, ...properties }, ...children);
  if (isSound(item)) link.dataset.play = "";
  return link;
}

/** @param {Item} item */
export function isSound(item) {
  return Boolean(item.media_type?.startsWith("audio"));
}

/**
 * @param {Item} item
 * @returns {item is Item & { media_url: string }}
 */
export function hasMedia(item) {
  return item.media_url !== null;
}

/** @param {Item} item */
function thumbnail(item) {
  const content = picture(item) || (item.text && createElement("span", { className: "thumb-text", textContent: item.text }));
  if (!content) return "";
  return hasMedia(item) ? mediaLink(item, { className: "thumb" }, content) : createElement("span", { className: "thumb" }, content);
}

/**
 * Return how many of the items are in each cluster, the largest share first.
 * @param {number[]} positions
 * @param {Float32Array} points
 */
function countByCluster(positions, points) {
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const position of positions) {
    const cluster = points[position * STRIDE + CLUSTER];
    counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** The panel under the map: how the listed items spread over clusters, then the items, least certain last. */
export class ItemList {
  /** @type {Element | null} what had the focus before the list was opened */
  #opener = null;
  /** @type {number[]} */
  #positions = [];
  /** @type {Float32Array} */
  #points = new Float32Array();
  #title = "";
  #heading = createElement("h3");
  #counts = createElement("p", { className: "counts" });
  #rows = createElement("tbody");
  #status = createElement("span");
  #more = createElement("button", { type: "button", className: "small", textContent: "Show more", onclick: () => this.#fill() });

  /**
   * @param {HTMLElement} panel
   * @param {ItemStore} items
   * @param {import("./map.js").ClusterMap} map
   * @param {import("./selection_bar.js").SelectionBar | null} bar what can be done with the items; null: nothing
   */
  constructor(panel, items, map, bar) {
    this.panel = panel;
    this.items = items;
    this.map = map;
    this.bar = bar;
    if (bar) bar.tags.onChange = () => this.#showTags();
  }

  /** Close the list; who uses the keyboard goes on where the list was asked for. */
  close() {
    this.panel.hidden = true;
    this.map.select([]);
    const { canvas } = this.map;
    const opener = this.#opener;
    const target = opener instanceof HTMLElement && opener.isConnected && opener !== document.body ? opener : canvas;
    target.focus({ preventScroll: target === canvas });
  }

  /**
   * List those of some items that pass the filter.
   * @param {string} title
   * @param {number[]} all
   * @param {boolean} takesFocus
   */
  async show(title, all, takesFocus = true) {
    const positions = this.map.only(all);
    const points = (this.#points = this.map.target);
    if (!this.panel.contains(document.activeElement)) this.#opener = document.activeElement;
    this.#positions = [...positions].sort((a, b) => points[b * STRIDE + CONFIDENCE] - points[a * STRIDE + CONFIDENCE]);
    this.#rows.replaceChildren();
    const count = positions.length.toLocaleString("en");
    const heading = createElement("h3", { id: "item-list-title", tabIndex: -1, textContent: `${title}: ${count} items` });
    this.#title = title;
    this.#heading = heading;
    const close = createElement("button", { type: "button", className: "small", textContent: "Close", onclick: () => this.close() });
    this.#status = createElement("span", { className: "muted" });
    this.#status.setAttribute("role", "status");
    this.map.select(positions);
    const scroll = createElement("div", { className: "scroll", tabIndex: 0 });
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Listed items");
    scroll.append(createElement("table", {}, createElement("thead", {}, headRow()), this.#rows), this.#more);
    this.#showCounts();
    this.panel.replaceChildren(
      createElement("header", {}, heading, close),
      ...(this.bar && positions.length ? [this.bar.show(title, this.#positions)] : []),
      createElement("p", { className: "small" }, this.#status),
      this.#counts,
      scroll,
    );
    this.panel.hidden = false;
    if (takesFocus) heading.focus({ preventScroll: true });
    await this.#fill();
  }

  async #showTags() {
    for (const row of this.#rows.rows) {
      const [item] = await this.items.at([Number(row.dataset.position)]);
      const cell = row.cells[row.cells.length - 1];
      const hadFocus = cell.contains(document.activeElement); // on the × of a tag, which goes
      if (item) cell.replaceChildren(...this.#tagsOf(item));
      if (hadFocus) this.#heading.focus({ preventScroll: true });
    }
  }

  /** @param {Item} item */
  #tagsOf(item) {
    const { bar } = this;
    return bar ? tagChips(item, (tag) => bar.tag("remove", tag, [item.position])) : [item.tags.join(", ")];
  }

  #showCounts() {
    const spread = countByCluster(this.#positions, this.#points);
    this.#counts.replaceChildren(...spread.map(([cluster, size]) => createElement("span", {}, chip(cluster), ` ${size}`)));
  }

  /**
   * Show which clusters the listed items are in after a new run. They stay listed and in their order, and the focus
   * stays where it is; the items of a cluster are those from before.
   * @param {string} run
   */
  update(run) {
    if (this.panel.hidden) return;
    this.#points = this.map.target;
    this.map.select(this.#positions);
    const count = this.#positions.length.toLocaleString("en");
    if (this.#title.startsWith("Cluster ")) this.#heading.textContent = `${this.#title} before run ${run}: ${count} items`;
    this.#showCounts();
    for (const row of this.#rows.rows) {
      const start = Number(row.dataset.position) * STRIDE;
      row.cells[CLUSTER_CELL].replaceChildren(chip(this.#points[start + CLUSTER]));
      row.cells[CLUSTER_CELL + 1].textContent = this.#points[start + CONFIDENCE].toFixed(2);
    }
    this.bar?.update(this.#title, this.#positions);
  }

  async #fill() {
    const start = this.#rows.childElementCount;
    const positions = this.#positions;
    const shown = positions.slice(start, start + PAGE_SIZE);
    const items = await this.items.at(shown);
    if (positions !== this.#positions) return; // another list was opened in the meantime
    if (items.length < shown.length) this.#status.textContent = NOT_REACHED;
    this.#rows.append(...items.map((item) => this.#row(item)));
    this.#more.hidden = this.#rows.childElementCount >= positions.length;
  }

  /** @param {Item} item */
  #row(item) {
    const start = item.position * STRIDE;
    const row = createElement("tr", {},
      createElement("td", {}, thumbnail(item)),
      createElement("th", { scope: "row", textContent: item.key }),
      createElement("td", {}, chip(this.#points[start + CLUSTER])),
      createElement("td", { className: "number", textContent: this.#points[start + CONFIDENCE].toFixed(2) }),
      createElement("td", {}, ...this.#tagsOf(item)));
    row.dataset.position = String(item.position);
    return row;
  }
}

function headRow() {
  const columns = ["Item", "Key", "Cluster", "Confidence", "Tags"];
  return createElement("tr", {}, ...columns.map((textContent) =>
    createElement("th", { scope: "col", textContent, className: textContent === "Confidence" ? "number" : "" })));
}
