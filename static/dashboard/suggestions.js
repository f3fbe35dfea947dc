// What a click on a suggestion, or on a confused pair, does: it opens a gallery, or merges two clusters.

import { byId, closest } from "../web/dom.js";
import { explain } from "../web/problem.js";
import { itemsOfCluster } from "./map_points.js";

/** @typedef {import("./map.js").ClusterMap} ClusterMap */
/** @typedef {import("./selection_bar.js").SelectionBar} SelectionBar */

/**
 * @param {string} api
 * @param {ClusterMap} map
 * @param {SelectionBar} bar
 */
export function actOnSuggestions(api, map, bar) {
  document.addEventListener("click", (event) => {
    const between = closest(event, "[data-between]");
    const cluster = closest(event, "[data-gallery]");
    const merge = closest(event, "[data-merge]");
    if (!between && !cluster && !merge) return;
    event.preventDefault();
    if (between) openBetween(api, bar, between.dataset.between ?? "");
    else if (merge) mergeClusters(bar, merge.dataset.merge ?? "");
    else if (cluster) openCluster(map, bar, Number(cluster.dataset.gallery));
  });
}

/**
 * @param {string} api
 * @param {SelectionBar} bar
 * @param {string} pair two numbers
 */
async function openBetween(api, bar, pair) {
  const [first, second] = pair.split(",");
  const run = byId("clusters").dataset.run;
  const response = await fetch(`${api}/runs/${run}/between/${first}/${second}`).catch(() => null);
  if (!response?.ok) {
    tell(response ? await explain(response) : "The server was not reached. Try again.");
    return;
  }
  const { items } = await response.json();
  bar.gallery.open(`Between ${first} and ${second}`, bar.map.only(items.map((/** @type {{ position: number }} */ item) => item.position)));
}

/**
 * @param {ClusterMap} map
 * @param {SelectionBar} bar
 * @param {number} cluster
 */
function openCluster(map, bar, cluster) {
  bar.gallery.open(`Cluster ${cluster}`, map.only(itemsOfCluster(map.target, cluster)));
}

/**
 * @param {SelectionBar} bar
 * @param {string} pair two numbers, of which the first stays
 */
async function mergeClusters(bar, pair) {
  const [cluster, other] = pair.split(",").map(Number);
  const { sentence } = await bar.edits.make({ kind: "merge", cluster, other }, []);
  tell(`${sentence} The answers page takes it back.`);
}

/** @param {string} sentence */
function tell(sentence) {
  byId("suggestion-news").textContent = sentence;
}
