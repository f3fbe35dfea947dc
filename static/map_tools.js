// What a page does with its maps: the buttons beside them, the lasso, a cluster shown alone, items listed. The dashboard
// has one map; a run's page may have two that move together, and cards speak of the last one.

import { choose } from "./cards.js";
import { ofCluster } from "./map_points.js";
import { Picks } from "./picks.js";

export class MapTools {
  constructor(maps, items) {
    const panel = document.getElementById("picks");
    this.maps = maps;
    this.picks = new Map(maps.map((map) => [map, new Picks(panel, items, map)]));
    this.tools = {
      in: () => this.own.zoom(1.4),
      out: () => this.own.zoom(1 / 1.4),
      reset: () => this.own.reset(),
      lasso: () => this.setLasso(!this.own.lassoMode),
    };
    document.addEventListener("click", (event) => this.click(event));
  }

  get own() {
    return this.maps.at(-1);
  }

  click(event) {
    const tool = event.target.closest("[data-map]");
    const chosen = event.target.closest("[data-choose]");
    const listed = event.target.closest("[data-list]");
    if (tool) this.tools[tool.dataset.map]();
    if (chosen) choose(this.own, Number(chosen.dataset.choose));
    if (listed && this.own.target) {
      event.preventDefault();
      this.list(Number(listed.dataset.list));
    }
  }

  setLasso(on) {
    for (const map of this.maps) {
      map.lassoMode = on;
      map.canvas.classList.toggle("lassoing", on);
    }
    document.querySelector('[data-map="lasso"]').setAttribute("aria-pressed", String(on));
  }

  // A map's lasso was closed around these items.
  circled(map, positions) {
    this.setLasso(false);
    this.show(map, this.maps.length > 1 ? `Circled, clusters of run ${map.canvas.dataset.run}` : "Circled", positions);
  }

  list(cluster) {
    this.show(this.own, `Cluster ${cluster}`, ofCluster(this.own.target, cluster));
  }

  show(map, title, positions) {
    const picks = this.picks.get(map);
    picks.list(title, positions);
    picks.panel.scrollIntoView({ block: "nearest", behavior: map.motion ? "smooth" : "instant" });
  }
}
