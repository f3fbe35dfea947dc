// Plays the sounds of the question on the screen: one at a time, from any point, at full speed or slower, all in turn, or
// two of them by turns.

import { levelled, loadSound } from "./preload.js";

const SPEEDS = [1, 0.5, 0.25];
const PAUSE = 250; // between sounds that are played in turn

/**
 * A sound that is being played: the place of its item, its element, and what to do when it ends.
 * @typedef {{ place: number, audio: HTMLAudioElement, then: (() => void) | null }} Playing
 */

export class Listening {
  /** @type {Playing | null} */
  #playing = null;
  /** @type {(string | null)[]} */
  #urls = [];
  #speed = 0;
  #pause = 0;
  #isLooping = false;
  /** @type {number | null} the place of the sound that has ended, with nothing played or stopped since */
  #ended = null;
  /** Whether sounds are played at one loudness instead of that of the recordings. */
  isLevelled = false;

  /**
   * `onHeard(place)` is called when a sound was played to its end; `onTime(place, time)` in every frame while a sound is played, and with null when it ends;
   * `onFailure(place)` is called if it cannot be played; `region(place)` returns the seconds of a sound that are played again and again.
   * @param {{ onHeard: (place: number) => void, onTime: (place: number, time: number | null) => void, onFailure: (place: number) => void,
   *   region: (place: number) => { from: number, to: number } }} options
   */
  constructor({ onHeard, onTime, onFailure, region }) {
    this.onHeard = onHeard;
    this.onTime = onTime;
    this.onFailure = onFailure;
    this.region = region;
  }

  /** The speed of playing: 1 is that of the recording. */
  get speed() {
    return SPEEDS[this.#speed];
  }

  /**
   * Start a question with these sounds; null for an item without one.
   * @param {(string | null)[]} urls
   */
  begin(urls) {
    this.stop();
    this.#urls = urls;
  }

  /**
   * Play the sound of a place, or stop it if it is being played.
   * @param {number} place
   */
  toggle(place) {
    const isPlaying = this.#playing?.place === place;
    this.stop();
    if (!isPlaying) this.play(place);
  }

  /** Play the three sounds one after the other, or stop the sound that is being played. */
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

  /**
   * Play the sound of a place and that of the first item by turns, until `stop`; what is being played goes on to its end.
   * A sound may be so short that it has ended before its key repeats; then it is the turn of the first item.
   * @param {number} place
   */
  compare(place) {
    /** @param {number} current */
    const playNext = (current) => {
      this.play(current, 0, () => playNext(current ? 0 : place));
    };
    if (this.#playing) this.#playing.then = () => playNext(0);
    else playNext(this.#ended === place ? 0 : place);
  }

  /** Play the part that is on the screen again and again from now on, or no longer; return which. */
  changeLoop() {
    this.#isLooping = !this.#isLooping;
    return this.#isLooping;
  }

  /** Change to the next slower speed, from the slowest one to that of the recording; the pitch changes too. */
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
      audio.src = await loadSound(this.isLevelled ? levelled(url) : url);
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
    this.#ended = null;
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
    this.#ended = current.place;
    this.onHeard(current.place);
    const { from } = this.region(current.place);
    if (this.#isLooping && from < current.audio.duration) this.play(current.place, from, current.then);
    else if (current.then) this.#pause = setTimeout(current.then, PAUSE);
  }

  /** @param {Playing} current */
  #follow(current) {
    if (this.#playing !== current) return;
    const { audio, place } = current;
    const { from, to } = this.region(place);
    if (this.#isLooping && (audio.currentTime >= to || audio.currentTime < from - 0.05)) audio.currentTime = from;
    this.onTime(place, audio.currentTime);
    requestAnimationFrame(() => this.#follow(current));
  }
}
