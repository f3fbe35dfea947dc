// A run's page: its map, beside it that of another run with every item in the same place, and its progress until it is
// done.

import { addMapButtons } from "../dashboard/cluster_cards.js";
import { ItemStore } from "../dashboard/item_list.js";
import { ItemTooltip } from "../dashboard/item_tooltip.js";
import { ClusterMap } from "../dashboard/map.js";
import { fetchPoints, STRIDE } from "../dashboard/map_points.js";
import { MapTools } from "../dashboard/map_tools.js";
import { Resolution } from "../dashboard/resolution.js";
import { byId, query } from "../web/dom.js";
import { follow, showStarved } from "../web/events.js";
import { sendFormsInPlace } from "../web/live.js";
import { playOnClick } from "../web/player.js";
import { readBody } from "../web/problem.js";
import { keepTimesCurrent } from "../web/relative_times.js";

/** @typedef {import("../web/events.js").RunEvent} RunEvent */

/** A map that others follow: what moves one moves all. */
class LinkedMap extends ClusterMap {
  /** @type {LinkedMap[]} */
  followers = [];
  /** @type {Float32Array | null} */
  commonPoints = null;

  /**
   * Fit the view to the points of all maps, so that an item has the same place in each, even if a map has fewer items.
   * @override
   * @param {Float32Array} points
   */
  fit(points) {
    super.fit(this.commonPoints ?? points);
  }

  /** @override */
  draw() {
    super.draw();
    for (const follower of this.followers) follower.follow(this);
  }

  /** @param {LinkedMap} leader */
  follow({ view, isTouched, pinned }) {
    this.view = { ...view };
    this.isTouched = isTouched;
    this.pinned = pinned;
    super.draw();
  }
}

/**
 * Return the clusters of one run at the places of another; items that only one of the runs has are left out.
 * @param {Float32Array} points
 * @param {Float32Array} places
 */
function inPlaces(points, places) {
  const placed = points.slice(0, Math.min(points.length, places.length));
  for (let i = 0; i < placed.length; i += STRIDE) [placed[i], placed[i + 1]] = [places[i], places[i + 1]];
  return placed;
}

/**
 * Return a cluster's name from the header of its row or column in the table of counts.
 * @param {string} side
 * @param {number} cluster
 */
function nameOf(side, cluster) {
  const head = document.querySelector(`.heat [data-${side}="${cluster}"]`);
  return head?.textContent?.replace(/^\s*\d+/, "").trim() ?? "";
}

/** @param {HTMLElement} container */
async function showMaps(container) {
  const { api = "" } = container.dataset;
  const items = new ItemStore(api);
  const canvases = [...container.querySelectorAll("canvas")];
  const maps = canvases.map((canvas) => {
    /** @type {LinkedMap} */
    const map = new LinkedMap(canvas, {
      onPoint: (...place) => tooltip.hover(...place),
      onPick: (...place) => tooltip.pin(...place),
      onLasso: (positions) => tools.listCircled(map, positions),
      onOpen: () => tooltip.open(),
    });
    const tooltip = new ItemTooltip(query(/** @type {Element} */ (canvas.parentElement), ".tooltip"), items, map, (cluster) =>
      map === runMap && resolution.number ? "" : nameOf(canvas.dataset.side ?? "", cluster)); // names belong to the run's own clusters
    return map;
  });
  const runMap = maps[maps.length - 1];
  const tools = new MapTools(maps, items);
  const resolution = new Resolution(api, runMap);
  for (const map of maps) map.followers = maps.filter((follower) => follower !== map);
  document.addEventListener("tercet:updated", () => {
    addMapButtons(runMap);
    resolution.updateControls();
  });
  addMapButtons(runMap);
  const points = await Promise.all(canvases.map((canvas) => fetchPoints(api, canvas.dataset.run ?? "")));
  const places = points[points.length - 1];
  maps.forEach((map, k) => {
    map.commonPoints = places;
    map.show(inPlaces(points[k], places));
  });
  resolution.enter(runMap.canvas.dataset.run ?? "", runMap.target);
}

/**
 * Follow a run that is not done yet: show its progress, and reload the page when it is done.
 * @param {HTMLElement} notice
 */
function followRun({ dataset: { api, run } }) {
  const onRun = (/** @type {RunEvent} */ { number, status, progress, starved }) => {
    if (number !== Number(run) || status === "queued") return;
    if (status !== "running") {
      location.reload();
      return;
    }
    byId("progress", HTMLProgressElement).value = progress;
    byId("status").textContent = status;
    showStarved(starved);
    byId("waiting-text").textContent = "It is being computed. This page shows the result as soon as it is there.";
  };
  follow(`${api}/events`, { run: onRun }, async (state) => {
    if (state !== "live") return;
    const response = await fetch(`${api}/runs/${run}`); // in case it ended after the page was rendered and before the event stream was open
    const stored = response.ok ? await readBody(response) : null;
    if (stored) onRun(stored);
  });
}

document.documentElement.classList.add("js");
sendFormsInPlace();
playOnClick();
keepTimesCurrent();
const waiting = document.getElementById("waiting");
const maps = document.getElementById("maps");
if (waiting) followRun(waiting);
if (maps) showMaps(maps);
