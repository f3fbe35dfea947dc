// The comparison page follows its run: progress moves, and what is done is swapped in. It all works without.

import { follow } from "./events.js";
import { refresh, sendFormsInPlace } from "./live.js";
import { keepTimes } from "./times.js";

const news = document.getElementById("news");

function hear({ number, purpose, status, progress }) {
  if (purpose !== "comparison") return;
  const bar = document.getElementById("progress");
  if (status === "running" && bar?.dataset.run === String(number)) bar.value = progress;
  if (status === "done") news.textContent = "The comparison is done.";
  refresh();
}

document.addEventListener("tercet:shown", (event) => {
  if (event.detail?.said) news.textContent = event.detail.said;
});

follow(`${news.dataset.api}/events`, { run: hear, clusters: refresh, project: refresh }, (state) => {
  if (state === "live") refresh(); // what happened before anybody listened
});
keepTimes();
sendFormsInPlace();
