// The page of views: it shows a view as soon as it is computed, and which clustering is the current one.

import { follow } from "./events.js";
import { refresh } from "./live.js";
import { keepTimes } from "./times.js";

const { api } = document.getElementById("series").dataset;

function onRun({ purpose, status, progress }) {
  if (purpose === "view" && !(status === "running" && progress > 0)) refresh();
}

keepTimes();
follow(`${api}/events`, { run: onRun, clusters: refresh, project: refresh }, (state) => {
  if (state === "live") refresh(); // what happened while nobody listened
});
