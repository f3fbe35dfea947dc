// The dashboard: connects the map, the cards, the list of items and the live figures.

import { byId } from "../web/dom.js";
import { follow, showJob, showStarved } from "../web/events.js";
import { catchUpAfterTyping, refresh, sendFormsInPlace } from "../web/live.js";
import { showOutage } from "../web/outage.js";
import { playOnClick } from "../web/player.js";
import { keepTimesCurrent } from "../web/relative_times.js";
import { addMapButtons } from "./cluster_cards.js";
import { Edits } from "./edits.js";
import { Filter } from "./filter.js";
import { listSimilar, searchItems } from "./find.js";
import { ItemStore } from "./item_list.js";
import { ItemTooltip } from "./item_tooltip.js";
import { ClusterMap } from "./map.js";
import { actOnSuggestions } from "./suggestions.js";
import { fetchPoints } from "./map_points.js";
import { MapTools } from "./map_tools.js";
import { Resolution } from "./resolution.js";
import { SelectionBar } from "./selection_bar.js";
import { Tags } from "./tags.js";
import { Tint } from "./tint.js";

/** @typedef {import("../web/events.js").RunEvent} RunEvent */
/** @typedef {import("../web/events.js").StreamState} StreamState */

const FIGURES_MS = 2000; // least time between two updates of the figures while answers arrive
const MOST_LETTERS = 30; // of a line on the map
/** @type {Record<string, string>} */
const OUTCOMES = { done: "finished", failed: "failed", cancelled: "was cancelled" };
/** @type {Record<StreamState, string>} */
const CONNECTIONS = { live: "live", reconnecting: "reconnecting…", closed: "not live: reload the page" };

const api = byId("board").dataset.api ?? "";
const canvas = byId("map", HTMLCanvasElement);
const items = new ItemStore(api);
const map = new ClusterMap(canvas, {
  onPoint: (...place) => tooltip.hover(...place),
  onPick: (...place) => tooltip.pin(...place),
  onLasso: (positions) => tools.listCircled(map, positions),
  onToggle: (position) => tools.toggle(map, position),
  onOpen: () => tooltip.open(),
  captionOf,
});
const list = (/** @type {string} */ title, /** @type {number[]} */ positions) => tools.list(map, title, positions);
const tooltip = new ItemTooltip(byId("tooltip"), items, map, nameOf, (item) => listSimilar(api, item, list));
const bar = new SelectionBar(new Edits(api, items), new Tags(api, items), map, nameOf);
const tools = new MapTools([map], items, bar);
const filter = new Filter(api, map);
const tint = new Tint(api, map, filter, list);
searchItems(filter, list);
actOnSuggestions(api, map, bar);
const resolution = new Resolution(api, map);
let currentRun = "";
let refreshTimer = 0;

/** @param {number} cluster */
function nameOf(cluster) {
  if (resolution.number) return ""; // names belong to the run's own clusters
  const input = document.getElementById(`name-${cluster}`);
  return input instanceof HTMLInputElement ? input.value : "";
}

/**
 * Return what is written under a cluster on the map: its name, and its first words.
 * @param {number} cluster
 */
function captionOf(cluster) {
  if (resolution.number) return [];
  const words = document.querySelector(`[data-words="${cluster}"]`)?.textContent ?? "";
  return [nameOf(cluster), words.split(", ").slice(0, 2).join(", ")].filter(Boolean).map((text) => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS)}…` : text));
}

async function loadMap() {
  const run = byId("clusters").dataset.run;
  if (!run || run === currentRun) return;
  currentRun = run;
  const points = await fetchPoints(api, run);
  if (run !== currentRun) return;
  map.show(points);
  tint.apply();
  if (canvas.dataset.run) tools.update(run);
  canvas.dataset.run = run;
  resolution.enter(run, points);
}

/** @type {Set<string>} runs that came while somebody typed, and are shown afterwards */
const newerRuns = new Set();

/** @param {Event} event */
function onBehind(event) {
  const run = event instanceof CustomEvent ? event.detail.section.dataset.run : "";
  if (run && run !== byId("clusters").dataset.run) newerRuns.add(run);
  const runs = newerRuns.size === 1 ? "newer run" : "newer runs";
  byId("newer-runs").textContent = newerRuns.size ? `${newerRuns.size} ${runs}: shown once you leave the field.` : "";
}

function onUpdate() {
  const shown = byId("clusters").dataset.run ?? "";
  if (newerRuns.has(shown)) {
    newerRuns.clear();
    byId("newer-runs").textContent = "";
  }
  addMapButtons(map);
  resolution.updateControls();
  map.draw(); // names may have changed
  loadMap();
}

function refreshSoon() {
  refreshTimer ||= setTimeout(() => {
    refreshTimer = 0;
    refresh();
  }, FIGURES_MS);
}

/** @param {RunEvent} event */
function onRun({ number, purpose, status, progress, starved }) {
  const bars = /** @type {NodeListOf<HTMLProgressElement>} */ (document.querySelectorAll("#progress, #first-run"));
  if (purpose !== "current") refreshSoon();
  else if (status === "running" && bars.length) {
    for (const bar of bars) bar.value = progress;
    showStarved(starved);
  }
  else if (status !== "done") refresh(); // a done run is followed by the event "clusters"
  if (OUTCOMES[status]) byId("news").textContent = `Run ${number} ${OUTCOMES[status]}.`;
}

/** @param {import("../web/events.js").JobEvent} job */
function onJob({ kind, status, progress, note }) {
  if (status !== "running" || !showJob(kind, progress, note)) refresh();
}

/** @param {Record<string, number>} counts */
function onAnswers(counts) {
  for (const figure of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-answers]"))) {
    const count = counts[figure.dataset.answers ?? ""];
    if (count !== undefined) figure.textContent = count.toLocaleString("en");
  }
  refreshSoon();
}

function onProject() {
  items.forget(); // somebody may have put tags on them
  filter.apply();
}

/** @param {StreamState} state */
function onState(state) {
  byId("connection").textContent = CONNECTIONS[state];
  if (state !== "live") return;
  onOutage({}); // the stream says so if there still is one, and what changed meanwhile is shown
}

/** @param {import("../web/events.js").Outage} outage */
function onOutage(outage) {
  showOutage(byId("outage"), outage);
  if (!outage.detail) refresh();
}

document.documentElement.classList.add("js");
document.addEventListener("tercet:updated", onUpdate);
document.addEventListener("tercet:behind", onBehind);
sendFormsInPlace();
catchUpAfterTyping();
playOnClick();
keepTimesCurrent();
onUpdate();
follow(`${api}/events`, { run: onRun, job: onJob, clusters: refresh, project: onProject, answers: onAnswers, outage: onOutage }, onState);
