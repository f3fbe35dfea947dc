// Tags: words on items, to find them again. The server stores them; lists show them, and the filter takes one.

import { createElement } from "../web/dom.js";
import { explain } from "../web/problem.js";

/** @typedef {import("./item_list.js").ItemStore} ItemStore */
/** @typedef {{ positions: number[], sentence: string }} Changed */

const AT_ONCE = 5_000; // most items that one request changes
const NOT_REACHED = "The server was not reached. Try again.";
export const LONGEST_TAG = 40;

export class Tags {
  onChange = () => {}; // called when items have other tags

  /**
   * @param {string} api
   * @param {ItemStore} items
   */
  constructor(api, items) {
    this.url = `${api}/tags`;
    this.items = items;
  }

  /**
   * Put a tag on items or take it off; return for which this changed something, and a sentence for the analyst.
   * @param {"add" | "remove"} what
   * @param {string} tag
   * @param {number[]} positions
   * @returns {Promise<Changed>}
   */
  async change(what, tag, positions) {
    const items = await this.items.all(positions);
    if (items.length < positions.length) return { positions: [], sentence: NOT_REACHED };
    /** @type {number[]} */
    const changed = [];
    for (let start = 0; start < items.length; start += AT_ONCE) {
      const part = items.slice(start, start + AT_ONCE);
      const body = JSON.stringify({ tag, [what]: part.map(({ key }) => key) });
      const headers = { "Content-Type": "application/json" };
      const response = await fetch(this.url, { method: "POST", headers, body }).catch(() => null);
      if (!response?.ok) return { positions: changed, sentence: response ? await explain(response) : NOT_REACHED };
      const { added, removed } = await response.json();
      const keys = new Set([...added, ...removed]);
      changed.push(...part.filter(({ key }) => keys.has(key)).map(({ position }) => position));
    }
    for (const position of changed) this.#note(what, tag, position);
    this.onChange();
    const count = `${changed.length.toLocaleString("en")} item${changed.length === 1 ? "" : "s"}`;
    return { positions: changed, sentence: what === "add" ? `“${tag}” put on ${count}.` : `“${tag}” taken off ${count}.` };
  }

  /**
   * @param {"add" | "remove"} what
   * @param {string} tag
   * @param {number} position
   */
  #note(what, tag, position) {
    const item = this.items.items.get(position);
    if (!item) return;
    const others = item.tags.filter((name) => name !== tag);
    item.tags = what === "add" ? [...others, tag].sort() : others;
  }
}

/**
 * Return the tags of an item: each is a link that filters by it, and has a button that takes it off.
 * @param {import("./item_list.js").Item} item
 * @param {(tag: string) => void} takeOff
 */
export function tagChips(item, takeOff) {
  return item.tags.map((tag) => {
    const link = createElement("a", { className: "filter-chip", href: `?tag=${encodeURIComponent(tag)}`, textContent: tag, title: "Show only items with this tag" });
    link.dataset.filter = "";
    const button = createElement("button", { type: "button", className: "link", textContent: "×", title: "Take this tag off" });
    button.setAttribute("aria-label", `Take the tag ${tag} off ${item.key}`);
    button.onclick = () => takeOff(tag);
    return createElement("span", { className: "tag" }, link, button);
  });
}
