// The page of all runs: the list follows what happens while the page is open.

import { byId } from "../web/dom.js";
import { follow } from "../web/events.js";
import { refresh } from "../web/live.js";
import { keepTimesCurrent } from "../web/relative_times.js";

/** @typedef {import("../web/events.js").RunEvent} RunEvent */

const { api } = byId("all-runs").dataset;

/** @param {RunEvent} event */
function onRun({ number, status }) {
  if (status === "running") return;
  byId("news").textContent = `Run ${number}: ${status}.`;
  refresh();
}

document.documentElement.classList.add("js");
keepTimesCurrent();
follow(`${api}/events`, { run: onRun, clusters: refresh }, (state) => state === "live" && refresh());
