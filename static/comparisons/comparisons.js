// The comparison page follows its run: shows the progress, and results as they come. It works without this script too.

import { byId } from "../web/dom.js";
import { follow, showStarved } from "../web/events.js";
import { announceUpdates, refresh, sendFormsInPlace } from "../web/live.js";
import { keepTimesCurrent } from "../web/relative_times.js";

const news = byId("news");

/** @param {import("../web/events.js").RunEvent} event */
function onRun({ number, purpose, status, progress, starved }) {
  if (purpose !== "comparison") return;
  const bar = document.getElementById("progress");
  const isOfRun = bar instanceof HTMLProgressElement && bar.dataset.run === String(number);
  if (status === "running" && isOfRun) {
    bar.value = progress;
    showStarved(starved);
  }
  if (status === "done") news.textContent = "The comparison is done.";
  refresh();
}

follow(`${news.dataset.api}/events`, { run: onRun, clusters: refresh, project: refresh }, (state) => {
  if (state === "live") refresh(); // to show what changed while there was no connection
});
announceUpdates(news);
keepTimesCurrent();
sendFormsInPlace();
