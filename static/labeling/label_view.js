// Shows questions, progress and messages on the labeling page; the page's script decides which.

import { byId, createElement, query } from "../web/dom.js";
import { describe, describePixels } from "./descriptions.js";
import { isSound, loadPicture, preload } from "./preload.js";
import { number, say, sayMany } from "../web/words.js";

/** @typedef {import("./preload.js").Item} Item */
/** @typedef {import("./preload.js").Picture} Picture */
/** @typedef {import("./preload.js").Question} Question */
/** @typedef {import("./spectrograms.js").Spectrograms} Spectrograms */
/** @typedef {{ mine: number, mine_today: number, project_answers: number }} Progress */

/**
 * The state of the question on the screen: "loading" and "slow" until its pictures are decoded, "painting" until they are
 * on the screen, "painted" from then on, "unheard" if some of its sounds have to be heard first, "failed" if one of them cannot be loaded, "taught" once its answer is explained.
 * @typedef {"loading" | "slow" | "painting" | "unheard" | "painted" | "failed" | "taught"} PaintState
 */

/** @type {Record<string, string>} */
export const ANSWER_NAMES = {
  yes: say("yes"),
  no: say("no"),
  dnk: say("don't know"),
  skip: say("skipped"),
  flag: say("flagged"),
};

export const HEAR_FIRST = say("Listen to each sound to its end first.");
/** @type {Record<PaintState, string>} */
const PAINT_MESSAGES = {
  loading: say("Pictures are loading…"),
  slow: say("Pictures are loading, which takes long. You may also skip this question."),
  painting: "",
  unheard: HEAR_FIRST,
  painted: "",
  taught: "",
  failed: say("A picture cannot be loaded. Load it again, or skip this question."),
};
const root = byId("label");
const figures = [...root.querySelectorAll(".item")];

/** @param {boolean} isAsking */
function showAsking(isAsking) {
  for (const id of ["asking", "question", "answer", "skip"]) byId(id).hidden = !isAsking;
  byId("nothing").hidden = isAsking;
}

/**
 * Fetch what a question needs, and measure its sounds.
 * @param {Question} question
 * @param {Spectrograms} spectrograms
 * @param {boolean} isLevelled whether its sounds will be played at one loudness
 */
export function prepare(question, spectrograms, isLevelled) {
  preload(question, isLevelled);
  for (const item of Object.values(question.items)) {
    if (!item.picture_url || !isSpectrogram(item)) continue;
    const { image, loaded } = loadPicture(item.picture_url);
    loaded.then((isLoaded) => isLoaded && spectrograms.prepare(image, item.seconds ?? 0));
  }
}

/**
 * Show a question and return its pictures, which may still be loading.
 * @param {Question} question
 * @param {Spectrograms} spectrograms
 */
export function showQuestion(question, spectrograms) {
  showAsking(true);
  spectrograms.clear();
  const items = question.triplet.map((key) => question.items[key]);
  if (items.every(isSpectrogram)) root.dataset.media = "sounds";
  else root.dataset.media = items.every((item) => !item.picture_url) ? "texts" : "mixed";
  const pictures = question.triplet.map((key, place) => showItem(place, key, question.items[key], spectrograms));
  spectrograms.paint();
  return pictures.filter((picture) => picture !== null);
}

/** @param {Item} item */
function isSpectrogram(item) {
  return isSound(item) && Boolean(item.picture_url) && Boolean(item.seconds);
}

/**
 * @param {number} place
 * @param {string} key
 * @param {Item} item
 * @param {Spectrograms} spectrograms
 * @returns {Picture | null}
 */
function showItem(place, key, item, spectrograms) {
  const figure = figures[place];
  const media = query(figure, ".media");
  query(figure, ".caption").textContent = item.picture_url ? item.text : "";
  query(figure, ".play").hidden = !isSound(item);
  showPlaying(place, null);
  media.className = "media";
  if (!item.picture_url) {
    media.replaceChildren(createElement("p", { className: "item-text", textContent: item.text || key }));
    media.dataset.picture = "none";
    return null;
  }
  const picture = loadPicture(item.picture_url);
  picture.image.alt = describe(item, place);
  picture.image.draggable = false;
  picture.image.removeAttribute("style");
  if (isSpectrogram(item)) spectrograms.show(place, media, picture.image, item.seconds ?? 0);
  else media.replaceChildren(picture.image);
  media.dataset.picture = picture.isDecoded ? "loaded" : "loading";
  picture.loaded.then((isLoaded) => {
    if (!media.contains(picture.image)) return; // another question is shown now
    media.dataset.picture = isLoaded ? "loaded" : "failed";
    if (isLoaded && isSpectrogram(item)) spectrograms.align(place, item.seconds ?? 0);
    if (isLoaded && !isSound(item)) picture.image.alt = `${describe(item, place)}: ${describePixels(picture.image)}`;
    if (!isLoaded) media.replaceChildren(createElement("p", { className: "item-text", textContent: say("{picture}: not loaded", { picture: picture.image.alt }) }));
  });
  return picture;
}

/**
 * Show on the button of a sound whether it is being played, or the word `failure`.
 * @param {number} place
 * @param {number | null} time
 * @param {string} [failure]
 */
export function showPlaying(place, time, failure) {
  const button = query(figures[place], ".play");
  const isPlaying = time !== null;
  if (!failure && button.classList.contains("playing") === isPlaying && query(button, ".verb").textContent !== say("Cannot play")) return;
  button.classList.toggle("playing", isPlaying);
  query(button, ".verb").textContent = failure ?? (isPlaying ? say("Stop") : say("Play"));
}

/** @param {number} speed */
export function showSpeed(speed) {
  const words = { 1: "", 0.5: say("½ speed"), 0.25: say("¼ speed") }[speed] ?? "";
  byId("speed").textContent = words;
  announce(words || say("Full speed"));
}

/** @param {boolean} isLooping */
export function showLoop(isLooping) {
  byId("loop").hidden = !isLooping;
  announce(isLooping ? say("Plays what is on the screen again and again") : say("Plays once"));
}

/** Show why a key did nothing: the question has not been on the screen for long enough. */
export function showTooEarly() {
  showNotice(say("Too early: the pictures have only just appeared."));
}

/**
 * Show a sentence for a moment.
 * @param {string} text
 */
export function showNotice(text) {
  byId("paint-message").textContent = text;
  root.dataset.early = "true";
  clearTimeout(earlyTimer);
  earlyTimer = setTimeout(() => delete root.dataset.early, 1500);
}
let earlyTimer = 0;

/** Offer for a moment to undo an answer that was given by a click or a tap, which slip more easily than keys. @param {string} value */
export function offerUndo(value) {
  byId("toast-words").textContent = say("Answered {answer}.", { answer: ANSWER_NAMES[value] ?? value });
  byId("toast").hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(hideUndo, 4000);
}
let toastTimer = 0;

export function hideUndo() {
  byId("toast").hidden = true;
}

/** Resolve once the page in its present state has been painted: when the frame after the next one begins. */
export function nextPaint() {
  return new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}

/**
 * Show the state of the question: while its pictures are loading, its buttons look disabled and a message says why.
 * @param {PaintState} state
 */
export function showPaintState(state) {
  const isLoading = state === "loading" || state === "slow";
  root.dataset.paint = state;
  byId("asking").setAttribute("aria-busy", String(isLoading));
  for (const button of byId("answer").querySelectorAll("button")) {
    button.setAttribute("aria-disabled", String(isLoading || ["unheard", "failed", "taught"].includes(state)));
  }
  query(byId("skip"), "button").setAttribute("aria-disabled", String(state === "loading"));
  if (!root.dataset.early || state === "failed") byId("paint-message").textContent = PAINT_MESSAGES[state];
  byId("load-again").hidden = state !== "slow" && state !== "failed";
}

/**
 * Show why there is no question, and thanks to who has answered some.
 * @param {string} reason
 * @param {number} [mine]
 */
export function showNothing(reason, mine = 0) {
  showAsking(false);
  byId("reason").textContent = reason;
  byId("thanks").hidden = mine === 0;
  byId("thanks").textContent = sayMany("Thank you for your {count} answer.", "Thank you for your {count} answers.", mine);
}

/** @param {number} answers */
export function suggestPause(answers) {
  const words = sayMany(
    "{count} answer in half an hour. A short pause keeps them good.",
    "{count} answers in half an hour. A short pause keeps them good.",
    answers,
  );
  byId("pause-words").textContent = words;
  byId("pause").hidden = false;
  announce(words);
}

/** @param {{ kind: string, answer: string, comment?: string }[]} history */
export function showHistory(history) {
  const latest = history.slice(-5).reverse();
  byId("last").replaceChildren(...latest.map(({ answer }) => createElement("li", { textContent: ANSWER_NAMES[answer] ?? answer })));
  const last = history.filter(({ kind }) => kind === "answer").at(-1);
  byId("note", HTMLButtonElement).disabled = !last;
  byId("note").classList.toggle("noted", Boolean(last?.comment));
  query(byId("undo"), "button", HTMLButtonElement).disabled = history.length === 0;
}

/** @param {Progress} progress */
export function showProgress({ mine, mine_today, project_answers }) {
  byId("today").textContent = number(mine_today);
  byId("mine").textContent = number(mine);
  byId("everybody").textContent = number(project_answers);
  showGoal("my-goal", mine);
  showGoal("project-goal", project_answers);
}

/**
 * Show how far a goal is, if the project has it.
 * @param {string} id
 * @param {number} count
 */
function showGoal(id, count) {
  const bar = document.getElementById(id);
  if (!(bar instanceof HTMLProgressElement)) return;
  bar.value = Math.min(count, bar.max);
  const words = byId(`${id}-words`);
  const values = { count: number(count), goal: number(bar.max) };
  const line = id === "my-goal" ? say("{count} of {goal}, yours.", values) : say("{count} of {goal}, everybody's.", values);
  words.textContent = count >= bar.max ? `${line} ${say("Reached, thank you!")}` : line;
}

/** @param {import("./outbox.js").Outbox} outbox */
export function showOutbox(outbox) {
  const [state, text] = describeOutbox(outbox);
  const saved = byId("saved");
  const before = saved.dataset.state;
  saved.dataset.state = state;
  saved.textContent = text;
  // Announced only when the state changes: "saved" after every answer would be louder than the questions.
  const hasTurned = before !== state && (state === "waiting" || state === "refused" || before === "waiting");
  if (hasTurned) announce(text);
}

/** @param {import("./outbox.js").Outbox} outbox */
function describeOutbox({ waiting, trouble, refusals, isOffline }) {
  if (isOffline || !navigator.onLine) return ["waiting", waiting ? say("offline, keep going: {count} kept here", { count: number(waiting) }) : say("offline, keep going")];
  if (trouble) return ["waiting", sayMany("{count} answer waiting: {trouble}", "{count} answers waiting: {trouble}", waiting, { trouble })];
  if (waiting) return ["sending", say("saving…")];
  if (refusals.length) return ["refused", say("not accepted: {why}", { why: refusals.at(-1) ?? "" })];
  return ["saved", say("saved")];
}

/** @param {import("./ahead.js").Ahead} ahead */
export function showAhead({ isOn, isPossible, here }) {
  const ahead = byId("ahead", HTMLInputElement);
  ahead.checked = isOn;
  ahead.disabled = !isPossible;
  const count = sayMany(
    "{count} question is here with pictures and sounds.",
    "{count} questions are here with pictures and sounds.",
    here,
  );
  const state = isOn ? count : "";
  byId("ahead-state").textContent = isPossible ? state : say("Not in this browser, or not over plain http.");
}

/** @param {string} text */
export function announce(text) {
  byId("spoken").textContent = text;
}

/**
 * Make the button of an answer look pressed for a moment, also after its key.
 * @param {string} value
 */
export function flashButton(value) {
  const button = byId("answer").querySelector(`button[value="${value}"]`);
  button?.classList.add("pressed");
  setTimeout(() => button?.classList.remove("pressed"), 140);
}
