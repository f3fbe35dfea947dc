// Colours the map by something other than clusters: doubt, bags, labelers asked, a column of metadata or a feature. The
// legend's chips make a group what the page is about, and select its items.

import { byId, createElement } from "../web/dom.js";
import { explain, readBody } from "../web/problem.js";
import { PALETTE, rampIndex, shadeIndex, UNKNOWN_SHADE } from "./colors.js";
import { CLUSTER, CONFIDENCE, STRIDE } from "./map_points.js";

/** @typedef {import("./map.js").ClusterMap} ClusterMap */
/** @typedef {{ by: string, groups: string[] | null, values: (number | null)[] }} Values */

const DOUBT = "doubt";
const SHAPES = 4;

export class Tint {
  /** @type {Values | null} */
  values = null;
  #choice = byId("tint", HTMLSelectElement);
  #legend = byId("legend");

  /**
   * @param {string} api
   * @param {ClusterMap} map
   * @param {import("./filter.js").Filter} filter
   * @param {(title: string, positions: number[]) => void} list
   */
  constructor(api, map, filter, list) {
    this.api = api;
    this.map = map;
    this.filter = filter;
    this.list = list;
    this.#choice.addEventListener("change", () => this.choose());
    this.#choice.addEventListener("focus", () => this.#offer(), { once: true });
    this.#choice.addEventListener("pointerdown", () => this.#offer(), { once: true });
  }

  async #offer() {
    if (this.#choice.options.length > 2) return;
    const response = await fetch(`${this.api}/columns`).catch(() => null);
    const { columns = [] } = (response?.ok && (await readBody(response))) || {};
    if (this.#choice.options.length > 2) return; // asked twice at once
    this.#choice.append(...columns.map((/** @type {{ by: string, title: string }} */ { by, title }) => createElement("option", { value: by, textContent: title })));
  }

  /** Colour the map by what is chosen. */
  async choose() {
    const by = this.#choice.value;
    this.values = null;
    if (by && by !== DOUBT) {
      const response = await fetch(`${this.api}/columns/values?by=${encodeURIComponent(by)}`).catch(() => null);
      const values = response?.ok ? await readBody(response) : null;
      const problem = values ? "" : response ? await explain(response) : "The server was not reached. Try again.";
      if (this.#choice.value !== by) return; // something else was chosen in the meantime
      this.values = values;
      if (problem) return this.#say(problem);
    }
    this.apply();
  }

  /** Colour the points that the map has now, which may be those of a new run. */
  apply() {
    const { map, values } = this;
    const n = map.target.length / STRIDE;
    if (this.#choice.value === DOUBT) {
      const doubt = Array.from({ length: n }, (_, position) => 1 - map.target[position * STRIDE + CONFIDENCE]);
      this.#paint(doubt, null);
      this.#legend.replaceChildren(...this.#ramp(doubt, (/** @type {number} */ value) => value.toFixed(2)));
    } else if (values) {
      this.#paint(values.values, values.groups);
      this.#legend.replaceChildren(...(values.groups ? this.#chips(values.groups, values.values) : this.#ramp(values.values, short)));
    } else if (this.#choice.value === "") {
      map.tint = map.shapes = null;
      this.#legend.replaceChildren();
    }
    map.canvas.dataset.tint = this.#choice.value;
    map.draw();
  }

  /**
   * @param {(number | null)[]} values
   * @param {string[] | null} groups
   */
  #paint(values, groups) {
    const n = this.map.target.length / STRIDE;
    const tint = new Uint16Array(n).fill(UNKNOWN_SHADE);
    const shapes = new Uint8Array(n);
    const { low, high } = extent(values);
    for (let position = 0; position < n; position += 1) {
      const value = values[position];
      if (value === null || value === undefined) continue;
      tint[position] = groups ? shadeIndex(value + 1, 1) : rampIndex((value - low) / (high - low || 1));
      shapes[position] = groups ? Math.floor(value / PALETTE) % SHAPES : 0;
    }
    [this.map.tint, this.map.shapes] = [tint, shapes];
  }

  /**
   * @param {string[]} groups
   * @param {(number | null)[]} values
   */
  #chips(groups, values) {
    /** @type {number[][]} */
    const members = groups.map(() => []);
    values.forEach((value, position) => value !== null && this.map.target[position * STRIDE + CLUSTER] > 0 && members[value].push(position));
    return groups.map((group, code) => {
      const swatch = createElement("span", { className: `swatch c${(code % PALETTE) + 1} s${Math.floor(code / PALETTE) % SHAPES}` });
      swatch.setAttribute("aria-hidden", "true");
      const button = createElement("button", { type: "button", className: "small filter-chip", title: "Select these items" }, swatch, ` ${group} `,
        createElement("span", { className: "muted number", textContent: members[code].length.toLocaleString("en") }));
      button.onclick = async () => {
        await this.filter.set({ by: this.#choice.value, value: group });
        this.list(group, members[code]);
      };
      return button;
    });
  }

  /**
   * @param {(number | null)[]} values
   * @param {(value: number) => string} words
   */
  #ramp(values, words) {
    const { low, high } = extent(values);
    const bar = createElement("span", { className: "ramp" });
    bar.setAttribute("aria-hidden", "true");
    const number = (/** @type {number} */ value) => createElement("span", { className: "number small", textContent: words(value) });
    const none = values.some((value) => value === null) ? [createElement("span", { className: "small muted", textContent: "grey: not known" })] : [];
    return [number(low), bar, number(high), ...none];
  }

  /** @param {string} sentence */
  #say(sentence) {
    this.#choice.value = "";
    this.apply();
    this.#legend.replaceChildren(createElement("span", { className: "small", textContent: sentence }));
  }
}

/** @param {(number | null)[]} values */
function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low <= high ? { low, high } : { low: 0, high: 1 };
}

/** @param {number} value */
function short(value) {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}
