// Sounds of the question on screen: one at a time, from anywhere in it, slower if wished, or all three in turn.

import { loadSound } from "./preload.js";

const SPEEDS = [1, 0.5, 0.25];
const PAUSE = 250; // between sounds that are played in turn

/**
 * A sound that is played: the place of its item, where it began, and what follows.
 * @typedef {{ place: number, audio: HTMLAudioElement, then: (() => void) | null }} Playing
 */

export class Listening {
  /** @type {Playing | null} */
  #playing = null;
  /** @type {(string | null)[]} */
  #urls = [];
  #speed = 0;
  #pause = 0;

  /**
   * `onTime(place, time)` is called for every frame of a sound that is played, and with null when it ends;
   * `onFailure(place)` when it cannot be.
   * @param {{ onTime: (place: number, time: number | null) => void, onFailure: (place: number) => void }} options
   */
  constructor({ onTime, onFailure }) {
    this.onTime = onTime;
    this.onFailure = onFailure;
  }

  /** How fast sounds are played: 1 as they were recorded. */
  get speed() {
    return SPEEDS[this.#speed];
  }

  /**
   * Begin a question with these sounds; null: the item has none.
   * @param {(string | null)[]} urls
   */
  begin(urls) {
    this.stop();
    this.#urls = urls;
  }

  /**
   * Play the sound of a place, or end it if it is played.
   * @param {number} place
   */
  toggle(place) {
    const isPlaying = this.#playing?.place === place;
    this.stop();
    if (!isPlaying) this.play(place);
  }

  /** Play the three sounds one after the other, or end what is played. */
  toggleAll() {
    if (this.#playing) {
      this.stop();
      return;
    }
    const places = this.#urls.flatMap((url, place) => (url ? [place] : []));
    const playNext = () => {
      const place = places.shift();
      if (place !== undefined) this.play(place, 0, places.length ? playNext : null);
    };
    playNext();
  }

  /** Go on to the next slower speed, from the slowest back to that of the recording; lower pitch with it. */
  changeSpeed() {
    this.#speed = (this.#speed + 1) % SPEEDS.length;
    if (this.#playing) this.#playing.audio.playbackRate = this.speed;
    return this.speed;
  }

  /**
   * @param {number} place
   * @param {number} [from] in seconds
   * @param {(() => void) | null} [then]
   */
  async play(place, from = 0, then = null) {
    const url = this.#urls[place];
    if (!url) return;
    this.stop();
    const audio = new Audio();
    const current = (this.#playing = { place, audio, then });
    this.onTime(place, from);
    audio.preservesPitch = false;
    audio.onended = () => this.#end(current);
    try {
      audio.src = await loadSound(url);
      if (this.#playing !== current) return;
      audio.currentTime = from;
      audio.playbackRate = this.speed;
      await audio.play();
      this.#follow(current);
    } catch {
      if (this.#playing !== current) return;
      this.stop();
      this.onFailure(place);
    }
  }

  stop() {
    clearTimeout(this.#pause);
    if (!this.#playing) return;
    const { place, audio } = this.#playing;
    this.#playing = null;
    audio.pause();
    this.onTime(place, null);
  }

  /** @param {Playing} current */
  #end(current) {
    if (this.#playing !== current) return;
    this.stop();
    if (current.then) this.#pause = setTimeout(current.then, PAUSE);
  }

  /** @param {Playing} current */
  #follow(current) {
    if (this.#playing !== current) return;
    this.onTime(current.place, current.audio.currentTime);
    requestAnimationFrame(() => this.#follow(current));
  }
}
