// The bar above listed items: what can be done with all that are selected.

import { createElement } from "../web/dom.js";
import { MOST_EDITED, clusterChoice, clustersOf } from "./edits.js";
import { Gallery } from "./gallery.js";
import { hasMedia, isSound } from "./item_list.js";

/** @typedef {import("./edits.js").Change} Change */
/** @typedef {import("./edits.js").Edits} Edits */
/** @typedef {import("./map.js").ClusterMap} ClusterMap */

export class SelectionBar {
  /** @type {number[]} */
  positions = [];
  /** @type {HTMLElement | null} */
  bar = null;
  status = createElement("span", { className: "muted small" });
  undo = createElement("button", { type: "button", className: "small", textContent: "Undo", hidden: true });

  /**
   * @param {Edits} edits
   * @param {ClusterMap} map
   * @param {(cluster: number) => string} nameOf
   */
  constructor(edits, map, nameOf) {
    this.edits = edits;
    this.map = map;
    this.nameOf = nameOf;
    this.gallery = new Gallery(edits, map, nameOf);
    this.status.setAttribute("role", "status");
  }

  /**
   * Return the bar for these items.
   * @param {string} title
   * @param {number[]} positions
   */
  show(title, positions) {
    this.undo.hidden = true;
    this.status.textContent = "";
    return (this.bar = this.#make(title, positions));
  }

  /**
   * Offer what can be done with the clusters of a new run, unless somebody is choosing; what was said last stays.
   * @param {string} title
   * @param {number[]} positions
   */
  update(title, positions) {
    if (!this.bar || this.bar.contains(document.activeElement) || this.playing) return;
    const old = this.bar;
    this.bar = this.#make(title, positions);
    old.replaceWith(this.bar);
  }

  /**
   * @param {string} title
   * @param {number[]} positions
   */
  #make(title, positions) {
    this.positions = positions;
    const points = this.map.target;
    const clusters = clustersOf(positions, points);
    const tooMany = positions.length > MOST_EDITED;
    const move = clusterChoice(points, this.nameOf, "Move to…");
    move.onchange = () => move.value && this.edit({ kind: "move", cluster: Number(move.value) });
    const merge = clusterChoice(points, this.nameOf, `Merge cluster ${clusters[0]} into…`);
    merge.onchange = () => merge.value && this.edit({ kind: "merge", cluster: Number(merge.value), other: clusters[0] });
    merge.hidden = clusters.length !== 1;
    const numbers = move.options.length - 1;
    const change = (/** @type {string} */ text, /** @type {string} */ kind, /** @type {string} */ hint) =>
      this.button(text, hint, () => this.edit({ kind }));
    const changes = [
      move,
      change("Belong together", "together", "They come into one cluster"),
      change("Keep apart", "apart", "Each comes into another cluster"),
      change("Split off", "split", "They become a cluster of their own"),
    ];
    for (const element of changes) element.disabled = tooMany;
    changes[2].disabled ||= positions.length > numbers; // only so many can be apart
    const bar = createElement("div", { className: "selection-bar" },
      this.button("Gallery", "Large pictures of all of them", () => this.gallery.open(title, positions)),
      this.button("Play", "Play the sounds one after the other", (button) => this.play(button)),
      ...changes,
      merge,
      ...(clusters.length === 1 ? [this.button("Name", "Name their cluster", () => document.getElementById(`name-${clusters[0]}`)?.focus())] : []),
      this.button("Ask about these", "Labelers are asked about them next", () => this.ask()),
      this.button("Export", "Their keys, clusters and confidence as CSV", () => this.export()),
      createElement("p", {}, this.status, " ", this.undo));
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", "What to do with the selected items");
    if (tooMany) this.status.textContent = `Up to ${MOST_EDITED} items can be changed at once.`;
    return bar;
  }

  /**
   * @param {string} textContent
   * @param {string} title
   * @param {(button: HTMLButtonElement) => void} act
   */
  button(textContent, title, act) {
    const button = createElement("button", { type: "button", className: "small", textContent, title });
    button.onclick = () => act(button);
    return button;
  }

  /** @param {Change} change */
  async edit(change) {
    const { number, sentence } = await this.edits.make(change, this.positions);
    this.status.textContent = sentence;
    for (const choice of document.querySelectorAll(".selection-bar select")) if (choice instanceof HTMLSelectElement) choice.value = "";
    this.undo.hidden = !number;
    this.undo.onclick = async () => {
      this.undo.hidden = true;
      this.status.textContent = await this.edits.takeBack(number);
    };
  }

  async ask() {
    if (this.positions.length > MOST_EDITED) {
      this.status.textContent = `Questions can be about ${MOST_EDITED} items at most.`;
      return;
    }
    const problem = await this.edits.items.askAbout(this.positions);
    this.status.textContent = problem || "The next run's questions are about these items.";
  }

  async export() {
    const rows = await this.edits.items.all(this.positions);
    const text = ["item,cluster,confidence", ...rows.map(({ key, position }) => {
      const { cluster, confidence } = this.map.of(position);
      // A spreadsheet would compute a key that begins like a formula.
      const safe = /^[=+\-@\t\r]/.test(key) ? `'${key}` : key;
      return `"${safe.replaceAll('"', '""')}",${cluster},${confidence.toFixed(4)}`;
    })].join("\r\n");
    const link = createElement("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: "selection.csv" });
    link.click();
    URL.revokeObjectURL(link.href);
    this.status.textContent = `${rows.length.toLocaleString("en")} rows exported.`;
  }

  /**
   * Play the selected sounds one after the other, until the button is pressed again.
   * @param {HTMLButtonElement} button
   */
  async play(button) {
    if (this.playing) {
      this.playing.pause();
      this.playing = null;
      button.textContent = "Play";
      return;
    }
    const audio = (this.playing = new Audio());
    button.textContent = "Stop";
    for (const position of this.positions) {
      const [item] = await this.edits.items.at([position]);
      if (this.playing !== audio) return;
      if (!item || !hasMedia(item) || !isSound(item)) continue;
      this.status.textContent = `Playing ${item.key}`;
      audio.src = item.media_url;
      await audio.play().catch(() => null);
      await new Promise((resolve) => (audio.onended = audio.onpause = audio.onerror = resolve));
      if (this.playing !== audio) return;
    }
    this.playing = null;
    button.textContent = "Play";
    this.status.textContent = "";
  }

  /** @type {HTMLAudioElement | null} */
  playing = null;
}
