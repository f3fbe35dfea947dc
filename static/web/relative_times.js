// Shows times relative to now ("12 s ago", "in 14 s") and keeps them current; the exact time is in the title.

/** @type {[seconds: number, unit: string][]} */
const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

/** @param {number} seconds */
function duration(seconds) {
  const [size, unit] = UNITS.find(([least]) => seconds >= least) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/**
 * Return how far away a moment is, in words.
 * @param {number} seconds from now; negative in the past
 * @param {boolean} isDue whether something is to happen then, rather than to have happened
 */
export function relativeTime(seconds, isDue) {
  if (isDue) return seconds < 1 ? "now" : `in ${duration(seconds)}`;
  return seconds > -1 ? "just now" : `${duration(-seconds)} ago`;
}

function writeTimes() {
  for (const time of /** @type {NodeListOf<HTMLTimeElement>} */ (document.querySelectorAll("time[data-ago], time[data-due]"))) {
    time.title ||= time.textContent ?? "";
    const text = relativeTime((Date.parse(time.dateTime) - Date.now()) / 1000, "due" in time.dataset);
    if (time.textContent !== text) time.textContent = text;
  }
}

export function keepTimesCurrent() {
  writeTimes();
  setInterval(writeTimes, 1000);
  document.addEventListener("tercet:updated", writeTimes);
}
