// The bar above listed items: what can be done with all that are selected.

import { byId, createElement } from "../web/dom.js";
import { clusterChoice, clustersOf } from "./edits.js";
import { Gallery } from "./gallery.js";
import { hasMedia, isSound } from "./item_list.js";
import { LONGEST_TAG } from "./tags.js";

/** @typedef {import("./edits.js").Change} Change */
/** @typedef {import("./edits.js").Edits} Edits */
/** @typedef {import("./map.js").ClusterMap} ClusterMap */
/** @typedef {import("./tags.js").Tags} Tags */

const MOST_ASKED = 10_000; // items that labelers are asked about, as the server has it

export class SelectionBar {
  /** @type {number[]} */
  positions = [];
  /** @type {HTMLElement | null} */
  bar = null;
  status = createElement("span", { className: "muted small" });
  undo = createElement("button", { type: "button", className: "small", textContent: "Undo", hidden: true });

  /**
   * @param {Edits} edits
   * @param {Tags} tags
   * @param {ClusterMap} map
   * @param {(cluster: number) => string} nameOf
   */
  constructor(edits, tags, map, nameOf) {
    this.edits = edits;
    this.tags = tags;
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
    const refusal = this.edits.refusalOf(positions.length);
    const target = clusterChoice(points, this.nameOf, "Another cluster…");
    const numbers = target.options.length - 1;
    const change = (/** @type {string} */ text, /** @type {string} */ kind, /** @type {string} */ hint) =>
      this.button(text, hint, () => this.edit({ kind }));
    // Buttons make the change, not the list itself: arrow keys choose every cluster on the way to the wanted one.
    const there = (/** @type {string} */ text, /** @type {string} */ hint, /** @type {(cluster: number) => Change} */ make) =>
      this.button(text, hint, () => {
        if (target.value) this.edit(make(Number(target.value)));
        else this.#demand(target, "Choose the other cluster first.");
      });
    const merge = there(`Merge ${clusters[0]} into it`, "Their whole cluster becomes part of the one that is chosen",
      (cluster) => ({ kind: "merge", cluster, other: clusters[0] }));
    merge.hidden = clusters.length !== 1;
    const changes = [
      there("Move", "They come into the cluster that is chosen", (cluster) => ({ kind: "move", cluster })),
      change("Belong together", "together", "They come into one cluster"),
      change("Keep apart", "apart", "Each comes into another cluster"),
      change("Typical", "typical", "They stand for the clusters that they are in: labelers compare others with them"),
      change("Split off", "split", "They become a cluster of their own"),
    ];
    for (const element of changes) element.disabled = Boolean(refusal);
    changes[2].disabled ||= positions.length > numbers; // only so many can be apart
    const bar = createElement("div", { className: "selection-bar" },
      this.button("Gallery", "Large pictures of all of them", () => this.gallery.open(title, positions)),
      this.button("Play", "Play the sounds one after the other", (button) => this.play(button)),
      createElement("span", { className: "with-cluster" }, target, changes[0], merge),
      ...changes.slice(1),
      ...(clusters.length === 1 ? [this.button("Name", "Name their cluster", () => document.getElementById(`name-${clusters[0]}`)?.focus())] : []),
      this.button("Ask about these", "Labelers are asked about them next", () => this.ask()),
      this.#tagField(),
      this.button("Export", "Their keys, clusters, confidence and tags as CSV", () => this.export()),
      createElement("p", {}, this.status, " ", this.undo));
    bar.setAttribute("role", "toolbar");
    bar.setAttribute("aria-label", "What to do with the selected items");
    if (refusal) this.status.textContent = refusal;
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

  /**
   * Say what is missing, and go there.
   * @param {HTMLElement} field
   * @param {string} sentence
   */
  #demand(field, sentence) {
    this.status.textContent = sentence;
    field.focus();
  }

  /**
   * Offer to take back what was done last, or no more; who pressed the button before goes on at the top of the list.
   * @param {(() => Promise<string>) | null} undo returns a sentence
   */
  #offerUndo(undo) {
    this.undo.onclick = async () => {
      this.#offerUndo(null);
      if (undo) this.status.textContent = await undo();
    };
    if (!undo && document.activeElement === this.undo) byId("item-list-title").focus({ preventScroll: true });
    this.undo.hidden = !undo;
  }

  /** Return the field with the buttons that put a tag on the selected items, or take it off. */
  #tagField() {
    const field = createElement("input", { maxLength: LONGEST_TAG, placeholder: "tag", autocomplete: "off" });
    field.setAttribute("list", "tags");
    field.setAttribute("aria-label", "Tag");
    const send = (/** @type {"add" | "remove"} */ what) => {
      if (field.value.trim()) this.tag(what, field.value.trim(), this.positions);
      else this.#demand(field, "Write the tag first.");
    };
    field.onkeydown = (event) => {
      if (event.key === "Enter") send("add");
    };
    return createElement("span", { className: "tag-field" }, field,
      this.button("Tag", "Put this word on all of them", () => send("add")),
      this.button("Untag", "Take this word off all of them", () => send("remove")));
  }

  /**
   * Put a tag on items or take it off; what this changed can be undone.
   * @param {"add" | "remove"} what
   * @param {string} tag
   * @param {number[]} positions
   */
  async tag(what, tag, positions) {
    const changed = await this.tags.change(what, tag, positions);
    this.status.textContent = changed.sentence;
    const undo = async () => (await this.tags.change(what === "add" ? "remove" : "add", tag, changed.positions)).sentence;
    this.#offerUndo(changed.positions.length ? undo : null);
  }

  /** @param {Change} change */
  async edit(change) {
    const { number, sentence } = await this.edits.make(change, this.positions);
    this.status.textContent = sentence;
    for (const choice of document.querySelectorAll(".selection-bar select")) if (choice instanceof HTMLSelectElement) choice.value = "";
    this.#offerUndo(number ? () => this.edits.takeBack(number) : null);
  }

  async ask() {
    if (this.positions.length > MOST_ASKED) {
      this.status.textContent = `Questions can be about ${MOST_ASKED.toLocaleString("en")} items at most.`;
      return;
    }
    const problem = await this.edits.items.askAbout(this.positions);
    this.status.textContent = problem || "The next run's questions are about these items.";
  }

  async export() {
    const rows = await this.edits.items.all(this.positions);
    const text = ["item,cluster,confidence,tags", ...rows.map(({ key, position, tags }) => {
      const { cluster, confidence } = this.map.of(position);
      return [cell(key), cluster, confidence.toFixed(4), tags.length ? cell(tags.join("; ")) : ""].join(",");
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

/**
 * Return a text as a cell of CSV; a spreadsheet would compute one that begins like a formula.
 * @param {string} text
 */
function cell(text) {
  const safe = /^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}
