// The tools of a page's maps: buttons, lasso, showing one cluster, listing items. The dashboard has one map; a run's page
// may have two that move together, and buttons and cards act on the last one.

import { byId, closest, query } from "../web/dom.js";
import { choose } from "./cluster_cards.js";
import { save, savePicture } from "./find.js";
import { ItemList } from "./item_list.js";
import { MapPictures } from "./map_pictures.js";
import { itemsOfCluster } from "./map_points.js";
import { toSvg } from "./map_svg.js";

/** @typedef {import("./map.js").ClusterMap} ClusterMap */

export class MapTools {
  /**
   * @param {ClusterMap[]} maps
   * @param {import("./item_list.js").ItemStore} items
   * @param {import("./selection_bar.js").SelectionBar | null} bar
   */
  constructor(maps, items, bar = null) {
    const panel = byId("item-list");
    this.maps = maps;
    this.main = maps[maps.length - 1];
    for (const map of maps) map.pictures = new MapPictures(map, items, query(document, '[data-map="pictures"]'));
    this.lists = new Map(maps.map((map) => [map, new ItemList(panel, items, map, bar)]));
    /** @type {Record<string, () => void>} */
    this.tools = {
      in: () => this.main.zoom(1.4),
      out: () => this.main.zoom(1 / 1.4),
      reset: () => this.main.reset(),
      lasso: () => this.setLasso(!this.main.lassoMode || this.main.isBoxMode, false),
      box: () => this.setLasso(!this.main.lassoMode || !this.main.isBoxMode, true),
      pictures: () => this.maps.forEach((map) => map.pictures?.toggle()),
      picture: () => savePicture(this.main.canvas, "map"),
      svg: () => save(new Blob([toSvg(this.main)], { type: "image/svg+xml" }), "map.svg"),
    };
    document.addEventListener("click", (event) => this.click(event));
  }

  /** @param {MouseEvent} event */
  click(event) {
    const tool = closest(event, "[data-map]");
    const clusterButton = closest(event, "[data-choose]");
    const listButton = closest(event, "[data-list]");
    if (tool) this.tools[tool.dataset.map ?? ""]();
    if (clusterButton) choose(this.main, Number(clusterButton.dataset.choose));
    if (listButton && this.main.target.length) {
      event.preventDefault();
      const cluster = Number(listButton.dataset.list);
      this.list(this.main, `Cluster ${cluster}`, itemsOfCluster(this.main.target, cluster));
    }
  }

  /**
   * @param {boolean} isOn
   * @param {boolean} isBox
   */
  setLasso(isOn, isBox = false) {
    for (const map of this.maps) {
      map.lassoMode = isOn;
      map.isBoxMode = isOn && isBox;
      map.canvas.classList.toggle("lassoing", isOn);
    }
    query(document, '[data-map="lasso"]').setAttribute("aria-pressed", String(isOn && !isBox));
    query(document, '[data-map="box"]').setAttribute("aria-pressed", String(isOn && isBox));
  }

  /**
   * List the items within a map's lasso.
   * @param {ClusterMap} map
   * @param {number[]} positions
   */
  listCircled(map, positions) {
    this.setLasso(false);
    this.list(map, this.maps.length > 1 ? `Circled, clusters of run ${map.canvas.dataset.run}` : "Circled", positions);
  }

  /**
   * Add an item to those that are selected, or take it out.
   * @param {ClusterMap} map
   * @param {number} position
   */
  toggle(map, position) {
    const others = map.selected.filter((selected) => selected !== position);
    const positions = others.length < map.selected.length ? others : [...others, position];
    // Without scrolling, and without the focus: the next item is chosen where it is now.
    this.lists.get(map)?.show("Selected", positions, false);
  }

  /**
   * Show the clusters of a new run in the list that is open.
   * @param {string} run
   */
  update(run) {
    for (const list of this.lists.values()) list.update(run);
  }

  /**
   * @param {ClusterMap} map
   * @param {string} title
   * @param {number[]} positions
   */
  list(map, title, positions) {
    const list = this.lists.get(map);
    if (!list) return;
    list.show(title, positions);
    list.panel.scrollIntoView({ block: "nearest", behavior: map.hasMotion ? "smooth" : "instant" });
  }
}
