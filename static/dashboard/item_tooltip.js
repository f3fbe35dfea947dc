// The tooltip of the item that is pointed at or pinned on a map.

import { createElement } from "../web/dom.js";
import { chip, hasMedia, isSound, mediaLink, picture } from "./item_list.js";
import { CLUSTER, CONFIDENCE, STRIDE } from "./map_points.js";

/** @typedef {import("./item_list.js").Item} Item */

const HOVER_MS = 60; // how long the pointer must rest before an item's picture is fetched

export class ItemTooltip {
  /**
   * @param {HTMLElement} box
   * @param {import("./item_list.js").ItemStore} items
   * @param {import("./map.js").ClusterMap} map
   * @param {(cluster: number) => string} nameOf
   * @param {((item: Item) => void) | null} listSimilar
   */
  constructor(box, items, map, nameOf, listSimilar = null) {
    this.listSimilar = listSimilar;
    this.box = box;
    this.items = items;
    this.map = map;
    this.nameOf = nameOf;
    this.hovered = -1;
    this.pinned = -1;
    box.addEventListener("keydown", ({ key }) => {
      if (key !== "Escape") return;
      map.canvas.focus({ preventScroll: true });
      map.pick(-1e6, -1e6);
    });
  }

  /** Play or open the item that is pinned. */
  open() {
    this.box.querySelector("a")?.click();
  }

  /**
   * @param {number} position -1 for no item
   * @param {number} column
   * @param {number} row
   */
  hover(position, column, row) {
    if (this.pinned >= 0) return;
    if (position === this.hovered && position >= 0 && !this.box.hidden) return;
    this.hovered = position;
    if (position < 0) this.box.hidden = true;
    else setTimeout(() => this.hovered === position && this.show(position, column, row, false), HOVER_MS);
  }

  /**
   * @param {number} position -1 for no item
   * @param {number} column
   * @param {number} row
   */
  pin(position, column, row) {
    this.pinned = position;
    this.hovered = -1;
    this.box.hidden = true;
    if (position >= 0) this.show(position, column, row, true);
  }

  /**
   * @param {number} position
   * @param {number} column
   * @param {number} row
   * @param {boolean} isPinned
   */
  async show(position, column, row, isPinned) {
    const [item] = await this.items.at([position]);
    if (!item || (!isPinned && this.hovered !== position)) return;
    const { box, map } = this;
    box.replaceChildren(picture(item), ...describe(item, map.target, this.nameOf));
    if (isPinned && hasMedia(item)) box.append(mediaLink(item, { textContent: isSound(item) ? "Play" : "Open" }));
    const { listSimilar } = this;
    if (isPinned && listSimilar) box.append(" ", createElement("button", { type: "button", className: "link", textContent: "Items like this one", onclick: () => listSimilar(item) }));
    box.classList.toggle("pinned", isPinned);
    box.hidden = false;
    const left = Math.min(column + 14, map.width - box.offsetWidth - 4);
    const top = row + 14 + box.offsetHeight > map.height ? row - box.offsetHeight - 14 : row + 14;
    box.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
  }
}

/**
 * @param {Item} item
 * @param {Float32Array} points
 * @param {(cluster: number) => string} nameOf
 */
function describe(item, points, nameOf) {
  const cluster = points[item.position * STRIDE + CLUSTER];
  const confidence = points[item.position * STRIDE + CONFIDENCE];
  const name = nameOf(cluster);
  return [
    createElement("p", {}, createElement("strong", { textContent: item.key })),
    ...(item.text && item.text !== item.key ? [createElement("p", { textContent: item.text })] : []),
    createElement("p", { className: "number" }, chip(cluster), ` ${name ? `${name}, ` : ""}confidence ${confidence.toFixed(2)}`),
    ...(item.tags.length ? [createElement("p", { className: "small muted", textContent: item.tags.join(", ") })] : []),
  ];
}
