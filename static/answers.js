// The answers page: decisions without leaving it, times as people say them, sounds on click. It all works without.

import { sendFormsInPlace } from "./live.js";
import { playOnClick } from "./player.js";
import { keepTimes } from "./times.js";

const news = document.getElementById("news");

// Said to those who do not see the row change; a row that left the list cannot take the focus, so the list's title does.
document.addEventListener("tercet:shown", (event) => {
  news.textContent = event.detail?.said ?? "";
});

playOnClick();
keepTimes();
sendFormsInPlace();
