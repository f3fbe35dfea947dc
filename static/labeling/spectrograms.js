// The spectrograms of a question. All three show the same length of time and range of frequencies, and their sounds set in
// at the same place, so that they can be compared; zooming one zooms all. The pictures come without marks, which are drawn here.

import { createElement } from "../web/dom.js";
import { onsetOf } from "./onset.js";

/**
 * The ranges that the pictures of a project show: frequencies in Hz, the seconds of a picture's usual width; and the
 * colour of silence.
 * @typedef {{ low: number, high: number, seconds: number, ground: string }} Scales
 */
/** @typedef {{ begin: number, seconds: number, low: number, high: number }} Range */
/**
 * A spectrogram on the screen: `span` is how many seconds its picture shows, `offset` where in it the sound begins: a
 * short sound stands in the middle of its picture. `onset` is at which second of the sound it sets in.
 * @typedef {{ media: HTMLElement, image: HTMLImageElement, span: number, offset: number, onset: number, marks: HTMLElement,
 *   cursor: HTMLElement, playhead: HTMLElement }} Box
 */

const CLOSEST = 20; // largest magnification of the usual picture
const DRAGGED = 5; // pixels that the pointer must move for a drag
const WHEEL_SPEED = 0.002;
const NUMBER = 36; // pixels that the item's number takes of the left edge
const MARKS = { low: 5, begin: 7 }; // about how many marks of frequency and of time there are

/**
 * Return the next of 1, 2, 5, 10, 20, ... that is not smaller.
 * @param {number} smallest
 */
export function roundStep(smallest) {
  const power = 10 ** Math.floor(Math.log10(smallest));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= smallest * (1 - 1e-9)) ?? 10 * power;
}

/**
 * Return the multiples of a step within a range, without its ends.
 * @param {number} begin
 * @param {number} end
 * @param {number} step
 */
export function multiples(begin, end, step) {
  const count = Math.ceil(end / step) - 1 - Math.floor(begin / step);
  return Array.from({ length: Math.max(count, 0) }, (_, i) => (Math.floor(begin / step) + 1 + i) * step);
}

/**
 * Return a range zoomed by a factor about the point (x, y) of the box, within the limits.
 * @param {Range} range
 * @param {Range} limits
 * @param {{ time?: number, frequency?: number, x?: number, y?: number }} change
 * @returns {Range}
 */
export function closer(range, limits, { time = 1, frequency = 1, x = 0.5, y = 0.5 }) {
  const seconds = clamp(range.seconds / time, limits.seconds / CLOSEST, limits.seconds);
  const hertz = range.high - range.low;
  const fullHertz = limits.high - limits.low;
  const newHertz = clamp(hertz / frequency, fullHertz / CLOSEST, fullHertz);
  const begin = range.begin + x * (range.seconds - seconds);
  const low = range.low + (1 - y) * (hertz - newHertz);
  return within({ begin, seconds, low, high: low + newHertz }, limits);
}

/**
 * Return a range moved by shares of its size, to later times and to lower frequencies.
 * @param {Range} range
 * @param {Range} limits
 * @param {number} dx
 * @param {number} dy
 */
export function moved(range, limits, dx, dy) {
  const hertz = range.high - range.low;
  return within(
    { ...range, begin: range.begin + dx * range.seconds, low: range.low - dy * hertz, high: range.high - dy * hertz },
    limits,
  );
}

/**
 * @param {Range} range
 * @param {Range} limits
 * @returns {Range}
 */
function within(range, limits) {
  const hertz = range.high - range.low;
  const begin = clamp(range.begin, limits.begin, Math.max(limits.begin + limits.seconds - range.seconds, limits.begin));
  const low = clamp(range.low, limits.low, limits.high - hertz);
  return { begin, seconds: range.seconds, low, high: low + hertz };
}

/**
 * @param {number} value
 * @param {number} least
 * @param {number} most
 */
function clamp(value, least, most) {
  return Math.min(Math.max(value, least), most);
}

export class Spectrograms {
  #scales;
  /** @type {(Box | null)[]} */
  #boxes = [null, null, null];
  /** @type {Range} */
  #range;
  /** @type {WeakMap<HTMLImageElement, number>} at which second the sound of a loaded picture sets in */
  #onsets = new WeakMap();
  /** @type {Map<number, PointerEvent>} fingers, or the mouse's button, that are down */
  #pointers = new Map();
  /** Whether the pointer that went up last had moved the pictures: then its click means nothing else. */
  wasDragged = false;

  /** @param {Scales} scales */
  constructor(scales) {
    this.#scales = scales;
    this.#range = this.#usual();
  }

  /** @returns {Range} */
  #usual() {
    const { low, high, seconds } = this.#scales;
    return { begin: 0, seconds, low, high };
  }

  /** Where all sounds set in, in seconds from the left: where the first one does, so that no picture begins too late. */
  get #lead() {
    const places = this.#boxes.flatMap((box) => (box ? [box.offset + box.onset] : []));
    return places.length ? Math.min(...places) : 0;
  }

  /** @returns {Range} from where the earliest picture begins to where the last one ends */
  #limits() {
    const lead = this.#lead;
    const edges = this.#boxes.flatMap((box) => (box ? [lead - box.offset - box.onset] : []));
    const ends = this.#boxes.flatMap((box) => (box ? [lead - box.offset - box.onset + box.span] : []));
    const begin = Math.min(0, ...edges);
    return { ...this.#usual(), begin, seconds: Math.max(this.#scales.seconds, ...ends) - begin };
  }

  /**
   * Return the part of a sound that is on the screen, in seconds of the sound.
   * @param {number} place
   */
  visible(place) {
    const from = this.#range.begin - this.#lead + (this.#boxes[place]?.onset ?? 0);
    return { from: Math.max(from, 0), to: from + this.#range.seconds };
  }

  /** Begin a question: from the start of the sounds, at the frequencies that the last one was looked at. */
  clear() {
    this.#boxes = [null, null, null];
    this.#range = { ...this.#usual(), low: this.#range.low, high: this.#range.high };
  }

  /** Show everything, in the usual size. */
  reset() {
    this.#range = this.#usual();
    this.paint();
  }

  /**
   * Measure where a sound sets in while there is nothing else to do: it takes longer than showing its picture.
   * @param {HTMLImageElement} image
   * @param {number} seconds
   */
  prepare(image, seconds) {
    const measure = () => this.#onsetOf(image, seconds);
    if ("requestIdleCallback" in window) requestIdleCallback(measure);
    else setTimeout(measure);
  }

  /**
   * Return at which second a sound sets in; 0 as long as its picture is not loaded.
   * @param {HTMLImageElement} image
   * @param {number} seconds
   */
  #onsetOf(image, seconds) {
    if (!image.complete || !image.naturalWidth) return 0;
    const onset = this.#onsets.get(image) ?? onsetOf(image, this.#scales.ground, { ...this.#frame(seconds), seconds });
    this.#onsets.set(image, onset);
    return onset;
  }

  /**
   * Return how many seconds the picture of a sound shows, and where in it the sound begins.
   * @param {number} seconds
   */
  #frame(seconds) {
    const span = Math.max(seconds, this.#scales.seconds);
    return { span, offset: (span - seconds) / 2 };
  }

  /**
   * Take in where a sound sets in, once its picture is loaded.
   * @param {number} place
   * @param {number} seconds
   */
  align(place, seconds) {
    const box = this.#boxes[place];
    if (!box) return;
    const onset = this.#onsetOf(box.image, seconds);
    if (onset === box.onset) return;
    box.onset = onset;
    box.media.dataset.onset = onset.toFixed(3);
    this.paint();
  }

  /**
   * Put a picture into its box, with room for marks over it; `paint` shows it.
   * @param {number} place
   * @param {HTMLElement} media
   * @param {HTMLImageElement} image
   * @param {number} seconds
   */
  show(place, media, image, seconds) {
    const [marks, cursor, playhead] = ["marks", "cursor", "playhead"].map((className) => createElement("div", { className }));
    for (const layer of [marks, cursor, playhead]) layer.setAttribute("aria-hidden", "true");
    playhead.hidden = true;
    media.replaceChildren(image, marks, cursor, playhead);
    media.style.setProperty("--ground", this.#scales.ground);
    media.classList.add("spectrogram");
    media.classList.toggle("on-light", isLight(this.#scales.ground));
    const onset = this.#onsetOf(image, seconds);
    media.dataset.onset = onset.toFixed(3);
    this.#boxes[place] = { media, image, ...this.#frame(seconds), onset, marks, cursor, playhead };
    this.#listen(media);
  }

  /** @param {{ time?: number, frequency?: number, x?: number, y?: number }} change */
  zoom(change) {
    this.#range = closer(this.#range, this.#limits(), change);
    this.paint();
  }

  /**
   * @param {number} dx
   * @param {number} [dy]
   */
  move(dx, dy = 0) {
    this.#range = moved(this.#range, this.#limits(), dx, dy);
    this.paint();
  }

  /**
   * Return the time in a sound at a share of the width of its box.
   * @param {number} place
   * @param {number} x
   */
  timeAt(place, x) {
    return Math.max(this.#sinceOnset(x) + (this.#boxes[place]?.onset ?? 0), 0);
  }

  /**
   * Return the time since the sounds set in at a share of the width of their boxes.
   * @param {number} x
   */
  #sinceOnset(x) {
    return this.#range.begin + x * this.#range.seconds - this.#lead;
  }

  /**
   * Show the playhead of a sound, or hide it.
   * @param {number} place
   * @param {number | null} time
   */
  showPlayhead(place, time) {
    const box = this.#boxes[place];
    if (!box) return;
    const x = time === null ? -1 : (time - box.onset + this.#lead - this.#range.begin) / this.#range.seconds;
    box.playhead.hidden = x < 0 || x > 1;
    box.playhead.style.left = `${100 * x}%`;
  }

  /** Place the pictures of all boxes, and draw their marks. */
  paint() {
    const { begin, seconds, low, high } = this.#range;
    const scales = this.#scales;
    const lead = this.#lead;
    // No marks in the corners, where they would overlap or be cut off.
    const first = Math.max(begin + 0.1 * seconds - lead, -1e-9);
    const times = multiples(first, begin + 0.98 * seconds - lead, roundStep(seconds / MARKS.begin));
    const height = this.#boxes.find(Boolean)?.media.clientHeight || Infinity;
    const top = high - Math.max(0.02, NUMBER / height) * (high - low);
    const pitches = multiples(low + 0.1 * (high - low), top, roundStep((high - low) / MARKS.low));
    for (const box of this.#boxes) {
      if (!box) continue;
      Object.assign(box.image.style, {
        left: `${(-100 * (begin + box.offset + box.onset - lead)) / seconds}%`,
        width: `${(100 * box.span) / seconds}%`,
        top: `${(-100 * (scales.high - high)) / (high - low)}%`,
        height: `${(100 * (scales.high - scales.low)) / (high - low)}%`,
      });
      box.marks.replaceChildren(
        ...times.map((time, i) => mark("time", "left", (time + lead - begin) / seconds, i ? trim(time) : `${trim(time)} s`)),
        ...pitches.map((hertz, i) => mark("pitch", "bottom", (hertz - low) / (high - low), describe(hertz, high, !i))),
      );
    }
  }

  /** @param {HTMLElement} media */
  #listen(media) {
    media.onwheel = (event) => {
      event.preventDefault();
      const factor = Math.exp(-WHEEL_SPEED * (event.deltaY || event.deltaX));
      this.zoom({ [event.shiftKey ? "frequency" : "time"]: factor, ...part(media, event) });
    };
    media.onpointerdown = (event) => {
      this.#pointers.set(event.pointerId, event);
      this.wasDragged = false;
    };
    media.onpointermove = (event) => this.#onMove(media, event);
    media.onpointerup = media.onpointercancel = (event) => this.#pointers.delete(event.pointerId);
    media.onpointerleave = (event) => {
      this.#pointers.delete(event.pointerId);
      for (const box of this.#boxes) box?.cursor.replaceChildren();
    };
  }

  /**
   * @param {HTMLElement} media
   * @param {PointerEvent} event
   */
  #onMove(media, event) {
    const before = this.#pointers.get(event.pointerId);
    if (!before) {
      this.#showCursor(media, event);
      return;
    }
    const others = [...this.#pointers.values()].filter((pointer) => pointer.pointerId !== event.pointerId);
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    if (!this.wasDragged && Math.hypot(dx, dy) < DRAGGED) return;
    this.wasDragged = true;
    if (others.length) {
      const apart = (/** @type {PointerEvent} */ pointer) => Math.hypot(pointer.clientX - others[0].clientX, pointer.clientY - others[0].clientY);
      this.zoom({ time: apart(event) / Math.max(apart(before), 1), ...part(media, event) });
    } else {
      this.move(-dx / media.clientWidth, -dy / media.clientHeight);
    }
    this.#pointers.set(event.pointerId, event);
  }

  /**
   * Show a cursor with time and frequency at the place of the pointer in all three.
   * @param {HTMLElement} media
   * @param {PointerEvent} event
   */
  #showCursor(media, event) {
    const { x, y } = part(media, event);
    const { low, high } = this.#range;
    this.#boxes.forEach((box) => {
      if (!box) return;
      const upright = createElement("i", { className: "upright" });
      const level = createElement("i", { className: "level" });
      upright.style.left = `${100 * x}%`;
      level.style.top = `${100 * y}%`;
      const reading = `${this.#sinceOnset(x).toFixed(2)} s, ${describe(high - y * (high - low), high, true)}`;
      box.cursor.replaceChildren(upright, level, ...(box.media === media ? [createElement("span", { textContent: reading })] : []));
    });
  }
}

/**
 * @param {HTMLElement} media
 * @param {MouseEvent} event
 */
export function part(media, event) {
  const { left, top, width, height } = media.getBoundingClientRect();
  return { x: clamp((event.clientX - left) / width, 0, 1), y: clamp((event.clientY - top) / height, 0, 1) };
}

/**
 * @param {string} className
 * @param {"left" | "bottom"} side
 * @param {number} share
 * @param {string} text
 */
function mark(className, side, share, text) {
  const element = createElement("span", { className, textContent: text });
  element.style[side] = `${100 * share}%`;
  return element;
}

/** @param {number} value */
function trim(value) {
  return String(Number(value.toPrecision(6)));
}

/**
 * @param {number} hertz
 * @param {number} highest
 * @param {boolean} withUnit
 */
function describe(hertz, highest, withUnit) {
  const [value, unit] = highest >= 2_000 ? [hertz / 1_000, "kHz"] : [hertz, "Hz"];
  return `${String(Number(value.toPrecision(3)))}${withUnit ? ` ${unit}` : ""}`;
}

/** @param {string} colour as #rrggbb */
function isLight(colour) {
  const channels = [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));
  return channels.reduce((sum, channel) => sum + channel, 0) > 384;
}
