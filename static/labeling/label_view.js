// What the labeling page shows. The page's script decides what; nothing here does.

import { byId, createElement, query } from "../web/dom.js";
import { isSound, loadPicture, toggle } from "./preload.js";

/** @typedef {import("./preload.js").Item} Item */
/** @typedef {import("./preload.js").Picture} Picture */
/** @typedef {import("./preload.js").Question} Question */
/** @typedef {{ mine: number, mine_today: number, project_answers: number }} Progress */

/**
 * How far the question on screen is: "loading" and "slow" until its pictures are decoded, "painting" until they are on
 * screen, "painted" from then on, "failed" if one of them cannot be loaded.
 * @typedef {"loading" | "slow" | "painting" | "painted" | "failed"} PaintState
 */

/** @type {Record<string, string>} */
export const ANSWER_NAMES = { yes: "yes", no: "no", dnk: "don't know", skip: "skipped" };

/** @type {Record<PaintState, string>} */
const PAINT_MESSAGES = {
  loading: "Pictures are loading…",
  slow: "Pictures are loading, which takes long. You may also skip this question.",
  painting: "",
  painted: "",
  failed: "A picture cannot be loaded. Load it again, or skip this question.",
};
const root = byId("label");
const figures = [...root.querySelectorAll(".item")];

/**
 * Put a question on the page and return its pictures, which may have to be loaded yet.
 * @param {Question} question
 */
export function showQuestion(question) {
  byId("asking").hidden = byId("question").hidden = byId("skip").hidden = false;
  byId("nothing").hidden = true;
  const pictures = question.triplet.map((key, place) => showItem(figures[place], place + 1, key, question.items[key]));
  return pictures.filter((picture) => picture !== null);
}

/**
 * @param {Element} figure
 * @param {number} place
 * @param {string} key
 * @param {Item} item
 * @returns {Picture | null}
 */
function showItem(figure, place, key, item) {
  const media = query(figure, ".media");
  const button = query(figure, ".play");
  query(figure, ".caption").textContent = item.picture_url ? item.text : "";
  button.hidden = !isSound(item);
  query(button, ".verb").textContent = "Play";
  button.onclick = () => item.media_url && toggle(item.media_url, button);
  if (!item.picture_url) {
    media.replaceChildren(createElement("p", { className: "item-text", textContent: item.text || key }));
    media.dataset.picture = "none";
    return null;
  }
  const picture = loadPicture(item.picture_url);
  picture.image.alt = `${isSound(item) ? "Spectrogram" : "Picture"} of item ${place}`;
  media.replaceChildren(picture.image);
  setScrolling(media, false);
  media.dataset.picture = picture.isDecoded ? "loaded" : "loading";
  picture.loaded.then((isLoaded) => {
    if (!media.contains(picture.image)) return; // another question is here now
    media.dataset.picture = isLoaded ? "loaded" : "failed";
    // A long recording has a wide picture, which would be a thin strip if it had to fit.
    setScrolling(media, isSound(item) && picture.image.naturalWidth > 2 * picture.image.naturalHeight);
    if (!isLoaded) media.replaceChildren(createElement("p", { className: "item-text", textContent: `${picture.image.alt}: not loaded` }));
  });
  return picture;
}

/**
 * Let a box be scrolled sideways, by the keyboard too, or not any more.
 * @param {HTMLElement} media
 * @param {boolean} isLong
 */
function setScrolling(media, isLong) {
  media.classList.toggle("scrolls", isLong);
  if (isLong) media.tabIndex = 0;
  else media.removeAttribute("tabindex");
}

/** Resolve once what is on the page now has been painted: the second frame begins when the first is done. */
export function nextPaint() {
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}

/**
 * Show how far the question is: while its pictures are not there, the buttons look it and a message says why.
 * @param {PaintState} state
 */
export function showPaintState(state) {
  const isLoading = state === "loading" || state === "slow";
  root.dataset.paint = state;
  byId("asking").setAttribute("aria-busy", String(isLoading));
  for (const button of byId("answer").querySelectorAll("button")) {
    button.setAttribute("aria-disabled", String(isLoading || state === "failed"));
  }
  query(byId("skip"), "button").setAttribute("aria-disabled", String(state === "loading"));
  byId("paint-message").textContent = PAINT_MESSAGES[state];
  byId("load-again").hidden = state !== "slow" && state !== "failed";
}

/** @param {string} reason */
export function showNothing(reason) {
  byId("asking").hidden = byId("question").hidden = byId("skip").hidden = true;
  byId("nothing").hidden = false;
  byId("reason").textContent = reason;
}

/** @param {{ answer: string }[]} history */
export function showHistory(history) {
  const latest = history.slice(-5).reverse();
  byId("last").replaceChildren(...latest.map(({ answer }) => createElement("li", { textContent: ANSWER_NAMES[answer] ?? answer })));
  query(byId("undo"), "button", HTMLButtonElement).disabled = history.length === 0;
}

/** @param {Progress} progress */
export function showProgress({ mine, mine_today, project_answers }) {
  byId("today").textContent = String(mine_today);
  byId("mine").textContent = String(mine);
  byId("everybody").textContent = project_answers.toLocaleString("en");
}

/** @param {import("./outbox.js").Outbox} outbox */
export function showOutbox(outbox) {
  const [state, text] = describeOutbox(outbox);
  const saved = byId("saved");
  const before = saved.dataset.state;
  saved.dataset.state = state;
  saved.textContent = text;
  // Announced only when it turns: "saved" after every answer would drown the questions.
  const hasTurned = before !== state && (state === "waiting" || state === "refused" || before === "waiting");
  if (hasTurned) announce(text);
}

/** @param {import("./outbox.js").Outbox} outbox */
function describeOutbox({ waiting, trouble, refusals }) {
  if (trouble) return ["waiting", `${waiting === 1 ? "1 answer" : `${waiting} answers`} waiting: ${trouble}`];
  if (waiting) return ["sending", "saving…"];
  if (refusals.length) return ["refused", `not accepted: ${refusals.at(-1)}`];
  return ["saved", "saved"];
}

/** @param {string} text */
export function announce(text) {
  byId("spoken").textContent = text;
}

/**
 * Let the button of an answer look pressed for a moment, also when its key was.
 * @param {string} value
 */
export function flashButton(value) {
  const button = byId("answer").querySelector(`button[value="${value}"]`);
  button?.classList.add("pressed");
  setTimeout(() => button?.classList.remove("pressed"), 140);
}
