// Clusters of another number at once: the run stored them, so the slider only colours the map anew and lists sizes.

import { markChosen } from "./cards.js";
import { chip, element } from "./picks.js";
import { ofResolution, sizes, withClusters } from "./map_points.js";

export class Resolution {
  constructor(api, map) {
    Object.assign(this, { api, map });
    this.number = 0; // the number looked at; 0 is the run's own
    this.list = document.getElementById("resolved");
    document.addEventListener("input", (event) => {
      if (event.target.matches("#resolution-slider, #resolution-number")) this.look(Number(event.target.value));
    });
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[data-resolution]");
      if (button) this.look(Number(button.dataset.resolution));
    });
  }

  get section() {
    return document.getElementById("resolution");
  }

  get own() {
    return Number(this.section.dataset.own);
  }

  // A run's points are on the map: what was looked at before is looked at in the new run, if it has it.
  enter(run, points) {
    Object.assign(this, { run, points, rows: null });
    return this.look(this.own ? this.number : 0);
  }

  async look(number) {
    this.number = number === this.own ? 0 : number;
    if (this.number && !(await this.load())) this.number = 0;
    this.show();
  }

  async load() {
    const { run } = this;
    if (!this.rows) {
      const response = await fetch(`${this.api}/runs/${run}/resolutions`);
      const rows = response.ok ? new Uint8Array(await response.arrayBuffer()) : null;
      if (run === this.run) this.rows = rows;
    }
    return this.rows;
  }

  show() {
    const elsewhere = this.number > 0;
    const points = elsewhere ? withClusters(this.points, ofResolution(this.rows, this.points, this.number)) : this.points;
    this.draw(points);
    this.dress();
    document.getElementById("clusters").hidden = elsewhere;
    this.list.hidden = !elsewhere;
    this.list.replaceChildren(...(elsewhere ? this.listed(points) : []));
  }

  draw(points) {
    const { map } = this;
    if (points === map.target) return;
    map.choose(0);
    map.recolor(points);
    map.canvas.dataset.clusters = sizes(points).length;
    markChosen(map);
  }

  // What the server sends works without a script: with one there is a slider beside it.
  dress() {
    const slider = document.getElementById("resolution-slider");
    if (!slider) return;
    const shown = String(this.number || this.own);
    slider.hidden = false;
    slider.value = document.getElementById("resolution-number").value = shown;
    slider.setAttribute("aria-valuetext", `${shown} clusters`);
    const suggested = this.section.querySelector("[data-resolution]");
    suggested.hidden = suggested.dataset.resolution === shown;
  }

  listed(points) {
    const heading = element("h2", { textContent: `${this.number} clusters` });
    const back = element("button", { type: "button", className: "small", textContent: `Back to the run's ${this.own}` });
    back.dataset.resolution = String(this.own);
    const rows = sizes(points).map(([cluster, size]) => row(cluster, size));
    return [element("header", {}, heading, back), element("ol", { className: "clusters" }, ...rows)];
  }
}

function row(cluster, size) {
  const button = element("button", { type: "button", title: "Show on the map" }, chip(cluster));
  button.dataset.choose = String(cluster);
  const items = element("button", { type: "button", className: "link", textContent: `${size.toLocaleString("en")} item${size === 1 ? "" : "s"}` });
  items.dataset.list = String(cluster);
  const made = element("li", { className: "cluster" }, element("h3", {}, button), items);
  made.dataset.cluster = String(cluster);
  return made;
}
