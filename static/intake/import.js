// The import page, for a new project or for more items: sends the files that are dropped or chosen, starts the check, and
// follows the import. Its stage is rendered by the server and updated in place.

import { local } from "../web/address.js";
import { byId, query } from "../web/dom.js";
import { copyOnClick } from "../web/copy.js";
import { follow, showJob } from "../web/events.js";
import { catchUpAfterTyping, refresh, sendFormsInPlace, show } from "../web/live.js";
import { playOnClick } from "../web/player.js";
import { explain } from "../web/problem.js";
import { keepTimesCurrent } from "../web/relative_times.js";
import { pathsInImport, readDrop, readPicker } from "./dropped_files.js";
import { updateSegments } from "./segments.js";
import { fetchReceived, placeOf, Uploads } from "./upload.js";
import { UploadView } from "./upload_view.js";

/** @typedef {import("./dropped_files.js").Selection} Selection */
/** @typedef {import("../web/events.js").RunEvent} RunEvent */

const zone = byId("drop-zone");
const view = new UploadView();
/** @type {Uploads | null} */
let uploads = null;
let isStartedHere = false; // whether this page started a new project: then it makes the labeling link too
let isChecked = false; // whether the check of the received files was started
let project = encodeURIComponent(zone.dataset.project ?? "");
let number = zone.dataset.import ?? "";
/** @type {Promise<void>} */
let turn = Promise.resolve(); // files that are dropped soon after one another are handled one after the other

const importAddress = () => local(`/api/v1/projects/${project}/imports/${number}`);

/** @param {string} sentence */
function report(sentence) {
  byId("drop-problem").textContent = sentence;
}

/**
 * Send a form's fields and return the response; throw an error with the server's sentence if it refuses.
 * @param {string} address
 * @param {Record<string, string>} [fields]
 * @param {string} [accept]
 */
async function post(address, fields = {}, accept = "application/json") {
  const response = await fetch(address, { method: "POST", headers: { Accept: accept }, body: new URLSearchParams(fields) }).catch(() => null);
  if (!response) throw new Error("No connection: nothing was sent. Try again.");
  if (!response.ok) throw new Error(await explain(response));
  return response;
}

/**
 * Create an import, and the project if there is none yet. The server redirects to the import's page, whose address this
 * page takes, so that a reload shows the same import.
 * @param {string} folder
 */
async function makeImport(folder) {
  if (number) return;
  const response = await post(zone.dataset.begin ?? "", project ? {} : newProject(folder));
  const html = await response.text();
  [, project = "", number = ""] = new URL(response.url).pathname.match(/\/projects\/([^/]+)\/imports\/(\d+)$/) ?? [];
  history.replaceState(null, "", response.url);
  byId("page-title").textContent = new DOMParser().parseFromString(html, "text/html").getElementById("page-title")?.textContent ?? "";
  for (const part of document.querySelectorAll("[data-until-begun]")) part.remove();
  showHead(html);
  addLink(html);
  show(html);
  listen();
}

/**
 * Replace the header, which has the project's name and links to its pages, and the title by those of another page.
 * @param {string} html
 */
function showHead(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  document.title = page.title;
  query(document, "header.site").replaceWith(document.importNode(query(page, "header.site"), true));
}

/** Lead to the pages of a new project, which has none before it is ready. */
async function showPages() {
  if (document.querySelector('header.site nav a[href*="/projects/"]')) return;
  const response = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
  if (response?.ok) showHead(await response.text());
}

/** @param {string} folder */
function newProject(folder) {
  const name = byId("new-name", HTMLInputElement).value.trim() || folder || "New project";
  return { name: name.slice(0, 200), n_clusters: byId("new-clusters", HTMLInputElement).value || "8" };
}

/**
 * Insert the part of the page about the labeling link, which live updates leave alone.
 * @param {string} html
 */
function addLink(html) {
  const part = new DOMParser().parseFromString(html, "text/html").getElementById("link");
  if (!part) return;
  const update = document.importNode(part, true);
  const old = document.getElementById("link");
  if (old) old.replaceWith(update);
  else byId("stage").after(update);
}

let isLinkMade = false;

/** Make a labeling link, which is shown this one time. */
async function makeLink() {
  if (isLinkMade) return;
  isLinkMade = true;
  try {
    const response = await post(local(`/projects/${project}/imports/${number}/link`), {}, "text/html");
    addLink(await response.text());
  } catch (error) {
    isLinkMade = false;
    query(document, "#make-link .problem").textContent = sentence(error);
  }
}

/** @param {unknown} error */
function sentence(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {Promise<Selection>} reading */
function take(reading) {
  turn = turn.then(async () => {
    try {
      const selection = await reading;
      report(selection.files.length ? "" : "There is nothing to send: it is empty, or all its files are hidden.");
      if (selection.files.length) await sendFiles(selection);
    } catch (error) {
      report(sentence(error));
    }
  });
}

/** @param {Selection} selection */
async function sendFiles(selection) {
  await makeImport(selection.folder);
  const present = await fetchReceived(importAddress());
  isChecked = false;
  uploads ??= new Uploads(importAddress(), onProgress);
  uploads.hidden += selection.hidden;
  uploads.add(pathsInImport(selection, present), present);
}

function onProgress() {
  if (!uploads) return;
  view.update(uploads);
  showSending();
  byId("upload-go-on").hidden = !(uploads.isFinished && uploads.refused.length && uploads.done);
  if (uploads.isFinished && !uploads.refused.length) check();
}

/** While files are sent, how far they are stands first, and what is for going on later is out of the way. */
function showSending() {
  const isOpen = ["", "uploading"].includes(byId("stage").dataset.status ?? "");
  document.body.classList.toggle("sending", uploads !== null && isOpen);
  leaveZone(() => zone.classList.toggle("busy", uploads !== null && !uploads.isFinished));
}

/**
 * Show or hide the drop zone; if the focus was in it, it moves to the title.
 * @param {() => void} change
 */
function leaveZone(change) {
  const hadFocus = zone.contains(document.activeElement);
  change();
  if (hadFocus && !zone.checkVisibility()) focusTitle();
}

/** Go on without what was refused: the part of it that came would keep all others from being read. */
async function goOn() {
  byId("upload-go-on").hidden = true;
  for (const path of uploads?.leaveRefused() ?? []) {
    await fetch(`${importAddress()}/files/${placeOf(path)}`, { method: "DELETE", headers: { Accept: "application/json" } }).catch(() => null);
  }
  await check();
}

/** Have what came checked, once for each time that files were added. */
async function check() {
  if (isChecked) return;
  isChecked = true;
  try {
    await post(local(`/projects/${project}/imports/${number}/check`));
    await refresh();
  } catch (error) {
    isChecked = false;
    report(sentence(error));
    byId("upload-go-on").hidden = false;
  }
}

/** @param {import("../web/events.js").JobEvent} job */
function onJob({ kind, subject, status, progress, note }) {
  if (subject !== null && String(subject) !== number) return;
  if (status !== "running" || !showJob(kind, progress, note)) refresh();
}

/** @param {RunEvent} run */
function onRun({ status, progress }) {
  const bar = document.getElementById("run-progress");
  if (status === "running" && bar instanceof HTMLProgressElement) bar.value = progress;
  else refresh();
}

let isListening = false;

function listen() {
  if (isListening || !project || !number) return;
  isListening = true;
  const onState = (/** @type {string} */ state) => {
    if (state === "live") refresh(); // to show what changed while there was no connection
  };
  follow(local(`/api/v1/projects/${project}/events`), { job: onJob, run: onRun, clusters: refresh, project: refresh }, onState);
}

function focusTitle() {
  const title = byId("page-title");
  title.tabIndex = -1;
  title.focus();
}

let shownStatus = byId("stage").dataset.status;

/**
 * Scroll to the top of a new stage and focus it, unless the focus is elsewhere.
 * @param {string} status
 */
function beginStage(status) {
  if (status === shownStatus) return;
  shownStatus = status;
  const active = document.activeElement;
  if (!active || active === document.body || byId("stage").contains(active)) focusTitle();
}

/** What belongs to a stage is shown with it: the zone while files may come, the link once there is something to label. */
function onUpdate() {
  const { status = "", title = "" } = byId("stage").dataset;
  if (title) byId("page-title").textContent = title;
  beginStage(status);
  const isOpen = status === "" || status === "uploading";
  if (!isOpen) byId("upload").hidden = true;
  if (status !== "ready" && !isOpen) zone.classList.remove("asked-for");
  leaveZone(() => (zone.hidden = !isOpen && !zone.classList.contains("asked-for")));
  showSending();
  const link = document.getElementById("link");
  if (link) link.hidden = status !== "done";
  if (status === "done") showPages();
  if (status === "done" && isStartedHere) makeLink();
  updateSegments();
}

function watchDrops() {
  let depth = 0; // how many elements within the page the pointer has entered
  const mark = (/** @type {number} */ change) => zone.classList.toggle("over", (depth = Math.max(0, depth + change)) > 0);
  addEventListener("dragenter", () => mark(1));
  addEventListener("dragleave", () => mark(-1));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault(); // otherwise the browser would open the file
    mark(-depth);
    if (event.dataTransfer?.items.length && !zone.hidden) take(readDrop(event.dataTransfer));
  });
}

function watchPickers() {
  for (const name of ["folder", "files"]) {
    const input = byId(`pick-${name}`, HTMLInputElement);
    byId(`choose-${name}`).addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      if (input.files?.length) take(Promise.resolve(readPicker(input.files)));
      input.value = ""; // so that the same folder can be chosen again
    });
  }
}

document.documentElement.classList.add("js");
watchDrops();
watchPickers();
byId("upload-go-on").addEventListener("click", goOn);
addEventListener("beforeunload", (event) => {
  if (uploads && !uploads.isFinished) event.preventDefault(); // the browser asks whether to leave
});
document.addEventListener("tercet:updated", onUpdate);
document.addEventListener("click", (event) => {
  if (event.target instanceof Element && event.target.id === "add-more") {
    zone.classList.add("asked-for");
    onUpdate();
    query(zone, "button").focus();
  }
});
document.addEventListener("submit", (event) => {
  if (!(event.target instanceof HTMLFormElement)) return;
  if (event.target.matches(".make:has([name=name])")) isStartedHere = true; // only for a new project: others have had their links made
  if (event.target.id === "make-link") {
    event.preventDefault();
    makeLink();
  }
});
document.addEventListener("input", (event) => {
  const slider = event.target;
  if (!(slider instanceof HTMLInputElement) || slider.type !== "range") return;
  const output = slider.parentElement?.querySelector("output");
  if (output && slider.name) output.textContent = (output.textContent ?? "").replace(/^\S+/, slider.value);
  updateSegments();
});
document.addEventListener("change", (event) => {
  const field = event.target;
  if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement)) return;
  const form = field.closest("form[data-send-on-change]");
  if (!(form instanceof HTMLFormElement)) return;
  const isTried = field.closest("#segments") || (field.name === "cut" && field.value === "segments");
  if (!isTried) form.requestSubmit();
  else if (field.name) askToReadFirst();
  updateSegments();
});

/** What is cut otherwise than it was read must be read again before it is imported: the preview below shows it then. */
function askToReadFirst() {
  query(document, ".make .primary", HTMLButtonElement).disabled = true;
  byId("read-first").hidden = false;
}

onUpdate();
listen();
sendFormsInPlace();
catchUpAfterTyping();
playOnClick();
copyOnClick();
keepTimesCurrent();
