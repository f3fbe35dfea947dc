// The answers page: decisions without a reload, relative times, sounds on click. Everything works without this script.

import { byId, query } from "../web/dom.js";
import { follow } from "../web/events.js";
import { announceUpdates, sendFormsInPlace } from "../web/live.js";
import { playOnClick } from "../web/player.js";
import { keepTimesCurrent } from "../web/relative_times.js";

const newRun = byId("new-run");

/**
 * Offer to show the new run: it changes the order of the doubtful answers, which must not happen while somebody reads.
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
