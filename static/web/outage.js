// Says in words what the server lacks just now, and takes the sentence away when it is there again.

/**
 * @param {HTMLElement} notice
 * @param {import("./events.js").Outage} outage
 */
export function showOutage(notice, { detail, since, then }) {
  notice.hidden = !detail;
  if (notice.dataset.shown === `${detail}${since}`) return; // screen readers read it out whenever it is written
  notice.dataset.shown = `${detail}${since}`;
  const sentence = document.createElement("strong");
  sentence.textContent = detail ?? "";
  const line = document.createElement("p");
  line.append(sentence);
  if (since) line.append(" Since ", timeOf(since), ".");
  if (then) line.append(` ${then}`);
  notice.replaceChildren(...(detail ? [line] : []));
}

/** @param {string} moment */
function timeOf(moment) {
  const time = document.createElement("time");
  const at = new Date(moment);
  const isToday = at.toDateString() === new Date().toDateString();
  time.dateTime = moment;
  time.textContent = isToday ? at.toLocaleTimeString("en-GB") : at.toLocaleString("en-GB");
  return time;
}
