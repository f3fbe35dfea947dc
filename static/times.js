// Writes times as people say them ("12 s ago", "in 14 s") and keeps them true; the exact time is in the title.

const UNITS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

function spoken(seconds) {
  const [size, unit] = UNITS.find(([least]) => seconds >= least) ?? UNITS.at(-1);
  return `${Math.floor(seconds / size)} ${unit}`;
}

function write() {
  for (const place of document.querySelectorAll("time[data-ago], time[data-due]")) {
    place.title ||= place.textContent;
    const seconds = (Date.parse(place.dateTime) - Date.now()) / 1000;
    const text = "due" in place.dataset ? (seconds < 1 ? "now" : `in ${spoken(seconds)}`)
      : seconds > -1 ? "just now" : `${spoken(-seconds)} ago`;
    if (place.textContent !== text) place.textContent = text;
  }
}

export function keepTimes() {
  write();
  setInterval(write, 1000);
  document.addEventListener("tercet:shown", write);
}
