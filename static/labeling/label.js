// The labeling page: one key for each answer. Questions wait in `upcoming`, answers in `history` (for undo) and in the
// outbox (for the server), so that the page never waits for the network between two questions. A question can be answered
// only once its pictures are on the screen.

import { local } from "../web/address.js";
import { byId, closest } from "../web/dom.js";
import { forgetKept, keepInThisLanguage } from "../web/kept.js";
import { explain, readBody } from "../web/problem.js";
import { say } from "../web/words.js";
import { Ahead } from "./ahead.js";
import { Effects } from "./effects.js";
import { Keys } from "./keys.js";
import { Listening } from "./listening.js";
import { dropUnloaded, isSound } from "./preload.js";
import { newId, Outbox } from "./outbox.js";
import { CommentDialog, FlagDialog } from "./notes.js";
import { Practice } from "./practice.js";
import { PreferencesForm } from "./preferences.js";
import { part, Spectrograms } from "./spectrograms.js";
import * as view from "./label_view.js";

/** @typedef {import("./outbox.js").AnswerEntry} AnswerEntry */
/** @typedef {import("./outbox.js").Entry} Entry */
/** @typedef {import("./outbox.js").SettlingEntry} SettlingEntry */
/** @typedef {import("./preload.js").Question} Question */
/**
 * The question on the screen: `seenSince` is when its pictures last came into view, null while they are out of it;
 * `seenBefore` how many milliseconds they had been in view before.
 * @typedef {{ question: Question, state: view.PaintState, seenSince: number | null, seenBefore: number }} Screen
 */

const LEAST_UPCOMING = 6; // the question on the screen and the next five
const REQUESTED = 6; // further questions in a request, so that not every answer needs one
const UNDOABLE = 20;
const SLOW_AFTER = 10_000; // pictures that take longer can be loaded again, and their question skipped
const FILL_EVERY = 60_000;
const RETRY_AFTER = 15_000;
const SEEN_AFTER = 150; // milliseconds on the screen; a key that is pressed earlier was meant for the question before
const ZOOM_STEP = 1.5;
const NOTHING_AHEAD = say("Without a network there is nothing more to ask. Your answers are kept here and sent when it is back.");
const WORK = 30 * 60_000; // after so long without a break a pause is suggested
const BREAK = 5 * 60_000;
const SEEK_STRIP = 0.9; // below this part of a spectrogram's height a click plays from there

const root = byId("label");
const { project = "", user = "", kind } = root.dataset;
const page = JSON.parse(root.dataset.page ?? "");
const isOutlier = kind === "outlier";
// An arrow points at the picture: in languages that are written from right to left, the second lies to the right.
const [towardsSecond, towardsThird] = document.dir === "rtl" ? ["arrowright", "arrowleft"] : ["arrowleft", "arrowright"];
/** @type {Record<string, string>} */
const ANSWER_KEYS = isOutlier
  ? { 1: "1", 2: "2", 3: "3", d: "dnk", arrowdown: "dnk" }
  : { y: "yes", [towardsSecond]: "yes", n: "no", [towardsThird]: "no", d: "dnk", arrowdown: "dnk" };
const PLAY_KEYS = isOutlier ? ["q", "w", "e"] : ["1", "2", "3"];

const ANSWERS_BY_PLACE = isOutlier ? ["1", "2", "3"] : [null, "yes", "no"];

const spectrograms = new Spectrograms(page.pictures);
/** @type {Map<string, Set<number>>} the places whose sounds were heard to their ends, by question */
const heard = new Map();
const listening = new Listening({
  onHeard(place) {
    if (!screen) return;
    const key = keyOf(screen.question);
    heard.set(key, new Set([...(heard.get(key) ?? []), place]));
    if (screen.state === "unheard") enter(screen, stateOnceSeen(screen.question));
  },
  onTime(place, time) {
    spectrograms.showPlayhead(place, time);
    view.showPlaying(place, time);
  },
  onFailure: (place) => view.showPlaying(place, null, say("Cannot play")),
  region: (place) => spectrograms.visible(place),
});

const keys = new Keys(kind ?? "");
/** @type {string | null} the key that is held to hear two sounds by turns */
let heldKey = null;

/** @type {Question[]} */
let upcoming = [];
const preferences = new PreferencesForm(({ colours, isLevelled }) => {
  root.dataset.colours = colours;
  if (listening.isLevelled === isLevelled) return;
  listening.isLevelled = isLevelled;
  upcoming.forEach((question) => view.prepare(question, spectrograms, isLevelled));
});

/** @type {SettlingEntry[]} */
let history = page.recent.map((/** @type {object} */ answer) => ({ kind: "answer", ...answer })).reverse();
/** @type {view.Progress} */
let progress = page.next.progress;
/** @type {Screen | null} the question on screen, replaced whenever it is shown anew */
let screen = null;
/** Since when the labeler has answered without a break, the time of the last answer, and how many there were. */
const work = { since: 0, last: 0, answers: 0 };
let isFetching = false;
/** @type {{ inAnyCase: boolean } | null} to fetch once more: the response under way may not know the latest answer */
let fetchAgain = null;
let changes = 0; // answers and undos of this page so far
/** @type {Set<string>} answered or skipped here, whether or not the server knows it yet: not shown again, unless undone */
const settled = new Set(history.map(keyOf));
/** @type {Set<string>} the items that were flagged here: nothing about them is shown */
const flagged = new Set();

const isInstalled = matchMedia("(display-mode: standalone)").matches;
const ahead = new Ahead({ project, user, isInstalled, onChange: () => view.showAhead(ahead) });
const outbox = new Outbox({
  project,
  user,
  onChange: () => view.showOutbox(outbox),
  onOther: follow,
  onElsewhere: refill,
  onProgress: showProgress,
  ask: countToAsk,
  onSettled(entry, body) {
    if (body?.progress && !outbox.waiting) takeInProgress(body.progress);
    if (body?.progress) effects.count(body.progress.mine);
    if (page.feedback && entry.kind === "answer") effects.tellRight(entry, view.ANSWER_NAMES);
    if (body?.next) takeIn(body.next);
    else if (outbox.waiting || body?.progress) refill();
    else fetchQuestions(true); // which says the progress, too
  },
});

const effects = new Effects({ project, user });
const practice = new Practice({
  project,
  user,
  onQuestions(questions) {
    upcoming = [...questions, ...upcoming];
    questions.forEach((question) => view.prepare(question, spectrograms, listening.isLevelled));
    practice.showNext();
    showNext();
  },
  onNext: leaveLesson,
  onEnd() {
    if (!upcoming.some(({ lesson }) => lesson)) return;
    upcoming = upcoming.filter(({ lesson }) => !lesson);
    showNext();
  },
});
const flagDialog = new FlagDialog(flag);
const commentDialog = new CommentDialog(comment);

/** @param {{ triplet: string[] }} question */
function isAboutFlagged({ triplet }) {
  return triplet.some((key) => flagged.has(key));
}

/** @param {{ triplet: string[] }} question */
function keyOf(question) {
  return JSON.stringify(question.triplet);
}

/** @param {view.Progress} update */
function showProgress(update) {
  progress = update;
  view.showProgress(progress);
}

/**
 * Show a progress that counts all answers of this browser, here and in other tabs.
 * @param {view.Progress} update
 */
function takeInProgress(update) {
  showProgress(update);
  outbox.tellProgress(update);
}

/** @param {number} change */
function countAnswers(change) {
  changes += 1;
  const { mine, mine_today, project_answers } = progress;
  showProgress({
    mine: mine + change,
    mine_today: Math.max(mine_today + change, 0),
    project_answers: project_answers + change,
  });
}

/** @param {Question[]} questions */
function addUpcoming(questions) {
  const seen = new Set([...settled, ...upcoming.map(keyOf)]);
  const added = questions.filter((question) => !seen.has(keyOf(question)) && !isAboutFlagged(question));
  upcoming.push(...added);
  added.forEach((question) => view.prepare(question, spectrograms, listening.isLevelled));
}

/** Show the first upcoming question; it can be answered once it is painted. */
async function showNext() {
  const question = upcoming[0];
  listening.begin(question ? question.triplet.map((key) => soundOf(question.items[key])) : []);
  if (!question) {
    screen = null;
    return;
  }
  /** @type {Screen} */
  const current = (screen = { question, state: "loading", seenSince: null, seenBefore: 0 });
  const pictures = view.showQuestion(question, spectrograms);
  enter(current, pictures.every(({ isDecoded }) => isDecoded) ? "painting" : "loading");
  const timer = setTimeout(() => enter(current, "slow"), SLOW_AFTER);
  const isLoaded = (await Promise.all(pictures.map(({ loaded }) => loaded))).every(Boolean);
  clearTimeout(timer);
  if (!isLoaded) {
    enter(current, "failed");
    return;
  }
  await view.nextPaint();
  current.seenSince = performance.now();
  enter(current, "painting");
  setTimeout(() => enter(current, stateOnceSeen(question)), SEEN_AFTER);
  // Before the first key or click browsers play nothing.
  if (preferences.preferences.playsItself && navigator.userActivation?.hasBeenActive !== false) listening.toggleAll();
}

/**
 * Return the state of a question whose pictures are on the screen: some projects ask that its sounds are heard first.
 * @param {Question} question
 */
function stateOnceSeen(question) {
  const places = heard.get(keyOf(question));
  const isHeard = question.triplet.every((key, place) => !soundOf(question.items[key]) || places?.has(place));
  return page.hear_first && !isHeard ? "unheard" : "painted";
}

/** @param {import("./preload.js").Item} item */
function soundOf(item) {
  return isSound(item) ? item.media_url : null;
}

/**
 * @param {Screen} current
 * @param {view.PaintState} state
 */
function enter(current, state) {
  if (screen !== current) return; // another question is on screen now
  current.state = state;
  view.showPaintState(state);
}

/** Show the next question to practise with, or the first real one. */
function leaveLesson() {
  upcoming.shift();
  if (upcoming[0]?.lesson) practice.showNext();
  else practice.end();
  showNext();
}

function loadAgain() {
  if (screen?.state !== "slow" && screen?.state !== "failed") return;
  dropUnloaded(screen.question);
  showNext();
}

/**
 * Apply an entry that the server may not have known when it wrote this page.
 * @param {Entry} entry
 */
function replay(entry) {
  if (entry.kind === "withdraw") {
    const undone = history.find((past) => past.kind === "answer" && past.id === entry.id);
    if (!undone) return; // the server knew it, or it is older than what this page can undo
    history = history.filter((past) => past !== undone);
    countAnswers(-1);
    settled.delete(keyOf(undone));
    addUpcoming([undone]);
    return;
  }
  if (entry.kind === "comment") {
    setComment(entry.id, entry.comment);
    return;
  }
  if (entry.kind === "unflag") {
    flagged.delete(entry.item);
    return;
  }
  settled.add(keyOf(entry));
  if (entry.kind === "flag") flagged.add(entry.item);
  upcoming = upcoming.filter((question) => keyOf(question) !== keyOf(entry) && !isAboutFlagged(question));
  if (entry.kind === "answer" && !history.some((past) => past.kind === "answer" && past.id === entry.id)) {
    history.push(entry);
    countAnswers(1);
  }
}

/**
 * Take in what was answered, skipped, flagged or undone in another tab.
 * @param {Entry} entry
 */
function follow(entry) {
  const first = upcoming[0];
  replay(entry);
  history = history.slice(-UNDOABLE);
  view.showHistory(history);
  if (upcoming[0] !== first) showNext();
  refill();
}

/** Without a network, ask what was set ahead. */
function askAhead() {
  const first = upcoming[0];
  const questions = ahead.take(LEAST_UPCOMING - upcoming.length, new Set([...settled, ...upcoming.map(keyOf)]));
  addUpcoming(questions.map((question) => ({ ...question, isAhead: true })));
  if (upcoming[0] !== first) showNext();
}

/**
 * Drop questions that were answered in another window, or leased to somebody else while this one was idle.
 * @param {Question[]} leased
 */
function dropAllBut(leased) {
  const keys = new Set(leased.map(keyOf));
  upcoming = upcoming.filter((question) => question.isAgain || question.isAhead || question.lesson || keys.has(keyOf(question)));
}

/**
 * Return how many questions to ask for: for the server those of unsent answers are still leased to this page, and come
 * first in its response.
 * @param {number} unsent
 */
function countToFetch(unsent) {
  return Math.min(LEAST_UPCOMING + REQUESTED + unsent, 100);
}

/**
 * Return how many questions are to come with the response to the answer that is sent next, which is settled by then.
 * @returns {number}
 */
function countToAsk() {
  return upcoming.length < LEAST_UPCOMING ? countToFetch(outbox.waiting - 1) : 0;
}

/**
 * Take in questions that the server has leased to this page, or why there are none.
 * @param {{ triplets: Question[], reason: string | null }} leased
 */
function takeIn({ triplets, reason }, first = upcoming[0]) {
  addUpcoming(triplets);
  if (upcoming[0] !== first) showNext();
  if (!upcoming.length && !outbox.waiting) view.showNothing(reason ?? say("Waiting for the next question."), reason ? progress.mine : 0);
}

/** Fetch questions if there are few, unless they come with the response to an answer; at the last moment in any case. */
function refill() {
  if (!outbox.isAsking || !upcoming.length) fetchQuestions();
}

/** Fetch questions if there are few, or in any case, as after the window was away. */
async function fetchQuestions(inAnyCase = false) {
  if (upcoming.length >= LEAST_UPCOMING && !inAnyCase) return;
  if (isFetching) {
    fetchAgain = { inAnyCase: inAnyCase || Boolean(fetchAgain?.inAnyCase) };
    return;
  }
  isFetching = true;
  try {
    const changesBefore = outbox.waiting ? null : changes;
    const n = countToFetch(outbox.waiting);
    const response = await fetch(local(`/api/v1/projects/${encodeURIComponent(project)}/triplets/next?n=${n}`));
    const body = response.ok ? await readBody(response) : null;
    if (response.status === 401) await forgetKept(); // signed out: nothing stays here but answers that were not sent
    if (!body) throw new Error(await explain(response));
    if (changesBefore === changes) takeInProgress(body.progress); // otherwise it does not include the latest answers
    const first = upcoming[0];
    if (inAnyCase && changesBefore === changes) dropAllBut(body.triplets);
    takeIn(body, first);
    if (!upcoming.length && !outbox.waiting && changesBefore !== changes) fetchAgain = { inAnyCase: false };
  } catch (error) {
    askAhead();
    const reason = error instanceof Error ? error.message : String(error);
    if (!upcoming.length) view.showNothing(navigator.onLine ? say("The next question cannot be fetched: {reason}. Trying again.", { reason }) : NOTHING_AHEAD);
  }
  isFetching = false;
  if (!fetchAgain) return;
  const { inAnyCase: again } = fetchAgain;
  fetchAgain = null;
  fetchQuestions(again);
}

/**
 * Answer or skip the question on the screen, or flag one of its items, and show the next one.
 * @param {SettlingEntry} entry
 * @param {string} announcement
 */
function settle(entry, announcement) {
  settled.add(keyOf(entry));
  upcoming = upcoming.slice(1).filter((question) => !isAboutFlagged(question));
  showNext();
  history = [...history, entry].slice(-UNDOABLE);
  view.showHistory(history);
  ahead.drop(entry);
  outbox.add(entry);
  view.announce(upcoming.length ? `${announcement} ${say("Next question.")}` : announcement);
  if (!upcoming.length) view.showNothing(say("Fetching the next question."));
  refill();
}

/** Suggest a pause to who has answered for half an hour without one. */
function countWork() {
  const now = Date.now();
  if (now - work.last > BREAK) Object.assign(work, { since: now, answers: 0 });
  work.last = now;
  work.answers += 1;
  byId("pause").hidden = true;
  if (now - work.since < WORK) return;
  view.suggestPause(work.answers);
  Object.assign(work, { since: now, answers: 0 });
}

/** Return whether the question on the screen was answered, and not just practised with. @param {string} value */
function answer(value) {
  if (screen?.state === "painting") view.showTooEarly();
  if (screen?.state === "unheard") view.announce(view.HEAR_FIRST);
  if (screen?.state !== "painted") return false;
  if (screen.question.lesson) {
    practice.teach(value, screen.question.lesson);
    enter(screen, "taught");
    return false;
  }
  const { triplet, items } = screen.question;
  const response_ms = Math.round(timeSeen(screen));
  view.flashButton(value);
  countWork();
  countAnswers(1);
  settle({ kind: "answer", id: newId(), triplet, items, answer: value, response_ms }, say("Answered {answer}.", { answer: view.ANSWER_NAMES[value] ?? value }));
  return true;
}

/** @param {Screen} current */
function timeSeen({ seenSince, seenBefore }) {
  return seenBefore + (seenSince === null ? 0 : performance.now() - seenSince);
}

/**
 * Leave the time in another window out of the response time.
 * @param {Screen} current
 */
function countTimeInView(current) {
  const isPainted = current.seenSince !== null || current.seenBefore > 0;
  current.seenBefore = timeSeen(current);
  current.seenSince = isPainted && !document.hidden ? performance.now() : null;
}

function skip() {
  if (!screen || screen.state === "loading" || screen.state === "painting") return;
  if (screen.question.lesson) {
    leaveLesson();
    return;
  }
  const { triplet, items } = screen.question;
  settle({ kind: "skip", triplet, items, answer: "skip" }, say("Skipped."));
}

function openFlags(place = 0) {
  if (screen && !screen.question.lesson) flagDialog.open(screen.question, place);
}

/** @param {import("./notes.js").Flag} said */
function flag(said) {
  if (!screen) return;
  const { triplet, items } = screen.question;
  flagged.add(said.item);
  ahead.dropAbout(said.item);
  settle({ kind: "flag", triplet, items, answer: "flag", ...said }, say("Flagged. You are not asked about this item any more."));
}

function lastAnswer() {
  return history.filter((entry) => entry.kind === "answer").at(-1);
}

function openComment() {
  const last = lastAnswer();
  if (last?.kind === "answer") commentDialog.open(view.ANSWER_NAMES[last.answer] ?? last.answer, last.comment ?? "");
}

/** @param {string} text */
function comment(text) {
  const last = lastAnswer();
  if (last?.kind !== "answer" || (last.comment ?? "") === text) return;
  setComment(last.id, text);
  outbox.add({ kind: "comment", id: last.id, comment: text });
  view.announce(text ? say("Noted.") : say("The note is removed."));
}

/**
 * @param {string} id
 * @param {string} text
 */
function setComment(id, text) {
  const entry = history.find((past) => past.kind === "answer" && past.id === id);
  if (entry?.kind === "answer") entry.comment = text;
  view.showHistory(history);
}

function undo() {
  const last = history.pop();
  if (!last) return;
  const { triplet, items } = last;
  settled.delete(keyOf(last));
  if (last.kind === "flag") flagged.delete(last.item);
  upcoming = [{ triplet, items, isAgain: true }, ...upcoming.filter((question) => keyOf(question) !== keyOf(last))];
  showNext();
  view.showHistory(history);
  view.announce(say("Undone. The question is shown again."));
  if (last.kind === "skip") return; // a skip cannot be withdrawn: the question is only shown again
  if (last.kind === "flag") {
    outbox.add({ kind: "unflag", item: last.item });
    return;
  }
  countAnswers(-1);
  outbox.add({ kind: "withdraw", id: last.id });
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key !== "Escape" && closest(event, "input:not([type=checkbox]), textarea, select, [contenteditable]")) return;
  if (event.key === " " && closest(event, "button, summary, a, input")) return; // the key presses what has the focus
  const key = keys.of(event);
  if (event.repeat) {
    hold(key);
    return;
  }
  const help = byId("help", HTMLDetailsElement);
  if (help.open && key.startsWith("arrow")) return; // the arrow keys scroll the guidelines
  /** @type {Record<string, () => void>} */
  const actions = {
    s: skip,
    f: () => openFlags(),
    m: openComment,
    backspace: undo,
    "?": () => (help.open = !help.open),
    escape: () => (help.open = false),
    " ": () => listening.toggleAll(),
    l: () => view.showLoop(listening.changeLoop()),
    h: () => view.showSpeed(listening.changeSpeed()),
    c: () => view.announce(say("Colours: {colours}", { colours: preferences.changeColours() })),
    v: () => view.announce(preferences.changeLevel() ? say("All sounds equally loud") : say("Sounds as loud as recorded")),
    "+": () => spectrograms.zoom({ time: ZOOM_STEP, frequency: ZOOM_STEP }),
    "-": () => spectrograms.zoom({ time: 1 / ZOOM_STEP, frequency: 1 / ZOOM_STEP }),
    0: () => spectrograms.reset(),
    ",": () => spectrograms.move(-0.25),
    ".": () => spectrograms.move(0.25),
  };
  const place = PLAY_KEYS.indexOf(key);
  if (ANSWER_KEYS[key]) answer(ANSWER_KEYS[key]);
  else if (actions[key]) actions[key]();
  else if (place >= 0) listening.toggle(place);
  else return;
  event.preventDefault();
}

/**
 * Play the sound of a key that is held, and that of the first item, by turns.
 * @param {string} key
 */
function hold(key) {
  const place = PLAY_KEYS.indexOf(key);
  if (place < 1 || heldKey) return;
  heldKey = key;
  listening.compare(place);
}

/** Stop what a held key plays. */
function letGo() {
  if (!heldKey) return;
  heldKey = null;
  listening.stop();
}

/**
 * Answer by a click on the more similar picture; a click on the first one, or on the time marks of any, plays the sound.
 * @param {MouseEvent} event
 */
function onClick(event) {
  const figure = closest(event, ".item");
  const place = Number(figure?.dataset.place) - 1;
  if (!figure || Number.isNaN(place)) return;
  if (closest(event, ".play")) {
    listening.toggle(place);
    return;
  }
  if (closest(event, ".flag")) {
    openFlags(place);
    return;
  }
  const media = closest(event, ".media");
  if (!media || spectrograms.wasDragged || getSelection()?.toString()) return;
  const { x, y } = part(media, event);
  const value = ANSWERS_BY_PLACE[place];
  if (media.classList.contains("spectrogram") && y > SEEK_STRIP) listening.play(place, spectrograms.timeAt(place, x));
  else if (!value) listening.toggle(place);
  else if (answer(value)) view.offerUndo(value);
}

/** @param {SubmitEvent} event */
function onSubmit(event) {
  const form = closest(event, "form");
  /** @type {Record<string, () => void>} */
  const actions = {
    answer: () => answer(event.submitter?.getAttribute("value") ?? ""),
    skip,
    undo,
    "look-again": fetchQuestions,
  };
  // Not `form.id`: the form has a field with this name, which hides the property.
  const action = actions[form?.getAttribute("id") ?? ""];
  if (!action) return;
  event.preventDefault();
  action();
}

/**
 * Stay on the page instead of going to the browser's error page: without a network there is no other.
 * @param {Event} event
 */
function stayWithoutNetwork(event) {
  const leaving = closest(event, event.type === "click" ? "a[href^='/']" : "header form");
  if (!leaving || (navigator.onLine && !outbox.isOffline)) return;
  event.preventDefault();
  event.stopImmediatePropagation(); // before it signs out
  view.showNotice(say("That needs the network. You can go on labeling."));
}

/** Have the browser keep the page itself, for this labeler. */
async function keepPage() {
  const address = location.pathname;
  const options = /** @type {const} */ ({ scope: address, updateViaCache: "none" });
  await navigator.serviceWorker.register(local("/label-worker.js"), options);
  await keepInThisLanguage(`${address}?without_questions=true`);
}

const requestedAt = Date.now() - performance.now(); // `performance.timeOrigin` is wrong after a computer has slept
[...outbox.sentSince(requestedAt), ...outbox.entries].forEach(replay);
addUpcoming(page.next.triplets);
showProgress(progress);
view.showHistory(history);
view.showOutbox(outbox);
view.showAhead(ahead);
if (upcoming.length) showNext();
if (page.practice && upcoming.length && !history.length) practice.offer();
byId("toast-undo").addEventListener("click", () => {
  view.hideUndo();
  undo();
});
byId("go-on").addEventListener("click", () => (byId("pause").hidden = true));
byId("note").addEventListener("click", openComment);
byId("load-again").addEventListener("click", loadAgain);
document.addEventListener("keydown", onKey);
document.addEventListener("keyup", (event) => {
  if (keys.of(event) === heldKey) letGo();
});
window.addEventListener("blur", letGo); // a key that goes up in another window is not heard of here
document.addEventListener("submit", onSubmit);
document.addEventListener("submit", stayWithoutNetwork, true);
document.addEventListener("click", stayWithoutNetwork, true);
byId("ahead").addEventListener("change", () => ahead.turn(byId("ahead", HTMLInputElement).checked));
byId("asking").addEventListener("click", onClick);
document.addEventListener("visibilitychange", () => {
  if (screen) countTimeInView(screen);
  if (!document.hidden) fetchQuestions(true);
});
window.addEventListener("online", () => {
  loadAgain();
  fetchQuestions(true);
  ahead.fill();
});
window.addEventListener("offline", () => view.showOutbox(outbox));
setInterval(fetchQuestions, RETRY_AFTER);
setInterval(() => ahead.fill(), FILL_EVERY);
outbox.send();
fetchQuestions();
if (ahead.isPossible) keepPage().then(() => ahead.fill(), () => {}); // a browser that refuses labels with a network only
