// The page of alternative clusterings: shows one as soon as it is computed, and marks the current one.

import { byId } from "../web/dom.js";
import { follow } from "../web/events.js";
import { refresh } from "../web/live.js";
import { keepTimesCurrent } from "../web/relative_times.js";

const { api } = byId("series").dataset;

/** @param {import("../web/events.js").RunEvent} event */
function onRun({ purpose, status, progress }) {
  const isUnderWay = status === "running" && progress > 0; // its progress is not on this page
  if (purpose === "alternative" && !isUnderWay) refresh();
}

keepTimesCurrent();
follow(`${api}/events`, { run: onRun, clusters: refresh, project: refresh }, (state) => {
  if (state === "live") refresh(); // to show what changed while there was no connection
});
