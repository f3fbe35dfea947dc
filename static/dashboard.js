// The dashboard: wires the map, the cards, the list of picked items and the live figures together.

import { dressCards } from "./cards.js";
import { follow } from "./events.js";
import { catchUpAfterTyping, refresh, sendFormsInPlace } from "./live.js";
import { ClusterMap } from "./map.js";
import { MapTools } from "./map_tools.js";
import { Items } from "./picks.js";
import { playOnClick } from "./player.js";
import { Resolution } from "./resolution.js";
import { keepTimes } from "./times.js";
import { Tip } from "./tip.js";

const FIGURES_MS = 2000; // the figures follow a stream of answers no faster than this

const board = document.getElementById("board");
const api = board.dataset.api;
const canvas = document.getElementById("map");
const items = new Items(api);
const map = new ClusterMap(canvas, {
  onPoint: (...place) => tip.hover(...place),
  onPick: (...place) => tip.pin(...place),
  onLasso: (positions) => tools.circled(map, positions),
});
const tip = new Tip(document.getElementById("tip"), items, map, nameOf);
const tools = new MapTools([map], items);
const resolution = new Resolution(api, map);
let shownRun = "";

document.documentElement.classList.add("js");

function nameOf(cluster) {
  if (resolution.number) return ""; // names belong to the run's own clusters
  return document.getElementById(`name-${cluster}`)?.value ?? "";
}

async function loadMap() {
  const run = document.getElementById("clusters").dataset.run;
  if (!run || run === shownRun) return;
  shownRun = run;
  const response = await fetch(`${api}/runs/${run}/map`);
  if (!response.ok) throw new Error(`the map of run ${run} could not be read: ${response.status}`);
  const points = new Float32Array(await response.arrayBuffer());
  if (run !== shownRun) return;
  map.show(points);
  canvas.dataset.run = run;
  resolution.enter(run, points);
}

function onShown() {
  dressCards(map);
  resolution.dress();
  loadMap();
}

let later = 0;
function refreshSoon() {
  later ||= setTimeout(() => {
    later = 0;
    refresh();
  }, FIGURES_MS);
}

const announced = { done: "finished", failed: "failed", cancelled: "was cancelled" };

function onRun({ number, purpose, status, progress }) {
  const bar = document.getElementById("progress");
  if (purpose !== "current") refreshSoon();
  else if (status === "running" && bar) bar.value = progress;
  else if (status !== "done") refresh(); // a done run is followed by the event "clusters"
  if (announced[status]) document.getElementById("news").textContent = `Run ${number} ${announced[status]}.`;
}

function onAnswers(counts) {
  for (const place of document.querySelectorAll("[data-answers]")) {
    const value = counts[place.dataset.answers];
    if (value !== undefined) place.textContent = value.toLocaleString("en");
  }
  refreshSoon();
}

function onState(state) {
  const words = { live: "live", reconnecting: "reconnecting…", closed: "not live: reload the page" };
  document.getElementById("connection").textContent = words[state];
  if (state === "live") refresh(); // what happened while nobody listened
}

document.addEventListener("tercet:shown", onShown);
sendFormsInPlace();
catchUpAfterTyping();
playOnClick();
keepTimes();
onShown();
follow(`${api}/events`, { run: onRun, clusters: refresh, project: refresh, answers: onAnswers }, onState);
