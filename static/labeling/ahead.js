// Questions for the time without a network: random ones that are this labeler's alone, in localStorage until they are
// answered, with their pictures and sounds in a cache that the service worker reads.

import { local } from "../web/address.js";
import { AHEAD } from "../web/kept.js";
import { isSound } from "./preload.js";

/** @typedef {import("./preload.js").Question} Question */
/** @typedef {{ isOn: boolean, questions: Question[], here: number }} Stored */

const COUNT = 200;
const LEAST_MISSING = 20; // so that not every answer fetches another one
const AT_ONCE = 3; // pictures and sounds fetched at a time, behind those of the next questions

/** @param {Question} question */
const keyOf = (question) => JSON.stringify(question.triplet);

export class Ahead {
  #key;
  #url;
  #cacheName;
  #isFilling = false;
  /** @type {Stored} `here` is how many questions, from the first on, have all their media in the cache */
  #stored = { isOn: false, questions: [], here: 0 };

  /**
   * `onChange()` is called whenever `isOn` or `here` may have changed.
   * @param {{ project: string, user: string, isInstalled: boolean, onChange: () => void }} options
   */
  constructor({ project, user, isInstalled, onChange }) {
    this.#key = `${AHEAD}${project}/${user}`;
    this.#url = local(`/api/v1/projects/${encodeURIComponent(project)}/triplets/ahead`);
    this.#cacheName = `tercet media ${project} ${user}`;
    this.onChange = onChange;
    this.isPossible = "serviceWorker" in navigator && "caches" in window && hasStorage();
    if (!this.isPossible) return;
    this.#stored.isOn = isInstalled; // until the labeler turns it off
    this.#load();
    window.addEventListener("storage", ({ key }) => {
      if (key !== this.#key) return;
      this.#load();
      this.onChange();
    });
  }

  get isOn() {
    return this.#stored.isOn;
  }

  /** How many questions can be answered without a network. */
  get here() {
    return this.#stored.here;
  }

  /** @param {boolean} isOn */
  async turn(isOn) {
    this.#change((stored) => Object.assign(stored, isOn ? { isOn } : { isOn, questions: [], here: 0 }));
    if (isOn) await this.fill();
    else await caches.delete(this.#cacheName);
  }

  /**
   * Return up to `count` questions that are here in full, none of those in `except`.
   * @param {number} count
   * @param {Set<string>} except
   */
  take(count, except) {
    const { questions, here } = this.#stored;
    return questions.slice(0, here).filter((question) => !except.has(keyOf(question))).slice(0, count);
  }

  /**
   * Drop a question that is settled.
   * @param {{ triplet: string[] }} settled
   */
  drop({ triplet }) {
    const key = JSON.stringify(triplet);
    if (!this.#stored.questions.some((question) => keyOf(question) === key)) return;
    this.#change((stored) => {
      const place = stored.questions.findIndex((question) => keyOf(question) === key);
      if (place >= 0) stored.questions.splice(place, 1);
      if (place >= 0 && place < stored.here) stored.here -= 1;
    });
  }

  /**
   * Drop the questions about an item that is flagged.
   * @param {string} item
   */
  dropAbout(item) {
    if (!this.#stored.questions.some(({ triplet }) => triplet.includes(item))) return;
    this.#change((stored) => {
      const isLeft = stored.questions.map(({ triplet }) => !triplet.includes(item));
      stored.here = isLeft.slice(0, stored.here).filter(Boolean).length;
      stored.questions = stored.questions.filter((_, place) => isLeft[place]);
    });
  }

  /** Fetch questions until there are enough, and their media; one tab of a browser does. */
  async fill() {
    if (!this.isOn || !this.isPossible || this.#isFilling || !navigator.onLine) return;
    this.#isFilling = true;
    try {
      await navigator.locks.request(this.#cacheName, { ifAvailable: true }, async (lock) => {
        if (!lock) return;
        await this.#fetchQuestions();
        await this.#fetchMedia();
      });
    } catch {
      // The network went away, or the storage is full: what is here is here.
    } finally {
      this.#isFilling = false;
    }
  }

  async #fetchQuestions() {
    const missing = COUNT - this.#stored.questions.length;
    if (missing < LEAST_MISSING) return;
    const response = await fetch(`${this.#url}?n=${missing}`, { method: "POST" });
    if (!response.ok) return;
    const { triplets } = await response.json();
    this.#change((stored) => stored.questions.push(...triplets));
  }

  async #fetchMedia() {
    const cache = await caches.open(this.#cacheName);
    const cached = new Set((await cache.keys()).map(({ url }) => new URL(url).pathname));
    while (this.isOn && this.here < this.#stored.questions.length) {
      const question = this.#stored.questions[this.here];
      if (await fetchInto(cache, mediaOf(question).filter((url) => !cached.has(url)))) {
        mediaOf(question).forEach((url) => cached.add(url));
        this.#change((stored) => {
          if (keyOf(stored.questions[stored.here]) === keyOf(question)) stored.here += 1;
        });
      } else {
        this.drop(question); // an item is gone
      }
    }
    const needed = new Set(this.#stored.questions.flatMap(mediaOf));
    await Promise.all([...cached].filter((url) => !needed.has(url)).map((url) => cache.delete(url)));
  }

  /**
   * Change what is stored now, also by another tab.
   * @param {(stored: Stored) => void} change
   */
  #change(change) {
    this.#load();
    change(this.#stored);
    localStorage.setItem(this.#key, JSON.stringify(this.#stored));
    this.onChange();
  }

  #load() {
    const text = localStorage.getItem(this.#key);
    if (text) this.#stored = JSON.parse(text);
  }
}

/**
 * Fetch addresses into a cache; return false if one has nothing any more, throw if the network or the server fails.
 * @param {Cache} cache
 * @param {string[]} urls
 */
async function fetchInto(cache, urls) {
  for (let start = 0; start < urls.length; start += AT_ONCE) {
    const responses = await Promise.all(urls.slice(start, start + AT_ONCE).map((url) => fetch(url)));
    if (responses.some(({ status }) => status === 404 || status === 409)) return false;
    const failed = responses.find(({ ok }) => !ok);
    if (failed) throw new Error(`${failed.url}: ${failed.status}`);
    await Promise.all(responses.map((response) => cache.put(response.url, response)));
  }
  return true;
}

function hasStorage() {
  try {
    return Boolean(window.localStorage);
  } catch {
    return false; // turned off in the browser's settings
  }
}

/** @param {Question} question */
function mediaOf(question) {
  return Object.values(question.items).flatMap((item) =>
    [item.picture_url, isSound(item) ? item.media_url : null].filter((url) => url !== null),
  );
}
