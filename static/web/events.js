// Follows a project's server-sent events. The browser reconnects by itself and resumes after the last event.

/**
 * A run in an event.
 * @typedef {{ number: number, purpose: string, status: string, progress: number }} RunEvent
 */

/**
 * A background job in an event.
 * @typedef {{ kind: string, subject: number | null, status: string, progress: number, note: string }} JobEvent
 */

/** @typedef {"live" | "reconnecting" | "closed"} StreamState */

/**
 * Call `handlers[kind]` with each event of that kind, and `onState` whenever the connection changes.
 * @param {string} address
 * @param {Record<string, (payload: any) => void>} handlers
 * @param {(state: StreamState) => void} onState
 */
export function follow(address, handlers, onState) {
  const source = new EventSource(address);
  source.onopen = () => onState("live");
  source.onerror = () => onState(source.readyState === EventSource.CLOSED ? "closed" : "reconnecting");
  for (const [kind, handler] of Object.entries(handlers)) {
    source.addEventListener(kind, (event) => handler(JSON.parse(event.data)));
  }
  addEventListener("pagehide", () => source.close());
  return source;
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
