// The gallery: large pictures of a cluster or of what is selected, over the whole window. Only the rows on the screen
// are in the page, so that thousands of items are as quick as ten.

import { createElement } from "../web/dom.js";
import { calledTypical, clusterChoice } from "./edits.js";
import { chip, hasMedia, isSound } from "./item_list.js";

/** @typedef {import("./edits.js").Edits} Edits */
/**
 * What the gallery asks of a map: its points, and the cluster and confidence of an item.
 * @typedef {{ target: Float32Array, of: (position: number) => { cluster: number, confidence: number } }} Places
 */

const TILE = 220; // least width of a tile, pixels
const NARROW = 150; // where only one or two fit
const ROW = 200; // height of a row of such tiles; few items have larger ones
const SPARE = 2; // rows beyond the edges of the window
/** @type {Record<string, string>} */
const MARKS = { keep: "kept", typical: "★ typical", out: "thrown out" };

export class Gallery {
  /** @type {number[]} */
  positions = [];
  at = 0; // the place of the current item
  /** @type {Map<number, { kind: string, number: number, words: string }>} edits of this gallery by position */
  marks = new Map();
  audio = new Audio();
  drawn = "";
  isEditable = true;

  /**
   * @param {Edits} edits
   * @param {Places} map
   * @param {(cluster: number) => string} nameOf
   */
  constructor(edits, map, nameOf) {
    this.edits = edits;
    this.map = map;
    this.nameOf = nameOf;
  }

  /**
   * @param {string} title
   * @param {number[]} positions
   * @param {boolean} isEditable whether the clusters are the current ones, which edits change
   */
  open(title, positions, isEditable = true) {
    this.isEditable = isEditable;
    this.opened = [...positions];
    this.marks.clear();
    this.order = createElement("select", {},
      ...[["typical", "most typical first"], ["doubt", "most doubtful first"], ["time", "in the order of the items"]].map(
        ([value, textContent]) => createElement("option", { value, textContent })));
    this.order.setAttribute("aria-label", "Order");
    this.order.onchange = () => this.sort();
    this.target = clusterChoice(this.map.target, this.nameOf, "Move to…");
    const keys = createElement("div", { className: "gallery-keys" },
      this.key("K", "Keep", () => this.edit("keep")),
      this.key("T", "Typical", () => this.edit("typical")),
      this.key("X", "Throw out", () => this.edit("out")),
      this.key("M", "Move", () => this.edit("move")),
      this.key("U", "Undo", () => this.undo()),
      createElement("span", { className: "small muted", textContent: "Arrow keys walk and play, Enter plays again." }));
    this.status = createElement("p", { className: "small" });
    this.status.setAttribute("role", "status");
    const close = createElement("button", { type: "button", textContent: "Close", onclick: () => this.dialog?.close() });
    this.sheet = createElement("div", { className: "gallery-sheet" });
    this.scroller = createElement("div", { className: "gallery-scroll", tabIndex: 0 }, this.sheet);
    this.scroller.setAttribute("role", "listbox");
    this.scroller.setAttribute("aria-label", title);
    const heading = createElement("h2", { id: "gallery-title", textContent: `${title}: ${positions.length.toLocaleString("en")} item${positions.length === 1 ? "" : "s"}` });
    this.dialog = createElement("dialog", { className: "gallery" },
      createElement("header", {}, heading, this.order, ...(this.isEditable ? [this.target] : []), close), ...(this.isEditable ? [keys] : []), this.status, this.scroller);
    this.dialog.setAttribute("aria-labelledby", "gallery-title");
    document.body.append(this.dialog);
    this.dialog.onclose = () => this.close();
    this.scroller.onscroll = () => this.draw();
    this.scroller.onkeydown = (event) => this.press(event);
    this.resized = new ResizeObserver(() => this.draw(true));
    this.resized.observe(this.scroller);
    this.dialog.showModal();
    this.sort();
    this.scroller.focus();
  }

  /**
   * Return a button for what a key does.
   * @param {string} key
   * @param {string} text
   * @param {() => void} act
   */
  key(key, text, act) {
    const button = createElement("button", { type: "button", className: "small" }, createElement("kbd", { textContent: key }), ` ${text}`);
    button.onclick = () => {
      act();
      this.scroller?.focus();
    };
    return button;
  }

  close() {
    this.audio.pause();
    this.resized?.disconnect();
    this.dialog?.remove();
  }

  sort() {
    const called = calledTypical();
    const doubt = (/** @type {number} */ position) => called.has(position) ? -1 : 1 - this.map.of(position).confidence;
    const sign = this.order?.value === "doubt" ? -1 : 1;
    this.positions = [...(this.opened ?? [])].sort((a, b) => this.order?.value === "time" ? a - b : sign * (doubt(a) - doubt(b)));
    this.at = 0;
    if (this.scroller) this.scroller.scrollTop = 0;
    this.draw(true);
  }

  /** How many tiles are in a row and how high it is: the largest that show all items at once, or the least. */
  get layout() {
    const { clientWidth: width, clientHeight: height } = this.scroller ?? { clientWidth: TILE, clientHeight: ROW };
    const most = Math.max(Math.min(2, Math.floor(width / NARROW)), Math.floor(width / TILE), 1);
    for (let columns = 1; columns < most; columns++) {
      const row = Math.floor((width / columns) * (ROW / TILE));
      if (Math.ceil(this.positions.length / columns) * row <= height) return { columns, row };
    }
    return { columns: most, row: ROW };
  }

  /** Put the rows on the screen into the page. */
  async draw(isChanged = false) {
    const { scroller, sheet, positions } = this;
    if (!scroller || !sheet) return;
    const { columns, row } = this.layout;
    const rows = Math.ceil(positions.length / columns);
    const first = Math.max(0, Math.floor(scroller.scrollTop / row) - SPARE);
    const last = Math.min(rows, Math.ceil((scroller.scrollTop + scroller.clientHeight) / row) + SPARE);
    const drawn = `${first} ${last} ${columns}`;
    if (drawn === this.drawn && !isChanged) return;
    this.drawn = drawn;
    sheet.style.height = `${rows * row}px`;
    const shown = positions.slice(first * columns, last * columns);
    const items = await this.edits.items.all(shown);
    if (drawn !== this.drawn) return; // scrolled on in the meantime
    sheet.replaceChildren(...items.map((item, place) => this.tile(item, first * columns + place, columns, row)));
    scroller.setAttribute("aria-activedescendant", `tile-${this.at}`);
  }

  /**
   * @param {import("./item_list.js").Item} item
   * @param {number} place
   * @param {number} columns
   * @param {number} row
   */
  tile(item, place, columns, row) {
    const { cluster, confidence } = this.map.of(item.position);
    const mark = this.marks.get(item.position);
    const src = item.picture_url ?? item.thumbnail_url;
    const looks = src ? createElement("img", { src, alt: item.text || item.key, className: isSound(item) ? "sound" : "" }) : createElement("span", { className: "words", textContent: item.text || item.key });
    const words = createElement("p", {}, chip(cluster), ` ${item.key} `,
      createElement("span", { className: "number muted", textContent: confidence.toFixed(2) }));
    const tags = item.tags.length ? [createElement("span", { className: "tile-tags small", textContent: item.tags.join(", ") })] : [];
    const tile = createElement("div", { id: `tile-${place}`, className: mark ? `tile ${mark.kind}` : "tile" }, looks, words, ...tags,
      ...(mark ? [createElement("strong", { textContent: mark.words })] : []));
    tile.setAttribute("role", "option");
    tile.setAttribute("aria-selected", String(place === this.at));
    tile.style.cssText = `left:${((place % columns) * 100) / columns}%;top:${Math.floor(place / columns) * row}px;width:${100 / columns}%;height:${row}px`;
    tile.onclick = () => this.walk(place);
    tile.onpointerenter = () => this.play(item);
    return tile;
  }

  /** @param {import("./item_list.js").Item} item */
  play(item) {
    this.audio.pause();
    if (!hasMedia(item) || !isSound(item)) return;
    this.audio.src = item.media_url;
    this.audio.play().catch(() => null); // browsers play nothing before the first click or key
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    /** @type {Record<string, number>} */
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.layout.columns, ArrowDown: this.layout.columns };
    const key = event.key.toLowerCase();
    if (event.key in steps) this.walk(this.at + steps[event.key]);
    else if (key === "home") this.walk(0);
    else if (key === "end") this.walk(this.positions.length - 1);
    else if (key === "enter" || key === " ") this.walk(this.at);
    else if (key === "k") this.edit("keep");
    else if (key === "t") this.edit("typical");
    else if (key === "x") this.edit("out");
    else if (key === "m") this.edit("move");
    else if (key === "u") this.undo();
    else return;
    event.preventDefault();
  }

  /** @param {number} place */
  async walk(place) {
    if (place < 0 || place >= this.positions.length || !this.scroller) return;
    this.at = place;
    const { columns, row } = this.layout;
    const top = Math.floor(place / columns) * row;
    const { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop) this.scroller.scrollTop = top;
    else if (top + row > scrollTop + clientHeight) this.scroller.scrollTop = top + row - clientHeight;
    await this.draw(true);
    const [item] = await this.edits.items.at([this.positions[place]]);
    if (item && this.at === place) this.play(item);
  }

  /** @param {"keep" | "typical" | "out" | "move"} kind */
  async edit(kind) {
    const position = this.positions[this.at];
    const cluster = Number(this.target?.value);
    if (!this.isEditable || !this.status || position === undefined) return;
    if (kind === "move" && !cluster) {
      this.status.textContent = "Choose above which cluster it moves to.";
      this.target?.focus();
      return;
    }
    const before = this.marks.get(position);
    if (before) await this.edits.takeBack(before.number);
    const { number, sentence } = await this.edits.make(kind === "move" ? { kind, cluster } : { kind }, [position]);
    this.status.textContent = sentence;
    if (!number) return void this.marks.delete(position);
    this.marks.set(position, { kind, number, words: kind === "move" ? `moved to ${cluster}` : MARKS[kind] });
    if (this.positions[this.at] === position) await this.walk(Math.min(this.at + 1, this.positions.length - 1));
  }

  /** Take the newest edit of this gallery back, and go to its item. */
  async undo() {
    const newest = [...this.marks].pop();
    if (!newest || !this.status) return;
    const [position, { number }] = newest;
    this.marks.delete(position);
    this.status.textContent = await this.edits.takeBack(number);
    await this.walk(this.positions.indexOf(position));
  }
}
