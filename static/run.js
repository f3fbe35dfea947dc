// A run's page: its map, another grouping's beside it with every item in the same place, and the way to its result.

import { dressCards } from "./cards.js";
import { follow } from "./events.js";
import { sendFormsInPlace } from "./live.js";
import { ClusterMap } from "./map.js";
import { STRIDE } from "./map_points.js";
import { MapTools } from "./map_tools.js";
import { Items } from "./picks.js";
import { playOnClick } from "./player.js";
import { Resolution } from "./resolution.js";
import { keepTimes } from "./times.js";
import { Tip } from "./tip.js";

// A map that others follow: what moves one moves all.
class LinkedMap extends ClusterMap {
  link(others) {
    this.others = others;
  }

  // The same box for all, so that the same place is the same item even where a map has fewer of them.
  fit(points) {
    super.fit(this.common ?? points);
  }

  draw() {
    super.draw();
    for (const other of this.others ?? []) other.follow(this);
  }

  follow({ view, touched, pinned }) {
    Object.assign(this, { view: { ...view }, touched, pinned });
    super.draw();
  }
}

const board = document.getElementById("maps");
const waiting = document.getElementById("waiting");

async function pointsOf(api, run) {
  const response = await fetch(`${api}/runs/${run}/map`);
  if (!response.ok) throw new Error(`the map of run ${run} could not be read: ${response.status}`);
  return new Float32Array(await response.arrayBuffer());
}

// The clusters of one run in the places of another; items that only one of them has are left out.
function inPlaces(points, places) {
  const moved = points.slice(0, Math.min(points.length, places.length));
  for (let i = 0; i < moved.length; i += STRIDE) [moved[i], moved[i + 1]] = [places[i], places[i + 1]];
  return moved;
}

function nameOf(side, cluster) {
  const head = document.querySelector(`.heat [data-${side}="${cluster}"]`);
  return head ? head.textContent.replace(/^\s*\d+/, "").trim() : "";
}

let tools = null;
let resolution = null;

function makeMap(canvas, items) {
  const map = new LinkedMap(canvas, {
    onPoint: (...place) => tip.hover(...place),
    onPick: (...place) => tip.pin(...place),
    onLasso: (positions) => tools.circled(map, positions),
  });
  const box = canvas.parentElement.querySelector(".tip");
  // Names belong to the run's own clusters.
  const named = (cluster) => (map === resolution.map && resolution.number ? "" : nameOf(canvas.dataset.side, cluster));
  const tip = new Tip(box, items, map, named);
  return map;
}

async function showMaps() {
  const { api } = board.dataset;
  const canvases = [...board.querySelectorAll("canvas")];
  const items = new Items(api);
  const maps = canvases.map((canvas) => makeMap(canvas, items));
  const own = maps.at(-1);
  maps.forEach((map) => map.link(maps.filter((other) => other !== map)));
  tools = new MapTools(maps, items);
  resolution = new Resolution(api, own);
  document.addEventListener("tercet:shown", () => {
    dressCards(own);
    resolution.dress();
  });
  dressCards(own);
  const points = await Promise.all(canvases.map((canvas) => pointsOf(api, canvas.dataset.run)));
  const places = points.at(-1);
  maps.forEach((map, k) => {
    map.common = places;
    map.show(inPlaces(points[k], places));
  });
  resolution.enter(own.canvas.dataset.run, own.target);
}

// A run that is not done yet: the page says how far it is, and becomes its result's.
function wait() {
  const { api, run } = waiting.dataset;
  const bar = document.getElementById("progress");
  const onRun = ({ number, status, progress }) => {
    if (number !== Number(run)) return;
    if (status === "queued") return;
    if (status !== "running") return void location.reload();
    bar.value = progress;
    document.getElementById("status").textContent = status;
    document.getElementById("waiting-words").textContent = "It is being computed. This page shows the result as soon as it is there.";
  };
  // What happened between the page and the stream.
  const catchUp = async (state) => {
    if (state !== "live") return;
    const response = await fetch(`${api}/runs/${run}`);
    if (response.ok) onRun(await response.json());
  };
  follow(`${api}/events`, { run: onRun }, catchUp);
}

document.documentElement.classList.add("js");
sendFormsInPlace();
playOnClick();
keepTimes();
if (waiting) wait();
if (board) showMaps();
