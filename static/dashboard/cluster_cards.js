// The cards of clusters: makes the number of each a button that shows only this cluster on the map.

import { createElement } from "../web/dom.js";

/** @typedef {import("./map.js").ClusterMap} ClusterMap */

/** @returns {NodeListOf<HTMLElement>} */
function cards() {
  return document.querySelectorAll(".cluster");
}

/** @param {ClusterMap} map */
export function addMapButtons(map) {
  for (const card of cards()) {
    const label = card.querySelector("h3 .chip");
    if (!label || label.closest("button")) continue;
    const button = createElement("button", { type: "button", title: "Show on the map" });
    button.dataset.choose = card.dataset.cluster;
    label.replaceWith(button);
    button.append(label);
  }
  markChosen(map);
}

/** @param {ClusterMap} map */
export function markChosen(map) {
  for (const card of cards()) {
    const isChosen = Number(card.dataset.cluster) === map.chosen;
    card.classList.toggle("chosen", isChosen);
    card.querySelector("[data-choose]")?.setAttribute("aria-pressed", String(isChosen));
  }
}

/**
 * Show only one cluster, or all if only this one is shown already.
 * @param {ClusterMap} map
 * @param {number} cluster
 */
export function choose(map, cluster) {
  map.choose(map.chosen === cluster ? 0 : cluster);
  markChosen(map);
}
