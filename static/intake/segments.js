// Shows how a recording would be cut while the sliders move: the server proposes segments, the page draws them over the
// recording's spectrogram. Nothing is changed until the form is sent.

import { explain, readBody } from "../web/problem.js";

/** @typedef {{ begin_s: number, end_s: number, low_hz: number, high_hz: number }} Segment */
/** @typedef {{ rate: number, seconds: number, listened_s: number, segments: Segment[], words: string }} Proposal */

const PAUSE_MS = 150; // how long a slider must rest before the server is asked
const WINDOW_SECONDS = 30; // length of the part of a recording in one spectrogram
const SVG = "http://www.w3.org/2000/svg";

/** @type {Proposal | null} */
let proposal = null;
/** @type {AbortController | null} */
let asking = null;
let timer = 0;
let pictureTimer = 0;
let shown = ""; // the recording and settings of `proposal`

/** Look whether the page asks for segments, and show those of the sliders; called whenever something changed. */
export function updateSegments() {
  const root = document.getElementById("segments");
  const isAsked = root?.closest("form")?.querySelector("[name=cut][value=segments]:checked");
  if (!root || !isAsked || !root.querySelector("#segments-recording")) return;
  const query = questionOf(root);
  if (query === shown && proposal) return draw(root, proposal);
  clearTimeout(timer);
  timer = setTimeout(() => ask(root, query), PAUSE_MS);
}

/** @param {HTMLElement} root */
function questionOf(root) {
  const query = new URLSearchParams({ path: field(root, "#segments-recording").value });
  for (const slider of /** @type {NodeListOf<HTMLInputElement>} */ (root.querySelectorAll("[name^='segments.']"))) {
    query.set(slider.name.replace("segments.", ""), slider.value);
  }
  return query.toString();
}

/**
 * @param {HTMLElement} root
 * @param {string} query
 */
async function ask(root, query) {
  asking?.abort();
  asking = new AbortController();
  const address = `${root.dataset.import}/segments?${query}`;
  const response = await fetch(address, { signal: asking.signal, headers: { Accept: "application/json" } }).catch(() => null);
  if (!response) return; // a newer request replaced it, or there is no network: the next move of a slider asks again
  /** @type {Proposal | null} */
  const proposed = response.ok ? await readBody(response) : null;
  if (!proposed) {
    say(root, await explain(response));
    return;
  }
  proposal = proposed;
  shown = query;
  if (root.isConnected) draw(root, proposal);
}

/**
 * @param {HTMLElement} root
 * @param {Proposal} proposal
 */
function draw(root, { rate, seconds, listened_s, segments, words }) {
  say(root, words);
  const span = Math.min(WINDOW_SECONDS, seconds);
  const place = field(root, "#segments-begin");
  place.max = String(Math.max(listened_s - span, 0));
  place.disabled = listened_s <= span;
  const begin = Number(place.value);
  place.nextElementSibling?.replaceChildren(`${clock(begin)}–${clock(begin + span)}`);
  for (const name of ["low_hz", "high_hz"]) setTop(field(root, `[name="segments.${name}"]`), rate / 2);
  const x = (/** @type {number} */ second) => (1000 * (second - begin)) / span;
  const y = (/** @type {number} */ hz) => 1000 * (1 - Math.min(hz / (rate / 2), 1));
  const seen = segments.filter(({ begin_s, end_s }) => end_s > begin && begin_s < begin + span);
  const boxes = seen.map((s) => box("proposed", x(s.begin_s), x(s.end_s), y(s.high_hz), y(s.low_hz)));
  const [low, high] = ["low_hz", "high_hz"].map((name) => Number(field(root, `[name="segments.${name}"]`).value));
  const outside = [box("outside", 0, 1000, 0, y(high)), box("outside", 0, 1000, y(low), 1000)];
  root.querySelector("#segments-picture svg")?.replaceChildren(...outside, ...boxes);
  showPicture(root, begin, `Spectrogram from ${clock(begin)} to ${clock(begin + span)} with ${seen.length} segments`);
  const all = segments.map((s) => box("proposed", (1000 * s.begin_s) / listened_s, (1000 * s.end_s) / listened_s, 0, 10));
  const window = box("window", (1000 * begin) / listened_s, (1000 * (begin + span)) / listened_s, 0, 10);
  root.querySelector("#segments-overview")?.replaceChildren(window, ...all);
}

/**
 * Set the end of a slider to that of the recording, and update the value beside it.
 * @param {HTMLInputElement} slider
 * @param {number} hz
 */
function setTop(slider, hz) {
  slider.max = String(hz);
  slider.nextElementSibling?.replaceChildren(`${slider.value} Hz`);
}

/**
 * @param {HTMLElement} root
 * @param {number} begin
 * @param {string} label
 */
function showPicture(root, begin, label) {
  const picture = root.querySelector("img");
  const query = new URLSearchParams({ path: field(root, "#segments-recording").value, begin: begin.toFixed(2) });
  const address = `${root.dataset.import}/spectrogram?${query}`;
  if (!picture) return;
  picture.alt = label;
  clearTimeout(pictureTimer);
  pictureTimer = setTimeout(() => {
    if (picture.getAttribute("src") !== address) picture.src = address;
  }, picture.hasAttribute("src") ? PAUSE_MS : 0);
}

/**
 * @param {string} kind
 * @param {number} left
 * @param {number} right
 * @param {number} top
 * @param {number} bottom
 */
function box(kind, left, right, top, bottom) {
  const rect = document.createElementNS(SVG, "rect");
  const values = { class: kind, x: left, y: top, width: Math.max(right - left, 1), height: Math.max(bottom - top, 0) };
  for (const [name, value] of Object.entries(values)) rect.setAttribute(name, String(value));
  return rect;
}

/**
 * @param {HTMLElement} root
 * @param {string} words
 */
function say(root, words) {
  const line = root.querySelector("#segments-words");
  if (line && line.textContent !== words) line.textContent = words;
}

/**
 * @param {HTMLElement} root
 * @param {string} selector
 */
function field(root, selector) {
  return /** @type {HTMLInputElement} */ (root.querySelector(selector));
}

/** @param {number} seconds */
function clock(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}
