// Two runs side by side: a flow of items that moved opens in the gallery.

import { Edits } from "../dashboard/edits.js";
import { Gallery } from "../dashboard/gallery.js";
import { ItemStore } from "../dashboard/item_list.js";
import { CLUSTER, CONFIDENCE, fetchPoints, STRIDE } from "../dashboard/map_points.js";
import { byId, closest } from "../web/dom.js";
import { playOnClick } from "../web/player.js";
import { keepTimesCurrent } from "../web/relative_times.js";

const moved = byId("moved");
const { api = "", before = "", now = "" } = moved.dataset;

/**
 * Return the positions of the items that went from one cluster to the other.
 * @param {Float32Array} earlier
 * @param {Float32Array} later
 * @param {number} from
 * @param {number} to
 */
function itemsOfFlow(earlier, later, from, to) {
  const positions = [];
  for (let i = CLUSTER; i < Math.min(earlier.length, later.length); i += STRIDE) {
    if (earlier[i] === from && later[i] === to) positions.push((i - CLUSTER) / STRIDE);
  }
  return positions;
}

/** @param {HTMLElement} button */
async function open(button) {
  const [from, to] = (button.dataset.gallery ?? "").split(" ").map(Number);
  const [earlier, later] = await Promise.all([fetchPoints(api, before), fetchPoints(api, now)]);
  const points = {
    target: later,
    of: (/** @type {number} */ position) => ({ cluster: later[position * STRIDE + CLUSTER], confidence: later[position * STRIDE + CONFIDENCE] }),
  };
  const gallery = new Gallery(new Edits(api, new ItemStore(api)), points, () => "");
  gallery.open(`Moved from ${from} to ${to}`, itemsOfFlow(earlier, later, from, to), "editable" in moved.dataset);
}

document.documentElement.classList.add("js");
playOnClick();
keepTimesCurrent();
document.addEventListener("click", (event) => {
  const button = closest(event, "[data-gallery]");
  if (button) open(button);
});
