// Shows clusterings with other numbers of clusters: the run stored them, so the slider only changes colours and sizes.

import { byId, closest, createElement, query } from "../web/dom.js";
import { markChosen } from "./cluster_cards.js";
import { chip } from "./item_list.js";
import { clusterSizes, ofResolution, withClusters } from "./map_points.js";

export class Resolution {
  number = 0; // of the clusters on the map; 0 stands for the run's own
  run = "";
  /** @type {Float32Array} */
  points = new Float32Array();
  /** @type {Uint8Array | null} the clusters of every number, once they are loaded */
  clusters = null;

  /**
   * @param {string} api
   * @param {import("./map.js").ClusterMap} map
   */
  constructor(api, map) {
    this.api = api;
    this.map = map;
    this.list = byId("resolution-clusters");
    document.addEventListener("input", (event) => {
      const input = event.target;
      if (!(input instanceof HTMLInputElement || input instanceof HTMLSelectElement)) return;
      if (input.matches("#resolution-slider, #resolution-number")) this.select(Number(input.value));
    });
    document.addEventListener("click", (event) => {
      const button = closest(event, "[data-resolution]");
      if (!button) return;
      this.select(Number(button.dataset.resolution));
      document.getElementById("resolution-slider")?.focus(); // the button goes
    });
  }

  /** The run's own number of clusters, 0 if it has no others. */
  get runNumber() {
    return Number(byId("resolution").dataset.own);
  }

  /**
   * Show the points of a run: the number of clusters selected before stays selected, if the new run has it.
   * @param {string} run
   * @param {Float32Array} points
   */
  enter(run, points) {
    this.run = run;
    this.points = points;
    this.clusters = null;
    return this.select(this.runNumber ? this.number : 0);
  }

  /** @param {number} number */
  async select(number) {
    this.number = number === this.runNumber ? 0 : number;
    const clusters = this.number ? await this.load() : null;
    if (!clusters) this.number = 0;
    this.show(clusters);
  }

  async load() {
    const { run } = this;
    if (!this.clusters) {
      const response = await fetch(`${this.api}/runs/${run}/resolutions`);
      const clusters = response.ok ? new Uint8Array(await response.arrayBuffer()) : null;
      if (run === this.run) this.clusters = clusters;
    }
    return this.clusters;
  }

  /** @param {Uint8Array | null} clusters */
  show(clusters) {
    const isOther = clusters !== null && this.number > 0;
    const points = isOther ? withClusters(this.points, ofResolution(clusters, this.points, this.number)) : this.points;
    this.draw(points);
    this.updateControls();
    byId("clusters").hidden = isOther;
    this.list.hidden = !isOther;
    this.list.replaceChildren(...(isOther ? this.describe(points) : []));
  }

  /** @param {Float32Array} points */
  draw(points) {
    const { map } = this;
    if (points === map.target) return;
    map.choose(0);
    map.recolor(points);
    map.canvas.dataset.clusters = String(clusterSizes(points).length);
    markChosen(map);
  }

  /** Show the number on the slider, which stands beside what the server sends for browsers without a script. */
  updateControls() {
    const slider = document.getElementById("resolution-slider");
    if (!(slider instanceof HTMLInputElement)) return;
    const number = String(this.number || this.runNumber);
    slider.hidden = false;
    slider.value = byId("resolution-number", HTMLSelectElement).value = number;
    slider.setAttribute("aria-valuetext", `${number} clusters`);
    const suggested = query(byId("resolution"), "[data-resolution]");
    suggested.hidden = suggested.dataset.resolution === number;
  }

  /** @param {Float32Array} points */
  describe(points) {
    const heading = createElement("h2", { textContent: `${this.number} clusters` });
    const back = createElement("button", { type: "button", className: "small", textContent: `Back to the run's ${this.runNumber}` });
    back.dataset.resolution = String(this.runNumber);
    const cards = clusterSizes(points).map(([cluster, size]) => clusterCard(cluster, size));
    return [createElement("header", {}, heading, back), createElement("ol", { className: "clusters" }, ...cards)];
  }
}

/**
 * @param {number} cluster
 * @param {number} size
 */
function clusterCard(cluster, size) {
  const button = createElement("button", { type: "button", title: "Show on the map" }, chip(cluster));
  button.dataset.choose = String(cluster);
  const textContent = `${size.toLocaleString("en")} item${size === 1 ? "" : "s"}`;
  const items = createElement("button", { type: "button", className: "link", textContent });
  items.dataset.list = String(cluster);
  const card = createElement("li", { className: "cluster" }, createElement("h3", {}, button), items);
  card.dataset.cluster = String(cluster);
  return card;
}
