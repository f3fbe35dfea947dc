// The dashboard: wires the map, the cards, the list of picked items and the live figures together.

import { follow } from "./events.js";
import { catchUpAfterTyping, refresh, sendFormsInPlace } from "./live.js";
import { ClusterMap } from "./map.js";
import { ofCluster, sizes } from "./map_points.js";
import { describe, Items, Picks, picture } from "./picks.js";
import { playOnClick } from "./player.js";
import { Resolution } from "./resolution.js";
import { keepTimes } from "./times.js";

const HOVER_MS = 60; // the pointer rests this long before an item's picture is fetched
const FIGURES_MS = 2000; // the figures follow a stream of answers no faster than this

const board = document.getElementById("board");
const api = board.dataset.api;
const canvas = document.getElementById("map");
const tip = document.getElementById("tip");
const items = new Items(api);
const map = new ClusterMap(canvas, { onPoint: hover, onPick: pin, onLasso: lasso });
const picks = new Picks(document.getElementById("picks"), items, map);
const resolution = new Resolution(api, recolor);
let shownRun = "";
let hovering = 0;
let pinned = -1;

document.documentElement.classList.add("js");

function nameOf(cluster) {
  if (resolution.number) return ""; // names belong to the run's own clusters
  return document.getElementById(`name-${cluster}`)?.value ?? "";
}

async function showTip(position, column, row, stays) {
  const [item] = await items.at([position]);
  if (!stays && hovering !== position) return;
  tip.replaceChildren(picture(item), ...describe(item, map.target, nameOf));
  if (stays && item.media_url) tip.append(linkTo(item));
  tip.classList.toggle("pinned", stays);
  tip.hidden = false;
  const left = Math.min(column + 14, map.width - tip.offsetWidth - 4);
  const top = row + 14 + tip.offsetHeight > map.height ? row - tip.offsetHeight - 14 : row + 14;
  tip.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
}

function linkTo(item) {
  const link = document.createElement("a");
  link.href = item.media_url;
  link.textContent = item.media_type?.startsWith("audio") ? "Play" : "Open";
  if (item.media_type?.startsWith("audio")) link.dataset.play = "";
  return link;
}

function hover(position, column, row) {
  if (pinned >= 0) return;
  if (position === hovering && position >= 0 && !tip.hidden) return;
  hovering = position;
  if (position < 0) tip.hidden = true;
  else setTimeout(() => hovering === position && showTip(position, column, row, false), HOVER_MS);
}

function pin(position, column, row) {
  pinned = position;
  hovering = -1;
  tip.hidden = true;
  if (position >= 0) showTip(position, column, row, true);
}

function lasso(positions) {
  setLasso(false);
  picks.list("Circled", positions);
}

function setLasso(on) {
  map.lassoMode = on;
  canvas.classList.toggle("lassoing", on);
  document.querySelector('[data-map="lasso"]').setAttribute("aria-pressed", String(on));
}

const TOOLS = {
  in: () => map.zoom(1.4),
  out: () => map.zoom(1 / 1.4),
  reset: () => map.reset(),
  lasso: () => setLasso(!map.lassoMode),
};

function choose(cluster) {
  map.choose(map.chosen === cluster ? 0 : cluster);
  markChosen();
}

function markChosen() {
  for (const card of document.querySelectorAll(".cluster")) {
    const chosen = Number(card.dataset.cluster) === map.chosen;
    card.classList.toggle("chosen", chosen);
    card.querySelector("[data-choose]")?.setAttribute("aria-pressed", String(chosen));
  }
}

// A cluster's number becomes a button that shows it alone on the map.
function dressCards() {
  for (const card of document.querySelectorAll(".cluster")) {
    const label = card.querySelector("h3 .chip");
    if (!label || label.closest("button")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.choose = card.dataset.cluster;
    button.title = "Show on the map";
    label.replaceWith(button);
    button.append(label);
  }
  markChosen();
}

document.addEventListener("click", (event) => {
  const tool = event.target.closest("[data-map]");
  const chosen = event.target.closest("[data-choose]");
  const listed = event.target.closest("[data-list]");
  if (tool) TOOLS[tool.dataset.map]();
  if (chosen) choose(Number(chosen.dataset.choose));
  if (listed && map.target) {
    event.preventDefault();
    const cluster = Number(listed.dataset.list);
    picks.list(`Cluster ${cluster}`, ofCluster(map.target, cluster));
    picks.panel.scrollIntoView({ block: "nearest", behavior: map.motion ? "smooth" : "instant" });
  }
});

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

function recolor(points) {
  if (points === map.target) return;
  map.choose(0);
  map.recolor(points);
  canvas.dataset.clusters = new Set(sizes(points).map(([cluster]) => cluster)).size;
  markChosen();
}

function onShown() {
  dressCards();
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

function onRun({ number, status, progress }) {
  const bar = document.getElementById("progress");
  if (status === "running" && bar) bar.value = progress;
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
