// The answers page: decisions without leaving it, times as people say them, sounds on click. It all works without.

import { follow } from "./events.js";
import { sendFormsInPlace } from "./live.js";
import { playOnClick } from "./player.js";
import { keepTimes } from "./times.js";

const news = document.getElementById("news");
const fresh = document.getElementById("fresh");

// Said to those who do not see the row change.
document.addEventListener("tercet:shown", (event) => {
  news.textContent = event.detail?.said ?? "";
});

// A run puts the suspects into another order: not under the eyes of somebody who is reading them.
function offer({ run }) {
  fresh.querySelector("span").textContent = `Run ${run} is done.`;
  fresh.hidden = false;
}

follow(`${fresh.dataset.api}/events`, { clusters: offer }, () => {});
playOnClick();
keepTimes();
sendFormsInPlace();
