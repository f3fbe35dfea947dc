// Shows the labeling page when there is no network, from what the browser keeps. With a network everything comes from the
// server, so that nothing is ever out of date; a new version of the page is stored whole before an old one is dropped.
// The server puts `self.page` before this: the version of the page, and its files.

const worker = /** @type {any} */ (self);
/** @type {{ version: string, files: string[] }} */
const { version, files } = worker.page;
/** @type {string} the address of the labeling page of one project */
const address = worker.registration.scope;
const cacheName = `tercet page ${address} ${version}`;
const place = new URL(".", location.href).pathname; // of the service: the worker lies at its top
const kept = `${address}?without_questions=true`;
const AWAY = [502, 503, 504]; // what a proxy says of a server that is not there

async function store() {
  const cache = await caches.open(cacheName);
  await cache.addAll([...files, kept].map((url) => new Request(url, { cache: "reload" })));
  await worker.skipWaiting();
}

async function dropOldVersions() {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(`tercet page ${address} `) && name !== cacheName);
  await Promise.all(old.map((name) => caches.delete(name)));
  await worker.clients.claim();
}

/**
 * Return the server's response, or the stored one if there is none.
 * @param {Request} request
 * @param {string} [storedAs]
 */
async function fromServer(request, storedAs = request.url) {
  const response = await fetch(request).catch(() => null);
  if (response && !AWAY.includes(response.status)) return response;
  const options = { ignoreVary: true };
  const stored = (await caches.match(storedAs, options)) ?? (await caches.match(storedAs, { ...options, ignoreSearch: true }));
  return stored ?? response ?? Response.error();
}

worker.addEventListener("install", (/** @type {any} */ event) => event.waitUntil(store()));
worker.addEventListener("activate", (/** @type {any} */ event) => event.waitUntil(dropOldVersions()));
worker.addEventListener("fetch", (/** @type {any} */ event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin) return;
  if (request.mode === "navigate") {
    if (pathname === new URL(address).pathname) event.respondWith(fromServer(request, kept));
  } else if (pathname.startsWith(place) && /^(static|api\/v1\/projects\/[^/]+\/media)\//.test(pathname.slice(place.length))) {
    event.respondWith(fromServer(request));
  }
});
