// What a browser keeps of a labeling page for the time without a network. It is forgotten on signing out, so that the next
// person at the same computer finds nothing; answers that were not sent yet stay until their labeler comes back.

// What the names of the entries in localStorage begin with: questions for the time without a network, what was sent a
// moment ago, and how many answers there were then.
export const AHEAD = "tercet-ahead/";
export const SENT = "tercet-sent/";
export const PROGRESS = "tercet-progress/";
const FORGOTTEN = [AHEAD, SENT, PROGRESS];

/** Forget pages, questions, pictures and sounds, what was sent, and how much. */
export async function forgetKept() {
  for (const key of Object.keys(localStorage)) {
    if (FORGOTTEN.some((beginning) => key.startsWith(beginning))) localStorage.removeItem(key);
  }
  if (!("caches" in window)) return; // over plain http from another machine there are none
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith("tercet ")).map((name) => caches.delete(name)));
  const registrations = await navigator.serviceWorker.getRegistrations();
  await Promise.all(registrations.map((registration) => registration.unregister()));
}

/**
 * Keep a page anew where it is kept in another language than this page has: somebody has chosen one since.
 * @param {string} url
 */
export async function keepInThisLanguage(url) {
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    const kept = await cache.match(url, { ignoreVary: true });
    const language = kept?.headers.get("content-language");
    if (language && language !== document.documentElement.lang) await cache.add(url);
  }
}
