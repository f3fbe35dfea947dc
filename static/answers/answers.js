// The answers page: decisions without leaving it, times as people say them, sounds on click. It all works without.

import { byId, query } from "../web/dom.js";
import { follow } from "../web/events.js";
import { announceUpdates, sendFormsInPlace } from "../web/live.js";
import { playOnClick } from "../web/player.js";
import { keepTimesCurrent } from "../web/relative_times.js";

const newRun = byId("new-run");

/**
 * Offer what a run says: it puts the suspects into another order, not under the eyes of somebody who is reading them.
 * @param {{ run: number }} event
 */
function offer({ run }) {
  query(newRun, "span").textContent = `Run ${run} is done.`;
  newRun.hidden = false;
}

follow(`${newRun.dataset.api}/events`, { clusters: offer }, () => {});
announceUpdates(byId("news"));
playOnClick();
keepTimesCurrent();
sendFormsInPlace();
