// The labeling page: one key an answer. Questions wait in `ahead`, given answers in `history` (for undo) and in
// the outbox (for the server); the page never waits for the network between two questions.

import { preload, stop } from "./preload.js";
import { newId, Outbox } from "./outbox.js";
import * as view from "./label_view.js";

const AHEAD = 6; // fewest questions here: the one on screen and five behind it
const MORE = 6; // so many more are asked for, so that not every answer is followed by asking
const UNDOABLE = 20;
const LOOK_AGAIN = 15_000;

const root = document.getElementById("label");
const { project, user, kind } = root.dataset;
const page = JSON.parse(root.dataset.page);
const outlier = kind === "outlier";
const KEYS = outlier
  ? { 1: "1", 2: "2", 3: "3", d: "dnk", arrowdown: "dnk" }
  : { y: "yes", arrowleft: "yes", n: "no", arrowright: "no", d: "dnk", arrowdown: "dnk" };
const PLAY = outlier ? ["q", "w", "e"] : ["1", "2", "3"];

const nameOf = (question) => JSON.stringify(question.triplet);
let ahead = [];
let history = page.recent.reverse();
let progress = page.next.progress;
let paintedAt = null;
let filling = false;
let fillAgain = false; // asked to fill while filling: what comes may have been decided before the latest answer
let changes = 0; // answers and undos given here so far
// Answered or skipped here, whether or not the server knows it yet: never shown again, unless undone.
const settled = new Set();

const outbox = new Outbox({
  project,
  user,
  changed: () => view.showOutbox(outbox),
  acknowledged(entry, body) {
    if (body.progress && !outbox.waiting) showProgress(body.progress);
    fill();
  },
});

function showProgress(next) {
  progress = next;
  view.showProgress(progress);
}

function count(change) {
  changes += 1;
  const { mine, mine_today, project_answers } = progress;
  showProgress({
    mine: mine + change,
    mine_today: Math.max(mine_today + change, 0),
    project_answers: project_answers + change,
  });
}

function add(questions) {
  const known = new Set([...settled, ...ahead.map(nameOf)]);
  const fresh = questions.filter((question) => !known.has(nameOf(question)));
  ahead.push(...fresh);
  fresh.forEach(preload);
}

async function show() {
  stop();
  const question = ahead[0];
  paintedAt = null;
  if (!question) return;
  const painted = await view.showQuestion(question);
  if (ahead[0] === question && !document.hidden) paintedAt = painted;
}

// What was given before this page was opened and the server has not acknowledged yet.
function replay(entry) {
  if (entry.kind === "withdraw") {
    const undone = history.find((one) => one.id === entry.id);
    history = history.filter((one) => one !== undone);
    count(-1);
    if (undone) settled.delete(nameOf(undone));
    if (undone) add([undone]);
    return;
  }
  settled.add(nameOf(entry));
  if (entry.kind === "answer") {
    history.push(entry);
    count(1);
  }
}

// Drops what was answered in another window meanwhile, or given to somebody else while this one lay idle.
function forgetAllBut(held) {
  const names = new Set(held.map(nameOf));
  ahead = ahead.filter((question) => question.again || names.has(nameOf(question)));
}

async function fill(anew = false) {
  if (ahead.length >= AHEAD && !anew) return;
  if (filling) {
    fillAgain = true;
    return;
  }
  filling = true;
  try {
    // The server still counts unsent answers as questions that we hold, and names those first.
    const known = outbox.waiting ? null : changes;
    const wanted = Math.min(AHEAD + MORE + outbox.waiting, 100);
    const response = await fetch(`/api/v1/projects/${encodeURIComponent(project)}/triplets/next?n=${wanted}`);
    const body = await response.json();
    if (!response.ok) throw new Error(body.detail);
    const before = ahead[0];
    if (anew && known === changes) forgetAllBut(body.triplets);
    add(body.triplets);
    if (known === changes) showProgress(body.progress); // else it was counted before the latest answer came in
    if (ahead[0] !== before) show();
    if (!ahead.length && !outbox.waiting) view.showNothing(body.reason ?? "Waiting for the next question.");
  } catch (error) {
    if (!ahead.length) view.showNothing(`The next question cannot be fetched: ${error.message}. Trying again.`);
  }
  filling = false;
  if (!fillAgain) return;
  fillAgain = false;
  fill();
}

function remember(entry) {
  history.push(entry);
  history = history.slice(-UNDOABLE);
  view.showHistory(history);
}

function settle(entry, words) {
  settled.add(nameOf(entry));
  ahead.shift();
  show();
  remember(entry);
  outbox.add(entry);
  view.say(ahead.length ? `${words}. Next question.` : `${words}.`);
  if (!ahead.length) view.showNothing("Fetching the next question.");
  fill();
}

function answer(value) {
  const question = ahead[0];
  if (!question) return;
  const spent = paintedAt === null ? null : Math.round(performance.now() - paintedAt);
  const { triplet, items } = question;
  view.press(document.querySelector(`#answer button[value="${value}"]`));
  count(1);
  settle({ kind: "answer", id: newId(), triplet, items, answer: value, response_ms: spent }, `Answered ${view.WORDS[value] ?? value}`);
}

function skip() {
  if (!ahead.length) return;
  const { triplet, items } = ahead[0];
  settle({ kind: "skip", triplet, items, answer: "skip" }, "Skipped");
}

function undo() {
  const last = history.pop();
  if (!last) return;
  const { triplet, items } = last;
  settled.delete(nameOf(last));
  ahead = [{ triplet, items, again: true }, ...ahead.filter((question) => nameOf(question) !== nameOf(last))];
  show();
  view.showHistory(history);
  view.say("Taken back. The question is here again.");
  if (last.kind === "skip") return; // nothing was stored: the question is only shown again
  count(-1);
  outbox.add({ kind: "withdraw", id: last.id });
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest("input:not([type=hidden]), textarea, select, [contenteditable]")) return;
  const key = event.key.toLowerCase();
  const help = document.getElementById("help");
  if (help.open && key.startsWith("arrow")) return; // they scroll the guidelines
  const action = {
    s: skip,
    backspace: undo,
    "?": () => (help.open = !help.open),
    escape: () => (help.open = false),
  }[key];
  const place = PLAY.indexOf(key);
  if (KEYS[key]) answer(KEYS[key]);
  else if (action) action();
  else if (place >= 0) document.querySelectorAll(".play")[place].click();
  else return;
  event.preventDefault();
}

function onSubmit(event) {
  // Not `target.id`: the plain form's field of that name hides the property.
  const action = { answer: () => answer(event.submitter.value), skip, undo }[event.target.getAttribute("id")];
  if (!action) return;
  event.preventDefault();
  action();
}

outbox.entries.forEach(replay);
add(page.next.triplets);
showProgress(progress);
view.showHistory(history);
view.showOutbox(outbox);
if (ahead.length) show();
document.addEventListener("keydown", onKey);
document.addEventListener("submit", onSubmit);
document.addEventListener("visibilitychange", () => {
  paintedAt = null; // time away is no time of thought
  if (!document.hidden) fill(true);
});
window.addEventListener("online", () => fill());
setInterval(() => (ahead.length < AHEAD ? fill() : null), LOOK_AGAIN);
outbox.send();
fill();
