// Follows a project's server-sent events. The browser reconnects by itself and resumes after the last event.

import { local } from "./address.js";
import { readProblem } from "./problem.js";

/**
 * A run in an event.
 * @typedef {{ number: number, purpose: string, status: string, progress: number, starved: boolean }} RunEvent
 */

/**
 * A background job in an event.
 * @typedef {{ kind: string, subject: number | null, status: string, progress: number, note: string }} JobEvent
 */

/**
 * Something that the server needs and does not have; in an event it is empty when it is there again.
 * @typedef {{ detail?: string, since?: string, then?: string }} Outage
 */

/** @typedef {"live" | "reconnecting" | "closed"} StreamState */

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30000;

/**
 * Call `handlers[kind]` with each event of that kind, and `onState` whenever the connection changes. Browsers give up
 * where a proxy or the server answers with an error: then a new stream is opened after a while, and `handlers.outage` is
 * told what the server lacks. Where it lacks nothing and refuses the stream again, nobody may follow it any more.
 * @param {string} address
 * @param {Record<string, (payload: any) => void>} handlers
 * @param {(state: StreamState) => void} onState
 */
export function follow(address, handlers, onState) {
  let pause = FIRST_PAUSE_MS;
  let isRefused = false;
  let source = open();

  function open() {
    const stream = new EventSource(address);
    stream.onopen = () => {
      pause = FIRST_PAUSE_MS;
      isRefused = false;
      onState("live");
    };
    stream.onerror = () => (stream.readyState === EventSource.CLOSED ? openLater() : onState("reconnecting"));
    for (const [kind, handler] of Object.entries(handlers)) {
      stream.addEventListener(kind, (event) => handler(JSON.parse(event.data)));
    }
    return stream;
  }

  async function openLater() {
    const answer = await fetch(local("/readyz")).catch(() => null);
    if (answer?.ok && isRefused) return onState("closed");
    isRefused = Boolean(answer?.ok);
    onState("reconnecting");
    const outage = answer && (await readProblem(answer));
    if (outage) handlers.outage?.(outage);
    setTimeout(() => (source = open()), pause);
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  }

  addEventListener("pagehide", () => source.close());
}

/**
 * Update the progress bar of a background job, and return whether the page has one.
 * @param {string} kind
 * @param {number} progress
 * @param {string} note what it does just now
 */
export function showJob(kind, progress, note) {
  const bar = document.getElementById(`job-${kind}`);
  const line = document.getElementById(`job-${kind}-note`);
  if (!(bar instanceof HTMLProgressElement)) return false;
  bar.value = progress;
  if (line && note) line.textContent = note;
  return true;
}

/**
 * Say, or say no longer, that a run mostly waits for a processor.
 * @param {boolean} isStarved
 */
export function showStarved(isStarved) {
  for (const line of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-starved]"))) line.hidden = !isStarved;
}
