// Items that were pointed at, pinned, circled or listed by cluster: fetched by their place in the map and kept.

import { CLUSTER, CONFIDENCE, STRIDE } from "./map_points.js";

const PAGE = 60;

export class Items {
  constructor(api) {
    this.address = `${api}/positions`;
    this.known = new Map();
  }

  async at(positions) {
    const missing = positions.filter((position) => !this.known.has(position));
    if (missing.length) {
      const response = await fetch(`${this.address}?at=${missing.join(",")}`);
      if (!response.ok) throw new Error(`items could not be read: ${response.status}`);
      for (const item of (await response.json()).items) this.known.set(item.position, item);
    }
    return positions.map((position) => this.known.get(position));
  }
}

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export function chip(cluster) {
  const swatch = element("span", { className: `swatch c${((cluster - 1) % 20) + 1} s${Math.floor((cluster - 1) / 20) % 4}` });
  swatch.setAttribute("aria-hidden", "true");
  return element("span", { className: "chip" }, swatch, String(cluster));
}

export function picture(item) {
  const address = item.thumbnail_url ?? item.picture_url;
  return address ? element("img", { src: address, alt: item.text || item.key }) : "";
}

export function describe(item, points, named) {
  const cluster = points[item.position * STRIDE + CLUSTER];
  const confidence = points[item.position * STRIDE + CONFIDENCE];
  const name = named(cluster);
  return [
    element("p", {}, element("strong", { textContent: item.key })),
    ...(item.text && item.text !== item.key ? [element("p", { textContent: item.text })] : []),
    element("p", { className: "number" }, chip(cluster), ` ${name ? `${name}, ` : ""}confidence ${confidence.toFixed(2)}`),
  ];
}

function thumb(item) {
  const inside = picture(item) || (item.text && element("span", { className: "thumb-text", textContent: item.text }));
  if (!inside) return "";
  if (!item.media_url) return element("span", { className: "thumb" }, inside);
  const link = element("a", { className: "thumb", href: item.media_url }, inside);
  if (item.media_type?.startsWith("audio")) link.dataset.play = "";
  return link;
}

function counts(positions, points) {
  const found = new Map();
  for (const position of positions) {
    const cluster = points[position * STRIDE + CLUSTER];
    found.set(cluster, (found.get(cluster) ?? 0) + 1);
  }
  return [...found].sort((a, b) => b[1] - a[1]);
}

// The panel under the map: how the picked items spread over clusters, then the items, least certain last.
export class Picks {
  constructor(panel, items, map) {
    Object.assign(this, { panel, items, map });
  }

  // Whoever came by key goes on where the list was asked for.
  close() {
    this.panel.hidden = true;
    const back = this.opener?.isConnected && this.opener !== document.body ? this.opener : this.map.canvas;
    back.focus({ preventScroll: back === this.map.canvas });
  }

  async list(title, positions) {
    const points = this.map.target;
    this.points = points;
    if (!this.panel.contains(document.activeElement)) this.opener = document.activeElement;
    this.order = [...positions].sort((a, b) => points[b * STRIDE + CONFIDENCE] - points[a * STRIDE + CONFIDENCE]);
    this.rows = element("tbody");
    const heading = element("h3", { id: "picks-title", tabIndex: -1, textContent: `${title}: ${this.order.length.toLocaleString("en")} items` });
    const close = element("button", { type: "button", className: "small", textContent: "Close", onclick: () => this.close() });
    this.more = element("button", { type: "button", className: "small", textContent: "Show more", onclick: () => this.fill() });
    const column = (textContent) => element("th", { scope: "col", textContent });
    const head = element("tr", {}, ...["Item", "Key", "Cluster", "Confidence"].map(column));
    head.lastChild.className = "number";
    const table = element("table", {}, element("thead", {}, head), this.rows);
    const scroll = element("div", { className: "scroll", tabIndex: 0 }, table, this.more);
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Picked items");
    const spread = counts(this.order, points).map(([cluster, count]) => element("span", {}, chip(cluster), ` ${count}`));
    this.panel.replaceChildren(element("header", {}, heading, close), element("p", { className: "counts" }, ...spread), scroll);
    this.panel.hidden = false;
    heading.focus({ preventScroll: true });
    await this.fill();
  }

  async fill() {
    const start = this.rows.childElementCount;
    const items = await this.items.at(this.order.slice(start, start + PAGE));
    this.rows.append(...items.map((item) => this.row(item)));
    this.more.hidden = this.rows.childElementCount >= this.order.length;
  }

  row(item) {
    const at = item.position * STRIDE;
    return element("tr", {},
      element("td", {}, thumb(item)),
      element("th", { scope: "row", textContent: item.key }),
      element("td", {}, chip(this.points[at + CLUSTER])),
      element("td", { className: "number", textContent: this.points[at + CONFIDENCE].toFixed(2) }));
  }
}
